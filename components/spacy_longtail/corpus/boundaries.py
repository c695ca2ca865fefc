"""Sentence boundaries for documents that were converted without any."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from .cutting import bare, cut
from .formats.columns import no_names
from .formats.context import SENTENCIZER, Events
from .formats.text import Place, unreadable
from .sentences import sentence_bounds
from .tokenizers import blank

BATCH = 64  # documents
SHOWN = 40  # characters of a document, by which a message names it


def boundary_pipeline(found: str | Language, lang: str, tokens: str) -> Language:
    """The pipeline that sets boundaries, tried on a few words.

    found (str | Language): "sentencizer", spaCy's rules of punctuation; or a pipeline that has more.
    lang (str): Language code. tokens (str): "words" or "characters".
    """
    if isinstance(found, Language):
        nlp = found
    else:
        nlp = blank(lang, tokens)
        nlp.add_pipe(SENTENCIZER)
    (probe,) = nlp.pipe([Doc(nlp.vocab, words=["This", "ends", ".", "That", "begins", "."])])
    if not probe.has_annotation("SENT_START"):
        names = ", ".join(nlp.pipe_names) or "none"
        problem = f"its components set no sentence boundaries, found {names}"
        raise no_names("sentences", f"{nlp.lang}_{nlp.meta['name']}", problem)
    return nlp


def with_boundaries(docs: Iterable[Doc], nlp: Language, path: Path, events: Events) -> Iterator[Doc]:
    """Documents with sentences; those that have boundaries keep their own.

    nlp (Language): As `boundary_pipeline` gives it. It sees the words of a document, and no entities.
    path (Path): What events name, with the document's number.
    events (Events): Counts entities across a boundary, which is dropped.
    """
    numbered = enumerate(docs, 1)
    for batch in minibatch(numbered, BATCH):
        unbounded = [(i, doc) for i, doc in batch if not doc.has_annotation("SENT_START")]
        copies = (bare(doc, nlp.vocab) for _, doc in unbounded)
        for (i, doc), parsed in zip(unbounded, nlp.pipe(copies), strict=True):
            _set(doc, parsed, Place(path, i), events)
        yield from (doc for _, doc in batch)


def within_limit(docs: Iterable[Doc], most: int, path: Path, events: Events) -> Iterator[Doc]:
    """Documents whose text spaCy tokenizes in training. Longer ones are cut between sentences.

    most (int): The tokenizer's limit, in characters. Documents of words without a text have none.
    path (Path): What events and errors name, with the document's number.
    events (Events): Counts the documents that are cut.
    """
    for i, doc in enumerate(docs, 1):
        if doc.has_unknown_spaces or len(doc.text) <= most:
            yield doc
            continue
        bounds = _runs(doc, most)
        if any(len(doc[start:end].text) > most for start, end in bounds):
            fix = "Convert with --sentences sentencizer, and `convert` cuts it between sentences."
            if doc.has_annotation("SENT_START"):
                fix = "One of its sentences alone is longer. Divide the text in the source."
            problem = (
                f"the document that begins {doc.text[:SHOWN]!r} has {len(doc.text):,} characters, "
                f"and spaCy trains on at most {most:,}"
            )
            raise unreadable(Place(path, 0, i), problem, fix)
        events.add("cut", "documents", Place(path, i), f"into {len(bounds)}: {doc.text[:SHOWN]!r}")
        yield from cut(doc, bounds)


def _runs(doc: Doc, most: int) -> list[tuple[int, int]]:
    """Bounds of as many whole sentences at a time as have so many characters together, at least one."""
    bounds = [(0, 0)]
    for start, end in sentence_bounds(doc):
        first = bounds[-1][0]
        if start > first and doc[end - 1].idx + len(doc[end - 1].text_with_ws) - doc[first].idx > most:
            bounds.append((start, end))
        else:
            bounds[-1] = first, end
    return bounds


def _set(doc: Doc, parsed: Doc, place: Place, events: Events) -> None:
    starts = parsed.to_array(SENT_START).astype("int64") == 1
    starts[:1] = True
    for ent in doc.ents:
        inner = slice(ent.start + 1, ent.end)
        if starts[inner].any():
            events.add("joined", ent.label_, place, f"{ent.label_} {ent.text!r}")
            starts[inner] = False
    doc.from_array([SENT_START], np.where(starts, 1, -1).astype("uint64").reshape(-1, 1))
