"""spaCy's own files, whose documents are checked."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.tokens import Doc, Span

from ..counts import BEGINS, MISSING
from ..parts import damaged, stream_docs
from .context import Context, Events
from .spans import CharSpan, annotate, check_span
from .text import Place, unreadable


@dataclass(frozen=True, kw_only=True)
class DocBinReader:
    """Reader of .spacy files.

    spans_key (Optional[str]): Key of `doc.spans` whose spans become the entities. null takes
        `doc.ents`, and the only group of spans of documents without entity annotation.
    """

    spans_key: str | None = None

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield the documents. The place of an event is the document's number in its file."""
        keys, is_annotated, place = set[str](), False, Place(path, 0)
        for i, doc in enumerate(stream_docs(path, context.nlp.vocab), 1):
            place = Place(path, i)
            if not len(doc):
                context.events.add("empty", "texts", place)
                continue
            keys |= {*doc.spans}
            is_annotated |= doc.has_annotation("ENT_IOB")
            if self.spans_key or (len(doc.spans) == 1 and not doc.has_annotation("ENT_IOB")):
                _take_group(doc, self.spans_key or next(iter(doc.spans)), place, context)
            try:
                _trim(doc, place, context.events)
            except ValueError as error:  # of spaCy, for entities that nothing begins
                raise damaged(path, f"document {i}: {error}") from error
            if not (doc.has_annotation("ENT_IOB") or context.unlabelled):
                context.events.add("unannotated", "documents", place)
            yield doc
        is_lost = self.spans_key not in keys if self.spans_key else len(keys) > 1 and not is_annotated
        if is_lost and not context.unlabelled:
            missing = f"spans under {self.spans_key!r}" if self.spans_key else "entities"
            problem = f"it has no {missing}, found the groups {', '.join(sorted(keys)) or 'none'}"
            raise unreadable(place, f"{problem} in doc.spans", "Name a group with --spans-key.")


def _take_group(doc: Doc, key: str, place: Place, context: Context) -> None:
    """Make entities of a group of `doc.spans`; of overlapping spans, the longest is kept."""
    mentions: list[CharSpan] = []
    for span in doc.spans.get(key, ()):
        context.events.add("groups", span.label_, place, f"{span.label_} {span.text!r}")
        mention = CharSpan(place, None, span.start_char, span.end_char, span.label_)
        mentions.append(check_span(doc.text, mention, context.events))
    annotate(doc, mentions, context)


def _trim(doc: Doc, place: Place, events: Events) -> None:
    """Remove white space at the ends of entities."""
    iob, types, space = doc.to_array([ENT_IOB, ENT_TYPE, IS_SPACE]).T
    ents: list[Span] = []
    for ent in doc.ents:
        words = (ent.start + np.flatnonzero(space[ent.start : ent.end] == 0)).tolist()
        if words[:1] + words[-1:] != [ent.start, ent.end - 1]:
            events.add("trimmed", ent.label_, place, f"{ent.label_} {ent.text!r}")
        if words:
            end = words[-1] + 1
            ents.append(Span(doc, words[0], end, label=ent.label, kb_id=ent.kb_id, span_id=ent.id))
    is_blocked = (iob == BEGINS) & (types == 0)  # spaCy's way to say that no entity may be there
    missing = np.flatnonzero((iob == MISSING) | is_blocked).tolist()
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in missing], default="outside")
