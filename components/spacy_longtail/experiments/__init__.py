"""Where `significance` was before it moved to `spacy_longtail.evaluation`."""
