"""Corpora on disk: formats, parts, types, splits and statistics."""
