"""Evaluation of trained pipelines: scores, comparisons, thresholds, ensembles and reports."""
