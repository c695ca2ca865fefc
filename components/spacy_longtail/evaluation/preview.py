"""Preview of a pretrained encoder on the types of a corpus, before any training."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly

from ..corpus.converted import ConvertedCorpus
from ..corpus.type_words import type_words
from ..encoders import KNOWN_TYPES
from ..errors import Errors
from ..pipes.token.describing import vectors_of
from ..pipes.token.pretrained_head import read_pretrained
from .evaluate import score_pipeline

N_NEAREST = 3


class TypePreview(NamedTuple):
    """Zero-shot score and nearest known types of one type."""

    label: str
    description: str
    mentions: int  # number in the training part
    support: int  # number of gold mentions in the dev part
    f: float  # zero-shot F1 on dev, in [0, 1]
    nearest: list[tuple[str, float]]  # known types in words, with the cosine to the description


class Preview(NamedTuple):
    """Zero-shot scores of an encoder on all types of a corpus."""

    encoder: str
    macro_f: float  # zero-shot, on dev
    types: list[TypePreview]


@cache
def known_types() -> list[str]:
    """Return the descriptions of the types on which the shipped encoders were pretrained."""
    known = srsly.read_json(KNOWN_TYPES)
    return [*known["donors"], *known["free_text"]]


def preview(corpus: Path, encoder: str) -> Preview:
    """Score a pretrained encoder on dev by label descriptions, and find the nearest known types.

    corpus (Path): Folder of a converted corpus with train and dev.
    encoder (str): An installed encoder such as "en_longtail_cnn", or a folder that `pretrain`
        wrote. Its weights are not changed.
    RETURNS (Preview): The types in declared order.
    RAISES (ValueError): If the corpus has no dev part, or the encoder reads no descriptions.
    """
    found = ConvertedCorpus(corpus)
    types, dev = found.types, found.path("dev")
    if not dev.exists():
        raise ValueError(Errors.L402.format(path=dev, fix="`split` makes the parts."))
    texts = type_words(types.labels, types.descriptions)
    head = read_pretrained(
        encoder,
        "stats",
        "Name an encoder with --encoder: en_longtail_cnn, or a folder that `pretrain` wrote.",
    )
    given, known = (
        vectors_of(list(words), head.pipe.describe, "stats") for words in (texts.values(), known_types())
    )
    head.pipe.set_labels(texts)
    scores = score_pipeline(head.nlp, dev, types.labels, types.tail)
    rows = []
    for label, cosines in zip(types.labels, given @ known.T, strict=True):
        best = np.argsort(-cosines)[:N_NEAREST]
        rows.append(
            TypePreview(
                label=label,
                description=texts[label],
                mentions=found.training.mentions.get(label, 0),
                support=scores.ents_per_type[label].support,
                f=scores.ents_per_type[label].f,
                nearest=[(known_types()[i], float(cosines[i])) for i in best],
            )
        )
    return Preview(encoder, scores.ents_macro_f, rows)
