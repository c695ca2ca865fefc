"""Annotated documents, examples and corpora that tests read."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import spacy
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus

SENTENCES = [
    "[Maria|PER] sailed to [Oslo|GEO] on the [Fram|ART] .",
    "Nobody saw [Storm Ida|NAT] coming , said [Jon Berg|PER] .",
    "[Oslo|GEO] was quiet that night .",
    "The rain fell for hours .",
    "[Jon Berg|PER] and [Maria|PER] met in [Rome|GEO] .",
    "A cup of tea helped .",
    "[Rome|GEO] sent help when [Storm Ida|NAT] passed .",
    "[Old Maria|PER] sold the [Fram|ART] in [Oslo|GEO] .",
]


def numbered(n: int = 24) -> list[Doc]:
    """Annotated documents, no two of them alike."""
    nlp = blank()
    docs = [parse(nlp, f"{SENTENCES[i % len(SENTENCES)]} {i}") for i in range(n)]
    for doc in docs:
        doc.set_ents(doc.ents, default="outside")
    return docs


def parse(nlp: Language, text: str) -> Doc:
    """A sentence whose entities are in brackets with their types, as in `[Maria|PER] sailed .`."""
    words, spans = [], []
    for chunk in text.replace("[", "\t[").replace("]", "]\t").split("\t"):
        if chunk.startswith("["):
            surface, label = chunk[1:-1].split("|")
            start = len(words)
            words += surface.split()
            spans.append((start, len(words), label))
        else:
            words += chunk.split()
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans])
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def document(nlp: Language, *texts: str) -> Doc:
    """A document of sentences in the notation of `parse`."""
    return Doc.from_docs([parse(nlp, text) for text in texts])


def spans_example(nlp: Language, gold, predicted, n: int = 10, sentences: Iterable[int] = ()) -> Example:
    """An example of n tokens w0, w1, ... with entities as (start, end, type).

    sentences (Iterable[int]): Where sentences start, besides at the first token.
    """
    starts = [i == 0 or i in sentences for i in range(n)]
    docs = [Doc(nlp.vocab, words=[f"w{i}" for i in range(n)], sent_starts=starts) for _ in range(2)]
    for doc, spans in zip(docs, (predicted, gold), strict=True):
        doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans])
    return Example(*docs)


def examples(nlp: Language, times: int = 1) -> list[Example]:
    references = [parse(nlp, text) for text in SENTENCES * times]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in references]


def words(nlp: Language, text: str) -> Doc:
    """The words of a sentence of the toy corpus, without its entities."""
    return Doc(nlp.vocab, words=[t.text for t in parse(nlp, text)])


def entity_offsets(doc: Doc) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label_) for e in doc.ents]


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(e.text, e.label_) for e in doc.ents]


def toy_words() -> set[str]:
    """The words of the toy corpus, in lower case."""
    return {token.text.lower() for doc in toy_docs() for token in doc}


def toy_docs(times: int = 1) -> list[Doc]:
    nlp = blank()
    return [parse(nlp, text) for text in SENTENCES * times]


def save_docs(path: Path, docs: Iterable[Doc]) -> Path:
    """Write documents with their user data to a .spacy file, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def toy_corpus(folder: Path, **parts: list[Doc]) -> Path:
    """The toy corpus as a corpus folder. Unless given, dev is its first half, test its second."""
    docs = toy_docs()
    types = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
    write_corpus(folder, {"train": docs, "dev": docs[:4], "test": docs[4:], **parts}, types)
    return folder


def corpus_of(
    folder: Path,
    labels: Iterable[str] | None = None,
    tail: Iterable[str] = (),
    descriptions: dict[str, str] | None = None,
    **parts: list[str | list[str]],
) -> Path:
    """Write a corpus. Each document is a sentence in the notation of `parse`, or a list of them.

    labels (Optional[Iterable[str]]): Its types; those of its mentions by default.
    """
    nlp = blank()
    docs = {
        part: [document(nlp, *([text] if isinstance(text, str) else text)) for text in texts]
        for part, texts in parts.items()
    }
    own = sorted({ent.label_ for part in docs.values() for doc in part for ent in doc.ents})
    types = CorpusTypes(list(labels or own), list(tail), "en", descriptions=descriptions or {})
    write_corpus(folder, docs, types)
    return folder


class Fixed:
    """A reader that yields the same objects at each call, and counts its calls and what it gave."""

    def __init__(self, data: list[Example]) -> None:
        self.data = data
        self.calls = self.given = 0

    def __call__(self, nlp: Language) -> Iterator[Example]:
        self.calls += 1
        for eg in self.data:
            self.given += 1
            yield eg


def two_sentences(nlp: Language, bounded: bool = False) -> Example:
    """Return a document of two sentences; the second begins at token 6 and holds a NAT.

    bounded (bool): Whether the predicted document has the boundaries, too.
    """
    reference = document(nlp, SENTENCES[3], SENTENCES[6])
    predicted = Doc(nlp.vocab, words=[t.text for t in reference])
    if bounded:
        start_sentences(predicted, 0, 6)
    return Example(predicted, reference)


def start_sentences(doc: Doc, *starts: int) -> Doc:
    """Let sentences begin at these tokens and at no other."""
    for token in doc:
        token.is_sent_start = token.i in starts
    return doc


def tags_of(doc: Doc) -> list[str]:
    """Return the tag of each token, such as B-PER. It is "" for missing and blocked annotation."""
    untyped = ["O" if t.ent_iob_ == "O" else "" for t in doc]
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else untyped[t.i] for t in doc]


@st.composite
def annotated_docs(draw, nlp: Language, words: list[str], labels: Sequence[str] = "AB") -> Doc:
    """Draw a document of given words with entities, missing and blocked tokens, and boundaries.

    labels (Sequence[str]): Types of the entities.
    """
    if not words:
        return Doc(nlp.vocab)

    def each(values: st.SearchStrategy) -> st.SearchStrategy:
        return st.lists(values, min_size=len(words), max_size=len(words))

    spaces = draw(st.none() | each(st.booleans()))
    starts = draw(st.none() | each(st.sampled_from([True, False, False, None])))
    doc = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
    spans: dict[str, list[Span]] = {"outside": [], "entity": [], "missing": [], "blocked": []}
    end = 0
    while end < len(words):
        start, end = end, min(end + draw(st.integers(1, 3)), len(words))
        kind = draw(st.sampled_from(["outside", "entity", "entity", *spans]))
        spans[kind].append(Span(doc, start, end, label=draw(st.sampled_from(labels))))
    default = draw(st.sampled_from(["outside", "missing"]))
    doc.set_ents(spans["entity"], missing=spans["missing"], blocked=spans["blocked"], default=default)
    return doc


def blank() -> Language:
    return spacy.blank("en")
