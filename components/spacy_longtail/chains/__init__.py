"""Chains of tags: order of tags, packed sequences, best paths, and sums over all paths."""
