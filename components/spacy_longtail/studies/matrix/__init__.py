"""Results of a plan's trials: tables, learning curves, recommendations and pages."""
