"""Suspect annotations as files that annotation tools open: one sentence per record."""

from bisect import bisect_right
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Literal

import srsly
from spacy.tokens import Doc

from ..corpus.formats.tasks import TASKS, Task
from ..corpus.sentences import sentence_bounds
from ..output.writing import write_file
from .audit import Audit, Suspect

Format = Literal["prodigy", "doccano"]
MARK = '"problem":'  # in each record


def problem(doc: Doc, suspect: Suspect) -> str:
    """What is suspect, in words."""
    text = doc[suspect.start : suspect.end].text
    return f"{text!r}: annotated {suspect.annotated}, the model reads {suspect.read} ({suspect.p:.2f})"


def review_records(audit: Audit, format: Format, limit: int | None = None) -> list[Task]:
    """The sentences with suspects, in the order of their first one, with the annotation as it is.

    audit (Audit): What was found.
    format (str): "prodigy" (text, tokens, spans, meta) or "doccano" (text, label, and meta's fields).
    limit (Optional[int]): Suspects to write at most; null is all.
    RETURNS (List[Task]): meta: score, the least; problem, in words; type, of the first
        suspect; document, its number from 0; start, the sentence's first character in it.
    """
    by_sentence: dict[tuple[int, int, int], list[Suspect]] = {}
    places = cache(lambda doc_i: sentence_bounds(audit.docs[doc_i]))
    for suspect in audit.suspects[:limit]:
        own = places(suspect.doc_i)
        start, end = own[bisect_right(own, suspect.start, key=itemgetter(1))]
        by_sentence.setdefault((suspect.doc_i, start, end), []).append(suspect)
    make = TASKS[format]
    return [
        make(audit.docs[i], start, end, _meta(audit.docs[i], start, own))
        for (i, start, end), own in by_sentence.items()
    ]


def write_review(audit: Audit, path: Path, format: Format, limit: int | None = None) -> int:
    """Write the records as JSON lines, all or nothing.

    RETURNS (int): How many.
    """
    records = review_records(audit, format, limit)
    write_file(path, "".join(f"{srsly.json_dumps(record)}\n" for record in records))
    return len(records)


def _meta(doc: Doc, start: int, suspects: list[Suspect]) -> Task:
    first = suspects[0]
    return {
        "score": float(f"{min(suspect.score for suspect in suspects):.3g}"),
        "problem": "; ".join(problem(doc, suspect) for suspect in suspects),
        "type": first.type,
        "document": first.doc_i,
        "start": doc[start].idx,
    }
