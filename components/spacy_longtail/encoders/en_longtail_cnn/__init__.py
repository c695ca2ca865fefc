"""The English encoder of spacy-longtail: a pipeline for `spacy.load("en_longtail_cnn")`."""

from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import load_model_from_path


def load(**settings: Any) -> Language:
    """Load the pipeline. settings: As for `spacy.load`."""
    return load_model_from_path(Path(__file__).parent, **settings)
