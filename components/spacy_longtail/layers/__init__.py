"""Layers of thinc and torch, with their forward and backward passes."""
