"""Pretraining of a transformer on many types: words and label descriptions are compared."""
