"""spaCy's transition-based NER, trained with other losses."""
