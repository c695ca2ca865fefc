"""Entities of documents and tags of tokens: gold ones to learn from, predicted ones to write."""

import warnings
from collections.abc import Sequence

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d, Ints1d

from ...chains.tags import TagCodec
from ...corpus.examples import gold_entities, trim_whitespace
from ...corpus.sentences import sentence_lengths
from ...errors import Warnings
from ...heads import Decoded
from ...types import ANNOTATED_TYPES
from ..scores.spans import ScoredSpan


def gold_types(
    examples: list[Example], types: Sequence[str], who: str, others: bool
) -> tuple[Ints1d, Ints1d, Ints1d]:
    """The gold annotation of the predicted tokens: spaCy's code, the index of the type or -1, and tokens
    per sentence.

    others (bool): Whether entities of other types are expected; else a warning names them.
    """
    iob, found = zip(*(gold_entities(eg) for eg in examples), strict=True)
    codes, hashes = np.concatenate(iob), np.concatenate(found)
    own = np.asarray([get_string_id(t) for t in types], dtype="uint64")
    order = np.argsort(own)
    at = np.searchsorted(own[order], hashes).clip(max=len(order) - 1)
    label = np.where(own[order][at] == hashes, order[at], -1)
    unknown = np.unique(hashes[(label < 0) & (codes == 3)])
    if len(unknown) and not others:
        names = ", ".join(examples[0].reference.vocab.strings[int(h)] for h in unknown)
        warnings.warn(Warnings.W006.format(who=who, found=names), stacklevel=4)
    return codes, label, np.concatenate([sentence_lengths(eg.predicted) for eg in examples])


def allowed_tags(examples: list[Example], codec: TagCodec) -> Floats2d | None:
    """Which tags each token can have, where documents say which types they were annotated with."""
    found = [eg.reference.user_data.get(ANNOTATED_TYPES) for eg in examples]
    if all(types is None for types in found):
        return None
    known = [  # whatever the list says, a type that a document has was annotated there
        codec.labels if types is None else {*types, *(ent.label_ for ent in eg.reference.ents)}
        for types, eg in zip(found, examples, strict=True)
    ]
    rows = [codec.columns(types) for types in known]
    return np.repeat(np.stack(rows), [len(eg.predicted) for eg in examples], axis=0)


def tagged_entities(
    docs: list[Doc], decoded: Decoded, codec: TagCodec, space: Floats1d, score: bool
) -> list[list[ScoredSpan]]:
    """The entities of each document, in its own tokens, from the tags of all; whitespace ends none.

    space (Floats1d): (n_tokens,), whether it is whitespace.
    score (bool): Whether the probabilities of tokens are kept.
    """
    start, end, label = codec.spans(decoded.tags)
    start, end = trim_whitespace(start, end, space)
    start, end, label = (column[start < end] for column in (start, end, label))
    p = decoded.p
    sums = np.concatenate([[0.0], np.cumsum(p, dtype="float64")])
    means = (sums[end] - sums[start]) / (end - start)
    doc_ends = np.cumsum([len(doc) for doc in docs])
    doc_i = np.searchsorted(doc_ends, start, side="right")
    found: list[list[ScoredSpan]] = [[] for _ in docs]
    columns = (doc_i, start, end, label, means)
    for i, a, b, k, mean in zip(*(column.tolist() for column in columns), strict=True):
        at = int(doc_ends[i]) - len(docs[i])
        own = tuple(p[a:b].tolist()) if score else ()
        found[i].append(ScoredSpan(a - at, b - at, codec.labels[k], mean, own))
    return found
