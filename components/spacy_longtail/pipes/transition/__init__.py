"""spaCy's transition-based NER with a loss of one's own."""
