"""The English encoder of spacy-longtail: a pipeline for `spacy.load("en_longtail_cnn")`."""

from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import dict_to_dot, load_model_from_path
from spacy.vocab import Vocab


def load(*, vocab: Vocab | bool = True, **settings: Any) -> Language:
    """Load the pipeline.

    vocab (Vocab | bool): A vocabulary to share. With one of another language, as spaCy passes it
        for `source = "en_longtail_cnn"`, the pipeline takes that language: the weights do not
        depend on it.
    settings (Any): As for `spacy.load`.
    RETURNS (Language): The pipeline.
    """
    if isinstance(vocab, Vocab) and vocab.lang:
        settings["config"] = {**dict_to_dot(settings.get("config", {})), "nlp.lang": vocab.lang}
    return load_model_from_path(Path(__file__).parent, vocab=vocab, **settings)
