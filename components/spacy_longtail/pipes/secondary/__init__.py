"""Second models, which read only the sentences that a gate flags."""
