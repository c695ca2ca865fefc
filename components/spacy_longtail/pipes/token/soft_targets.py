"""A teacher's tag distributions in the columns of a student."""

from collections.abc import Iterable, Sequence

import numpy as np
from spacy.training import Example
from thinc.types import Floats2d, Ints1d

from ...chains.tags import TagCodec
from ...corpus.examples import same_tokens
from ...corpus.soft import SoftTags, read_soft
from ...errors import Errors
from ...losses.base import Loss
from ...types import SoftTargets

MERGED = {"U": "B", "L": "I"}  # of BILUO, in BIO


def check_taught(loss: Loss, examples: Iterable[Example], who: str) -> None:
    """Refuse a loss on soft targets where no training document has some: it would be its base alone."""
    if loss.reads_soft and all(read_soft(eg.reference) is None for eg in examples):
        problem = f"no document of the training corpus has any for {loss} of {who}"
        fix = "Train on a corpus that `distil --soft` wrote, or set share = 0."
        raise ValueError(Errors.L513.format(problem=problem, fix=fix))


def soft_targets(examples: Sequence[Example], codec: TagCodec, who: str) -> SoftTargets | None:
    """The soft targets of the predicted tokens, in the columns of the student's codec; null if no
    document has some. Tokens that are not tokens of the teacher too have none.
    """
    found = [read_soft(eg.reference) for eg in examples]
    if all(soft is None for soft in found):
        return None
    n = sum(len(eg.predicted) for eg in examples)
    log_p = np.full((n, len(codec)), -np.inf, dtype="float32")
    known = np.zeros(n, dtype="float32")
    at = 0
    for eg, soft in zip(examples, found, strict=True):
        if soft is not None:
            own, theirs = _aligned(eg)
            log_p[at + own] = in_columns(soft, codec, who)[theirs]
            known[at + own] = 1.0
        at += len(eg.predicted)
    return SoftTargets(log_p, known)


def in_columns(soft: SoftTags, codec: TagCodec, who: str) -> Floats2d:
    """A teacher's distributions in a student's columns: -inf for tags that the teacher has not."""
    rows = np.full((len(soft.log_p), len(codec)), -np.inf, dtype="float32")
    column = {tag: i for i, tag in enumerate(codec.tags)}
    is_biluo = any(tag[0] in MERGED for tag in soft.tags)
    if codec.scheme == "BILUO" and not is_biluo:
        problem = f"the teacher's tags are BIO, and {who} has scheme = 'BILUO'"
        raise ValueError(Errors.L513.format(problem=problem, fix="Set scheme = 'BIO'."))
    for tag, values in zip(soft.tags, soft.log_p.T, strict=True):
        prefix = tag[0] if codec.scheme == "BILUO" else MERGED.get(tag[0], tag[0])
        i = column.get(prefix + tag[1:], 0)  # types that the student does not learn are O
        rows[:, i] = np.logaddexp(rows[:, i], values)
    return rows


def _aligned(eg: Example) -> tuple[Ints1d, Ints1d]:
    """Predicted tokens that are gold tokens, and these. (n,) each"""
    if same_tokens(eg):
        every = np.arange(len(eg.predicted))
        return every, every
    x2y, y2x = eg.alignment.x2y, eg.alignment.y2x
    own = np.flatnonzero(x2y.lengths == 1)
    theirs = np.array([int(x2y[int(i)][0]) for i in own], dtype="int64")
    same = y2x.lengths[theirs] == 1 if len(own) else np.zeros(0, dtype=bool)
    return own[same], theirs[same]
