"""Scoring trained models, comparing them, choosing their thresholds, and reporting it."""
