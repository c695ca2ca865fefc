"""Flagged sentences in doc.spans: several components may flag, none removes those of another."""

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup
from thinc.types import Floats1d, Ints1d

from ...errors import Errors
from ...sentences import all_bounds, touched_sentences
from ..scores.spans import ScoredSpan
from ..scores.thresholding import PIPES

RULE_SCORE = 1.0  # of a span that came without one, such as a ruler's
Parts = list[tuple[int, int]]  # of a document: first token and one past the last of each


class FlaggedSpan(NamedTuple):
    """Span that a component or a rule has flagged."""

    span: Span
    score: float
    pipe: str  # name of the component; "" for a rule


def write_all_flagged(docs: Iterable[Doc], key: str, name: str, flags: Ints1d, scores: Floats1d) -> None:
    """Write a gate's sentences to doc.spans[key], replacing those that it wrote there before.

    attrs["scores"] and attrs["pipes"] have each span's score and gate: 1 and "" for those of rules.

    docs (Iterable[Doc]): Documents.
    key (str): Key in doc.spans.
    name (str): Name of the gate.
    flags (Ints1d): Whether each sentence of all documents is flagged, shape (n_sentences,).
    scores (Floats1d): Scores of these sentences, in the same shape.
    """
    at = 0
    for doc in docs:
        bounds, flagged = all_bounds(doc), list(_of_others(doc, key, name))
        for i in np.flatnonzero(flags[at : at + len(bounds)]).tolist():
            start, end = bounds[i]
            flagged.append(FlaggedSpan(doc[start:end], float(scores[at + i]), name))
        at += len(bounds)
        flagged.sort(key=lambda f: (f.span.start, f.span.end))
        attrs = doc.spans[key].attrs if key in doc.spans else {}
        attrs = {**attrs, "scores": [f.score for f in flagged], PIPES: [f.pipe for f in flagged]}
        doc.spans[key] = SpanGroup(doc, name=key, spans=[f.span for f in flagged], attrs=attrs)


def _of_others(doc: Doc, key: str, name: str) -> Iterable[FlaggedSpan]:
    """Return what other components flagged, each span once, though a ruler may repeat it."""
    if key not in doc.spans:
        return ()
    group = doc.spans[key]
    # a rule that came after a gate has left the lists as they were
    scores = [*group.attrs.get("scores", ()), *[RULE_SCORE] * len(group)]
    pipes = [*group.attrs.get(PIPES, ()), *[""] * len(group)]
    others: dict[tuple[int, int, str, str, str], FlaggedSpan] = {}
    for span, score, pipe in zip(group, scores, pipes, strict=False):
        if pipe != name:
            place = (span.start, span.end, span.label_, span.id_, pipe)
            others.setdefault(place, FlaggedSpan(span, score, pipe))
    return others.values()


def flagged_parts(doc: Doc, key: str | None, who: str) -> Parts:
    """Return the first token, and the one after the last, of each part to process.

    doc (Doc): The document.
    key (Optional[str]): Key in doc.spans: each sentence that shares a token with one of these spans
        is a part. With null the whole document is one part.
    who (str): Name of the component, for messages.
    RAISES (ValueError): If the document has no such spans (L254).
    """
    if key is None:
        return [(0, len(doc))] if len(doc) else []
    if key not in doc.spans:
        raise ValueError(Errors.L254.format(who=who, key=key))
    return list(compress(all_bounds(doc), touched_sentences(doc, doc.spans[key])))


def within(ents: Iterable[ScoredSpan], parts: Parts) -> Iterator[ScoredSpan]:
    """Yield the entities that lie within one of the parts."""
    starts, ends = np.asarray(parts).T
    for ent in ents:
        at = np.searchsorted(starts, ent.start, side="right") - 1
        if at >= 0 and ent.end <= ends[at]:
            yield ent
