"""Training of one model: checks, provenance, out-of-fold predictions and averages of models."""
