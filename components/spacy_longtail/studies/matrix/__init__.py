"""What the trials of a plan show: tables, learning curves, a recommendation, pages."""
