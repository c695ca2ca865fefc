"""Comparison of a plan's methods: tables, learning curves, recommendations and pages."""
