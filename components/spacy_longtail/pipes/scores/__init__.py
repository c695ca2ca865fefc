"""Scores of entities, what is cut by them, and which entity stays where two overlap."""
