"""Training one model, and what comes before it: checks, provenance, out-of-fold audits."""
