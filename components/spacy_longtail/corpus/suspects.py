"""Suspected annotation errors: annotations that models trained on other documents contradict."""

import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Warnings
from ..extras import extra
from ..sentences import sentence_bounds
from .formats.tasks import TASKS, Task

ReviewFormat = Literal["prodigy", "doccano"]
UNANNOTATED = -1
TINY = 1e-12  # cleanlab needs rows that sum to 1, even if a model knows none of the classes


class OutOfFold(NamedTuple):
    """Out-of-fold class probabilities of the tokens of all documents."""

    classes: list[str]  # O, then the types
    p: Floats2d  # (n_tokens, n_classes), the tokens of all documents in order
    learnt: Floats2d  # (n_tokens, n_classes), 1.0 if the token's model was trained on the class


class Suspect(NamedTuple):
    """Suspected annotation error."""

    doc_i: int  # index of the document in the part
    start: int  # first token
    end: int  # one past the last token
    annotated: str  # type, or O
    read: str  # predicted type, or O
    p: float  # probability of the prediction
    score: float  # label quality in [0, 1]; low values are suspicious
    type: str  # the rare one of both types, otherwise the annotated one, otherwise the predicted one
    rare: bool


class Audit(NamedTuple):
    """Suspected annotation errors of a part of a corpus."""

    docs: list[Doc]
    suspects: list[Suspect]  # rare types first, then by score
    agreement: dict[str, tuple[int, int]]  # by class: tokens predicted as annotated, all tokens


def find_suspects(docs: list[Doc], reading: OutOfFold, tail: list[str]) -> Audit:
    """Judge the annotation by out-of-fold probabilities. An unannotated token is never a suspect.

    docs (List[Doc]): The annotated documents.
    reading (OutOfFold): Class probabilities of their tokens.
    tail (List[str]): The rare types, whose suspects come first.
    RETURNS (Audit): The suspects. A suspect is an annotated entity, or a sequence of tokens outside
        entities with the same prediction. Its score is the minimum over its tokens.
    SOURCE: Northcutt et al. 2021, Confident Learning; Wang & Mueller 2022, Detecting Label Errors
        in Token Classification Data (minimum over tokens).
    """
    classes, given = reading.classes, _annotated(docs, reading.classes)
    judged = (given != UNANNOTATED) & (reading.learnt[np.arange(len(given)), given] > 0)
    unknown = given[(given != UNANNOTATED) & ~judged]
    if len(unknown):
        names = ", ".join(classes[k] for k in np.unique(unknown))
        warnings.warn(Warnings.W050.format(n=len(unknown), types=names), stacklevel=2)
    flagged, read, p, quality = _judged(given, reading.p, judged)
    first = np.cumsum([0, *map(len, docs)])
    suspects = []
    for tokens, (start, end) in _groups(docs, flagged, given, read):
        worst = tokens[quality[tokens].argmin()]
        i = int(np.searchsorted(first, worst, side="right")) - 1
        pair = classes[given[worst]], classes[read[worst]]
        kinds = [name for name in pair if name != "O"]
        kind = next((name for name in kinds if name in tail), kinds[0])
        suspect = Suspect(
            doc_i=i,
            start=int(start - first[i]),
            end=int(end - first[i]),
            annotated=pair[0],
            read=pair[1],
            p=float(p[worst]),
            score=float(quality[worst]),
            type=kind,
            rare=kind in tail,
        )
        suspects.append(suspect)
    agreement = {
        name: (int((judged & (given == k) & (read == k)).sum()), int((judged & (given == k)).sum()))
        for k, name in enumerate(classes)
    }
    return Audit(docs, sorted(suspects, key=lambda s: (not s.rare, s.score)), agreement)


def _annotated(docs: list[Doc], classes: list[str]) -> Ints1d:
    """Return the class of each token. White space counts as not annotated."""
    column = {get_string_id(name): i for i, name in enumerate(classes)}
    tokens = [doc.to_array(["ENT_IOB", "ENT_TYPE", "IS_SPACE"]) for doc in docs]
    iob, label, is_space = np.concatenate(tokens).T
    given = np.where(iob == 2, 0, UNANNOTATED)
    for name in np.unique(label[label > 0]).tolist():  # a token that is only blocked has none
        given[label == name] = column[name]
    given[is_space == 1] = UNANNOTATED
    return given


def _judged(given: Ints1d, p: Floats2d, judged: Ints1d) -> tuple[Ints1d, Ints1d, Floats1d, Floats1d]:
    """Return per token: whether it is flagged, the predicted class, its probability, quality."""
    find_label_issues, get_label_quality_scores = cleanlab()
    flagged, read = np.zeros(len(given), dtype=bool), np.zeros(len(given), dtype="int64")
    best, quality = np.ones(len(given)), np.ones(len(given))
    present, label = np.unique(given[judged], return_inverse=True)  # cleanlab wants every class to occur
    rows = p[judged][:, present] + TINY
    rows /= rows.sum(axis=1, keepdims=True)
    read[judged], best[judged] = present[rows.argmax(axis=1)], rows.max(axis=1)
    if len(present) > 1:
        flagged[judged] = find_label_issues(label, rows, n_jobs=1)
        quality[judged] = get_label_quality_scores(label, rows)
    return flagged & (read != given), read, best, quality


def _groups(
    docs: list[Doc], flagged: Ints1d, given: Ints1d, read: Ints1d
) -> Iterator[tuple[Ints1d, tuple[int, int]]]:
    """Return the flagged tokens of each suspect, with its first token and one past its last."""
    # the entity that last began at or before each token, hence sorted
    entity = np.cumsum(np.concatenate([doc.to_array("ENT_IOB") for doc in docs]) == 3)
    lengths = [end - start for doc in docs for start, end in sentence_bounds(doc)]
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    tokens = np.flatnonzero(flagged)
    a, b = tokens[:-1], tokens[1:]
    inside = (given[a] > 0) & (given[b] > 0) & (entity[a] == entity[b])
    outside = (given[a] == 0) & (given[b] == 0) & (b == a + 1) & (read[a] == read[b])
    joined = inside | (outside & (sentence[a] == sentence[b]))
    for group in np.split(tokens, np.flatnonzero(~joined) + 1) if len(tokens) else ():
        rows = group
        if given[group[0]]:
            first, end = np.searchsorted(entity, entity[group[0]] + np.arange(2))
            rows = first + np.flatnonzero(given[first:end] > 0)
        yield group, (int(rows[0]), int(rows[-1]) + 1)


def cleanlab() -> tuple[Callable, Callable]:
    """Return the functions of cleanlab that flag labels and score them."""
    with extra("cleanlab", "audit"):
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    return find_label_issues, get_label_quality_scores


def problem(doc: Doc, suspect: Suspect) -> str:
    """Describe a suspected error in words."""
    text = doc[suspect.start : suspect.end].text
    return f"{text!r}: annotated {suspect.annotated}, the model reads {suspect.read} ({suspect.p:.2f})"


def review_records(audit: Audit, format: ReviewFormat) -> list[Task]:
    """Return the sentences with suspects and their annotation, for an annotation tool.

    audit (Audit): The suspects.
    format (str): "prodigy" (text, tokens, spans, meta) or "doccano" (text, label, fields of meta).
    RETURNS (List[Task]): Sentences in the order of their first suspect. meta has the minimum score,
        the problems in words, the type of the first suspect, the index of the document, and the
        character offset of the sentence in it.
    """
    by_sentence: dict[tuple[int, int, int], list[Suspect]] = {}
    places = cache(lambda doc_i: sentence_bounds(audit.docs[doc_i]))
    for suspect in audit.suspects:
        bounds = places(suspect.doc_i)
        start, end = bounds[bisect_right(bounds, suspect.start, key=itemgetter(1))]
        by_sentence.setdefault((suspect.doc_i, start, end), []).append(suspect)
    records = []
    for (i, start, end), suspects in by_sentence.items():
        doc = audit.docs[i]
        meta = {
            "score": float(f"{min(suspect.score for suspect in suspects):.3g}"),
            "problem": "; ".join(problem(doc, suspect) for suspect in suspects),
            "type": suspects[0].type,
            "document": i,
            "start": doc[start].idx,
        }
        records.append(TASKS[format](doc, start, end, meta))
    return records
