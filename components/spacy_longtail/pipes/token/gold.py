"""Documents and tags: gold entities and soft targets to learn from, predicted entities to write."""

import warnings
from collections.abc import Iterable, Sequence

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d, Ints1d

from ...chains.tags import TagCodec
from ...corpus.cutting import SoftTags, read_soft
from ...corpus.examples import gold_entities, same_tokens, trim_whitespace
from ...errors import Errors, Warnings
from ...heads import Decoded
from ...losses import Loss
from ...sentences import sentence_lengths
from ...types import ANNOTATED_TYPES, SoftTargets
from ..scores.spans import ScoredSpan

MERGED = {"U": "B", "L": "I"}  # of BILUO, in BIO


def gold_types(
    examples: list[Example], types: Sequence[str], who: str, others: bool
) -> tuple[Ints1d, Ints1d, Ints1d]:
    """Return gold codes, gold types (indices or -1) and sentence lengths of predicted tokens.

    others (bool): Whether entities of other types are expected; otherwise a warning names them.
    """
    codes, hashes = map(np.concatenate, zip(*map(gold_entities, examples), strict=True))
    type_hashes = np.asarray([get_string_id(t) for t in types], dtype="uint64")
    order = np.argsort(type_hashes)
    at = np.searchsorted(type_hashes[order], hashes).clip(max=len(order) - 1)
    label = np.where(type_hashes[order][at] == hashes, order[at], -1)
    unknown = np.unique(hashes[(label < 0) & (codes == 3)])
    if len(unknown) and not others:
        names = ", ".join(examples[0].reference.vocab.strings[int(h)] for h in unknown)
        warnings.warn(Warnings.W006.format(who=who, found=names), stacklevel=4)
    return codes, label, np.concatenate([sentence_lengths(eg.predicted) for eg in examples])


def allowed_tags(examples: list[Example], codec: TagCodec) -> Floats2d | None:
    """Return the tags that each token can have, if documents say which types were annotated."""
    docs = [eg.reference for eg in examples]
    declared = [doc.user_data.get(ANNOTATED_TYPES) for doc in docs]
    if all(types is None for types in declared):
        return None
    rows = [  # whatever the list says, a type that a document has was annotated there
        codec.columns(codec.labels if types is None else {*types, *(ent.label_ for ent in doc.ents)})
        for types, doc in zip(declared, docs, strict=True)
    ]
    return np.repeat(np.stack(rows), [len(eg.predicted) for eg in examples], axis=0)


def tagged_entities(
    docs: list[Doc], decoded: Decoded, codec: TagCodec, space: Floats1d, score: bool
) -> list[list[ScoredSpan]]:
    """Decode the tags of all documents to entities, which neither begin nor end with whitespace.

    docs (List[Doc]): Documents.
    decoded (Decoded): Tags and probabilities of all tokens.
    codec (TagCodec): Order of the tags.
    space (Floats1d): Whether each token is whitespace, shape (n_tokens,).
    score (bool): Whether to score the tokens of entities.
    RETURNS (List[List[ScoredSpan]]): Entities of each document, in its own tokens.
    """
    start, end, label = codec.spans(decoded.tags)
    start, end = trim_whitespace(start, end, space)
    start, end, label = (column[start < end] for column in (start, end, label))
    sums = np.concatenate([[0.0], np.cumsum(decoded.p, dtype="float64")])
    means = np.minimum((sums[end] - sums[start]) / (end - start), 1.0)  # rounding may exceed it
    doc_ends = np.cumsum([len(doc) for doc in docs])
    doc_i = np.searchsorted(doc_ends, start, side="right")
    spans: list[list[ScoredSpan]] = [[] for _ in docs]
    columns = (column.tolist() for column in (doc_i, start, end, label, means))
    for i, a, b, k, mean in zip(*columns, strict=True):
        at = int(doc_ends[i]) - len(docs[i])
        p = tuple(decoded.p[a:b].tolist()) if score else ()
        spans[i].append(ScoredSpan(a - at, b - at, codec.labels[k], mean, p))
    return spans


def check_taught(loss: Loss, examples: Iterable[Example], who: str) -> None:
    """Refuse a loss on soft targets if no training document has any (L513)."""
    if loss.reads_soft and all(read_soft(eg.reference) is None for eg in examples):
        raise ValueError(
            Errors.L513.format(
                problem=f"no document of the training corpus has any for {loss} of {who}",
                fix="Train on a corpus that `distil --soft` wrote, or set share = 0.",
            )
        )


def soft_targets(examples: Sequence[Example], codec: TagCodec, who: str) -> SoftTargets | None:
    """Return soft targets of tokens that the teacher has as well, in the student's columns."""
    softs = [read_soft(eg.reference) for eg in examples]
    if all(soft is None for soft in softs):
        return None
    offsets = np.cumsum([0, *(len(eg.predicted) for eg in examples)])
    log_p = np.full((offsets[-1], len(codec)), -np.inf, dtype="float32")
    known = np.zeros(offsets[-1], dtype="float32")
    for eg, soft, at in zip(examples, softs, offsets, strict=False):
        if soft is not None:
            ours, theirs = _aligned(eg)
            log_p[at + ours] = in_columns(soft, codec, who)[theirs]
            known[at + ours] = 1.0
    return SoftTargets(log_p, known)


def in_columns(soft: SoftTags, codec: TagCodec, who: str) -> Floats2d:
    """Return a teacher's distributions in a student's columns; -inf for tags that it lacks."""
    rows = np.full((len(soft.log_p), len(codec)), -np.inf, dtype="float32")
    column = {tag: i for i, tag in enumerate(codec.tags)}
    if codec.scheme == "BILUO" and not any(tag[0] in MERGED for tag in soft.tags):
        problem = f"the teacher's tags are BIO, and {who} has scheme = 'BILUO'"
        raise ValueError(Errors.L513.format(problem=problem, fix="Set scheme = 'BIO'."))
    for tag, values in zip(soft.tags, soft.log_p.T, strict=True):
        prefix = tag[0] if codec.scheme == "BILUO" else MERGED.get(tag[0], tag[0])
        i = column.get(prefix + tag[1:], 0)  # types that the student does not learn are O
        rows[:, i] = np.logaddexp(rows[:, i], values)
    return rows


def _aligned(eg: Example) -> tuple[Ints1d, Ints1d]:
    """Return the indices of aligned tokens: predicted ones and gold ones, shape (n,) each."""
    if same_tokens(eg):
        every = np.arange(len(eg.predicted))
        return every, every
    x2y, y2x = eg.alignment.x2y, eg.alignment.y2x
    ours = np.flatnonzero(x2y.lengths == 1)
    theirs = np.array([int(x2y[int(i)][0]) for i in ours], dtype="int64")
    same = y2x.lengths[theirs] == 1
    return ours[same], theirs[same]
