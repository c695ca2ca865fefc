"""Sentences with entities as records that annotation tools open."""

from collections.abc import Callable
from typing import Any, Literal

from spacy.tokens import Doc

from .options import UTF16
from .records import OFFSETS

Tool = Literal["prodigy", "doccano", "label-studio"]
Task = dict[str, object]  # JSON data: a sentence to review, or its meta


def _spans(doc: Doc, start: int, end: int) -> list[dict[str, Any]]:
    """Return the entities of a sentence as Prodigy writes them: `token_end` is the last token."""
    at = doc[start].idx
    return [
        {
            "start": ent.start_char - at,
            "end": ent.end_char - at,
            "label": ent.label_,
            "token_start": ent.start - start,
            "token_end": ent.end - start - 1,
        }
        for ent in doc[start:end].ents
    ]


def prodigy_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """Return a sentence as a task of Prodigy: text, tokens, spans, meta.

    doc (Doc): A document with entities.
    start (int): First token of the sentence.
    end (int): One past the last token of the sentence.
    meta (Task): Further fields of the task.
    """
    at = doc[start].idx
    tokens = [
        {
            "text": token.text,
            "start": token.idx - at,
            "end": token.idx - at + len(token),
            "id": i,
            "ws": bool(token.whitespace_),
        }
        for i, token in enumerate(doc[start:end])
    ]
    spans = _spans(doc, start, end)
    return {"text": doc[start:end].text, "tokens": tokens, "spans": spans, "meta": meta}


def doccano_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """Return a task of Doccano: text, label, offsets in UTF-16 units, and the fields of meta."""
    text = doc[start:end].text

    def units(offset: int) -> int:
        return offset + sum(character > "\uffff" for character in text[:offset])

    spans = [[units(s["start"]), units(s["end"]), s["label"]] for s in _spans(doc, start, end)]
    return {"text": text, "label": spans, OFFSETS: UTF16, **meta}


def label_studio_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """Return a task of Label Studio: data with the fields of meta, and a prediction."""
    text = doc[start:end].text
    result = [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {
                "start": span["start"],
                "end": span["end"],
                "text": text[span["start"] : span["end"]],
                "labels": [span["label"]],
            },
        }
        for span in _spans(doc, start, end)
    ]
    prediction: Task = {"model_version": "spacy-longtail", "result": result}
    return {"data": {"text": text, **meta}, "predictions": [prediction]}


TASKS: dict[Tool, Callable[[Doc, int, int, Task], Task]] = {
    "prodigy": prodigy_task,
    "doccano": doccano_task,
    "label-studio": label_studio_task,
}
