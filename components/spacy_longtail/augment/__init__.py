"""spaCy augmenters for NER, one a module."""
