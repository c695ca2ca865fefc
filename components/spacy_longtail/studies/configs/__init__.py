"""Configs: composed from a base and choices, made by recipes, written with comments."""
