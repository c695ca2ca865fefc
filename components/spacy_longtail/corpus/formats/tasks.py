"""Sentences with entities as records that annotation tools open."""

from collections.abc import Callable
from typing import Literal

from spacy.tokens import Doc

from .offsets import OFFSETS, UTF16, to_utf16

Tool = Literal["prodigy", "doccano", "label-studio"]
Task = dict[str, object]  # JSON data: a sentence to look at, or what is known of it


def prodigy_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """text, tokens, spans, meta. doc (Doc): With entities. start, end (int): Tokens of the sentence."""
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
    spans = [
        {
            "start": ent.start_char - at,
            "end": ent.end_char - at,
            "token_start": ent.start - start,
            "token_end": ent.end - start - 1,  # the last one, as Prodigy counts
            "label": ent.label_,
        }
        for ent in doc[start:end].ents
    ]
    return {"text": doc[start:end].text, "tokens": tokens, "spans": spans, "meta": meta}


def doccano_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """text, label, offsets, and the fields of meta. Doccano counts UTF-16 units."""
    at, text = doc[start].idx, doc[start:end].text
    spans = [
        [to_utf16(text, ent.start_char - at), to_utf16(text, ent.end_char - at), ent.label_]
        for ent in doc[start:end].ents
    ]
    return {"text": text, "label": spans, OFFSETS: UTF16, **meta}


def label_studio_task(doc: Doc, start: int, end: int, meta: Task) -> Task:
    """data (text, and the fields of meta) and one prediction.

    The labelling interface calls its text "text" and its labels "label", as the tool's template does.
    """
    at = doc[start].idx
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    values = [
        {
            "start": ent.start_char - at,
            "end": ent.end_char - at,
            "text": ent.text,
            "labels": [ent.label_],
        }
        for ent in doc[start:end].ents
    ]
    result = [{**names, "value": value} for value in values]
    prediction: Task = {"model_version": "spacy-longtail", "result": result}
    return {"data": {"text": doc[start:end].text, **meta}, "predictions": [prediction]}


TASKS: dict[Tool, Callable[[Doc, int, int, Task], Task]] = {
    "prodigy": prodigy_task,
    "doccano": doccano_task,
    "label-studio": label_studio_task,
}
