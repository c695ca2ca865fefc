"""What a pretrained encoder knows of a corpus's types before anything is trained."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly

from ..corpus.folder import part_path, read_types
from ..corpus.statistics.counting import tally_part
from ..corpus.type_words import in_words
from ..encoders import KNOWN_TYPES
from ..errors import Errors
from ..pipes.token.describing import read_pretrained, vectors_of
from .evaluate import score_pipeline

N_NEAREST = 3


class TypePreview(NamedTuple):
    """What an encoder knows of one type."""

    label: str
    description: str
    mentions: int  # in the training part
    support: int  # in the dev part
    f: float  # zero-shot F1 on dev, in [0, 1]
    nearest: list[tuple[str, float]]  # known types in words, with the cosine to the description


class Preview(NamedTuple):
    """What an encoder knows of all types of a corpus."""

    encoder: str
    macro_f: float  # zero-shot, on dev
    types: list[TypePreview]


@cache
def known_types() -> list[str]:
    """Return the types that the shipped encoders learnt from, in words."""
    known = srsly.read_json(KNOWN_TYPES)
    return [*known["donors"], *known["free_text"]]


def preview(corpus: Path, encoder: str) -> Preview:
    """Return what a pretrained encoder finds on dev by descriptions, and which types are near.

    corpus (Path): A folder that `convert` wrote, with train and dev.
    encoder (str): An installed encoder such as "en_longtail_cnn", or a folder of `pretrain`.
    RETURNS (Preview): The types in declared order. No weight is changed.
    RAISES (ValueError): If the corpus has no dev part, or the encoder reads no descriptions.
    """
    types = read_types(corpus)
    dev = part_path(corpus, "dev")
    if not dev.exists():
        raise ValueError(Errors.L402.format(path=dev, fix="`split` makes the parts."))
    texts = in_words(types.labels, types.descriptions)
    head = read_pretrained(encoder, "stats")
    describe = head.pipe.describe
    given, known = (
        vectors_of(list(words), describe, "stats") for words in (texts.values(), known_types())
    )
    head.pipe.set_labels(texts)
    scores = score_pipeline(head.nlp, dev, types.labels, types.tail)
    mentions = tally_part(part_path(corpus, "train")).counts.mentions
    rows = []
    for label, cosines in zip(types.labels, given @ known.T, strict=True):
        best = np.argsort(-cosines)[:N_NEAREST]
        nearest = [(known_types()[i], float(cosines[i])) for i in best]
        found = scores.ents_per_type[label]
        rows.append(
            TypePreview(label, texts[label], mentions.get(label, 0), found.support, found.f, nearest)
        )
    return Preview(encoder, scores.ents_macro_f, rows)
