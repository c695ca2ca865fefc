"""Thinc layers with forward and backward passes of their own."""
