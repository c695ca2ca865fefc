"""Sentences that are known already and found again in a pool, however its texts are split."""

import itertools
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from ..corpus.cutting import bare
from ..corpus.folder import PARTS, all_parts, read_types, stream_docs
from ..corpus.likeness import digest, text_key
from ..corpus.splits import ALL
from ..pipes.neighbours import BOUNDARIES
from ..sentences import by_punctuation, has_boundaries, plain_text
from .units import PassCounts, sentences_of

MIN_WORDS = 5  # of a sentence that is looked for inside of texts: shorter ones are there by chance
N_FIRST = (16, 5)  # number of leading characters by which long and short sentences are looked up
BATCH = 64  # number of documents that are split together


class KnownSentences:
    """Set of sentences that must not be proposed again, and of the groups that each part has.

    A sentence is stored as a hash of 64 bits of its visible characters in lower case.

    group_by (Optional[str]): Key of user_data that names the group of a document. The documents of
        a group stay in one part.
    """

    def __init__(self, group_by: str | None = None) -> None:
        self.group_by = group_by
        self._parts: dict[str, set[str]] = {}  # by group
        self._keys: set[int] = set()
        self._lengths: dict[str, set[int]] = {}  # of texts in characters, by their beginning

    def add(self, text: str, is_long: bool) -> None:
        """Add a sentence.

        text (str): Its text.
        is_long (bool): Whether it is long enough to be looked for inside of other texts.
        """
        plain = plain_text(text)
        self._keys.add(digest(plain))
        if is_long:
            first = plain[: next((n for n in N_FIRST if n <= len(plain)), None)]
            self._lengths.setdefault(first, set()).add(len(plain))

    def group_of(self, doc: Doc) -> str:
        """Return the group of a document as text, or "" if it has none."""
        group = doc.user_data.get(self.group_by) if self.group_by else None
        return "" if group is None else str(group)

    def add_group(self, doc: Doc, part: str) -> None:
        """Remember that a part has a document of this group."""
        if group := self.group_of(doc):
            self._parts.setdefault(group, set()).add(part)

    def other_parts(self, doc: Doc, part: str) -> list[str]:
        """Return the parts, except for `part`, in which the group of a document occurs."""
        return sorted(self._parts.get(self.group_of(doc), set()) - {part, ALL})

    def add_docs(self, docs: Iterable[Doc], nlp: Language) -> None:
        """Add documents and their sentences.

        Texts of a pool may have other sentence boundaries than the documents, so each document is
        also cut by punctuation, and by the pipeline if it has no boundaries of its own. If it has,
        only pieces of MIN_WORDS tokens or more count.

        docs (Iterable[Doc]): The documents.
        nlp (Language): The pipeline that processes the pool.
        """
        setters = {name for name in nlp.pipe_names if BOUNDARIES & {*nlp.get_pipe_meta(name).assigns}}
        encoders = {n for n, p in nlp.pipeline if setters & {*getattr(p, "listening_components", ())}}
        wanted = [name for name in nlp.pipe_names if name in setters | encoders]
        for batch in minibatch(docs, BATCH):
            whole = [bare(doc, nlp.vocab) for doc in batch if not has_boundaries(doc)]
            if wanted and whole:
                with nlp.select_pipes(enable=wanted):
                    for doc in nlp.pipe(whole):
                        self._add_sentences(doc)
            cut = by_punctuation(bare(doc, nlp.vocab) for doc in batch)
            for doc, pieces in zip(batch, cut, strict=True):
                self.add(doc.text, is_long=len(doc) >= MIN_WORDS)
                self._add_sentences(doc)
                self._add_sentences(pieces, MIN_WORDS if has_boundaries(doc) else 1)

    def _add_sentences(self, doc: Doc, min_tokens: int = 1) -> None:
        """Add the sentences of a document that have at least so many tokens."""
        for start, end in sentences_of(doc):
            if end - start >= min_tokens:
                self.add(doc[start:end].text, is_long=end - start >= MIN_WORDS)

    def __contains__(self, text: str) -> bool:
        return text_key(text) in self._keys

    def tokens_in(self, doc: Doc) -> np.ndarray:
        """Return which tokens of a text belong to a known sentence of MIN_WORDS tokens or more.

        doc (Doc): The text. If all of it is known, all tokens are, whatever their number is.
        RETURNS (ndarray): Booleans, shape (n_tokens,).
        """
        if not self._keys:
            return np.zeros(len(doc), dtype=bool)
        words = [plain_text(token.text) for token in doc]
        text, starts = "".join(words), [0, *accumulate(map(len, words))]
        known, bounds = np.full(len(doc), digest(text) in self._keys), np.asarray(starts)
        for (token, start), n in itertools.product(enumerate(starts[:-1]), N_FIRST):
            for length in self._lengths.get(text[start : start + n], ()):
                end = start + length
                if end <= len(text) and digest(text[start:end]) in self._keys:
                    known[token : np.searchsorted(bounds, end)] = True
        return known


def new_sentences(doc: Doc, known: KnownSentences, counts: PassCounts) -> Iterator[tuple[int, Span]]:
    """Yield the sentences of a text that are not known yet, and count all of its sentences.

    doc (Doc): The text. Without sentence boundaries it is one sentence.
    known (KnownSentences): Sentences to exclude. A sentence is also excluded if it contains or
        overlaps a known one, or if the group of its text occurs in dev or test.
    counts (PassCounts): Counts of the pass; changed in place.
    YIELDS (Tuple[int, Span]): Index of the sentence in its document, and the sentence.
    """
    counts.texts += 1
    is_known = known.tokens_in(doc) | bool(known.other_parts(doc, "train"))
    for i, (start, end) in enumerate(sentences_of(doc)):
        if start == end:
            continue
        counts.sentences += 1
        if is_known[start:end].any() or doc[start:end].text in known:
            counts.known += 1
        else:
            yield i, doc[start:end]


def known_in_corpus(corpus: Path, nlp: Language, other: Path | None = None) -> KnownSentences:
    """Return the documents and sentences of all parts of a corpus.

    corpus (Path): Folder of a converted corpus.
    nlp (Language): The pipeline that processes the pool.
    other (Optional[Path]): A file that may be in this folder and is no part of the corpus, such as
        the pool.
    """
    known = KnownSentences(read_types(corpus).group_by)
    for part, docs in parts_in_corpus(corpus, nlp, other):
        known.add_docs(_with_groups(docs, part, known), nlp)
    return known


def _with_groups(docs: Iterable[Doc], part: str, known: KnownSentences) -> Iterator[Doc]:
    """Remember the group of each document, and yield the document."""
    for doc in docs:
        known.add_group(doc, part)
        yield doc


def parts_in_corpus(
    corpus: Path, nlp: Language, other: Path | None
) -> Iterator[tuple[str, Iterator[Doc]]]:
    """Yield the name and the documents of each part of a corpus.

    Files whose documents have no entity annotation, such as a pool, are left out.

    corpus (Path): Folder of a converted corpus.
    nlp (Language): A pipeline of the corpus's language.
    other (Optional[Path]): A file that is no part of the corpus, unless it is called as one.
    """
    for path in all_parts(corpus):
        is_other = other is not None and path.resolve() == other.resolve()
        if path.stem in (*PARTS, ALL) or not (is_other or _is_unannotated(path, nlp)):
            yield path.stem, stream_docs(path, nlp.vocab)


def _is_unannotated(path: Path, nlp: Language) -> bool:
    """Return whether a part has no document with entity annotation."""
    return not any(doc.has_annotation("ENT_IOB") for doc in stream_docs(path, nlp.vocab))
