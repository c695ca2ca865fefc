"""spaCy's own files: documents in, checked; documents out, counted as they are written."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import srsly
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.language import BaseDefaults
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab, create_vocab

from ...errors import Errors
from ..counts import BEGINS, MISSING, entity_bounds
from ..cutting import sentence_docs
from ..labels import check_label
from .context import Context, Events
from .spans import CharSpan, annotate, check_span
from .text import Place, unreadable

Read = TypeVar("Read")


class Tally(NamedTuple):
    """Counts of a written part."""

    documents: int
    tokens: int
    mentions: Counter[str]


def write_docs(path: Path, docs: Iterable[Doc]) -> Tally:
    """Write documents to a .spacy file. They are streamed, but their arrays stay in memory."""
    store, mentions, n_tokens = DocBin(), Counter[str](), 0
    for doc in docs:
        store.add(doc)
        # not by store_user_data=True: to pack empty dictionaries takes longer than all the rest
        store.user_data.append(srsly.msgpack_dumps(doc.user_data) if doc.user_data else None)
        mentions.update(doc.vocab.strings[label] for *_, label in entity_bounds(doc))
        n_tokens += len(doc)
    store.store_user_data = True
    for label in mentions:
        check_label(label, f" in {path.name}")
    try:
        store.to_disk(path)
    except ValueError as error:  # of spaCy, where msgpack cannot hold it
        fix = "Write several files of it: --docs-per-file 10000."
        raise ValueError(Errors.L404.format(path=path.name, problem=error, fix=fix)) from error
    return Tally(len(store), n_tokens, mentions)


def _streamed(path: Path, read: Callable[[DocBin], Iterator[Read]]) -> Iterator[Read]:
    """Yield what `read` returns for a .spacy file, or for each file below a folder in turn."""
    paths = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
    if not path.exists() or not paths:
        raise ValueError(Errors.L402.format(path=path, fix="Name a .spacy file, or a folder of them."))
    is_empty = True
    for part in paths:
        try:
            for item in read(DocBin().from_disk(part)):
                is_empty = False
                yield item
        except Exception as error:  # msgpack, zlib and spaCy raise their own kinds
            raise _damaged(part, error) from error
    if is_empty:
        raise ValueError(Errors.L403.format(path=path, fix="Convert a corpus that has documents."))


def _damaged(path: Path, problem: object) -> ValueError:
    fix = "Write it again with `python -m spacy_longtail convert`."
    return ValueError(Errors.L404.format(path=path, problem=problem, fix=fix))


def check_docs(path: Path) -> int:
    """Return the number of tokens of a .spacy file or folder, refusing damaged files."""
    return sum(len(tokens) for tokens in _streamed(path, lambda docs: iter(docs.tokens)))


def bare_vocab() -> Vocab:
    """Return a vocabulary without a pipeline, whose creation would import every installed extra."""
    return create_vocab("xx", BaseDefaults)


def stream_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the documents of a .spacy file, or of every .spacy file below a folder, by name."""
    return _streamed(path, lambda docs: docs.get_docs(vocab))


def stream_sentences(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the sentences of a .spacy file as documents."""
    for doc in stream_docs(path, vocab):
        yield from sentence_docs(doc)


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
                raise _damaged(path, f"document {i}: {error}") from error
            if not doc.has_annotation("ENT_IOB"):
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
