"""Scores of entities: calibration, thresholds, and merging of overlapping entities."""
