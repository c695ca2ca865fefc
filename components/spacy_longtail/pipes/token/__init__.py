"""NER that labels tokens, alone or as an ensemble, and label descriptions."""
