"""Evaluation of trained pipelines: scores, comparisons, thresholds and reports."""
