"""Soft targets: what a teacher made of each token, kept with a document through `.spacy` files."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..errors import Errors

SOFT = "soft_tags"  # key in Doc.user_data
LEAST = -60000.0  # log probability of what is impossible, within float16


class SoftTags(NamedTuple):
    tags: list[str]  # of the columns, O first
    log_p: Floats2d  # (n_tokens, n_tags), log probabilities


def write_soft(doc: Doc, tags: Sequence[str], log_p: Floats2d) -> None:
    """Keep the distributions in Doc.user_data: float16 as bytes, which msgpack holds as they are.

    doc (Doc): A row for each of its tokens. tags (Sequence[str]): A name for each column.
    log_p (Floats2d): (n_tokens, n_tags); logarithms keep the digits of what is nearly impossible.
    """
    rows = np.maximum(log_p, LEAST).astype("float16")
    doc.user_data[SOFT] = {"tags": list(tags), "log_p": rows.tobytes()}


def read_soft(doc: Doc) -> SoftTags | None:
    """What `write_soft` kept, if anything."""
    kept = doc.user_data.get(SOFT)
    if kept is None:
        return None
    tags = list(kept["tags"])
    log_p, shape = np.frombuffer(kept["log_p"], dtype="float16"), (len(doc), len(tags))
    if log_p.size != math.prod(shape):
        shown = {"n": log_p.size, "tokens": shape[0], "tags": shape[1], "wanted": math.prod(shape)}
        raise ValueError(Errors.L745.format(text=doc[:5].text, **shown))
    return SoftTags(tags, log_p.reshape(shape).astype("float32"))
