"""Soft targets: a teacher's tag probabilities of each token, stored with the document."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..errors import Errors

SOFT = "soft_tags"  # key in Doc.user_data
MIN_LOG_P = -60000.0  # log probability of an impossible tag, within float16


class SoftTags(NamedTuple):
    tags: list[str]  # of the columns, O first
    log_p: Floats2d  # (n_tokens, n_tags), log probabilities


def write_soft(doc: Doc, tags: Sequence[str], log_p: Floats2d) -> None:
    """Store the distributions in Doc.user_data, as bytes of float16, which msgpack stores as is.

    doc (Doc): The document.
    tags (Sequence[str]): Tags of the columns.
    log_p (Floats2d): Log probabilities, shape (n_tokens, n_tags). Their float16 is more precise for
        small probabilities than that of the probabilities themselves.
    """
    rows = np.maximum(log_p, MIN_LOG_P).astype("float16")
    doc.user_data[SOFT] = {"tags": list(tags), "log_p": rows.tobytes()}


def read_soft(doc: Doc) -> SoftTags | None:
    """Return the soft targets of a document, or None if it has none.

    RAISES (ValueError): If their number does not fit the tokens (L745).
    """
    kept = doc.user_data.get(SOFT)
    if kept is None:
        return None
    tags = list(kept["tags"])
    log_p = np.frombuffer(kept["log_p"], dtype="float16")
    wanted = len(doc) * len(tags)
    if log_p.size != wanted:
        raise ValueError(
            Errors.L745.format(
                text=doc[:5].text, n=log_p.size, tokens=len(doc), tags=len(tags), wanted=wanted
            )
        )
    return SoftTags(tags, log_p.reshape(len(doc), len(tags)).astype("float32"))
