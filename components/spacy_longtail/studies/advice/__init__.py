"""Advice of `recommend`: the candidates for a corpus, and a race between them."""
