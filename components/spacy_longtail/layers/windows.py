"""Subwords of documents, and the windows over them that a transformer encodes separately."""

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..sentences import sentence_lengths

if TYPE_CHECKING:  # an extra
    from tokenizers import Tokenizer

TRANSFORMER = "transformer_tok2vec"  # the name of the layer of longtail.Transformer.v1
DEFAULT_PIECES = 254  # with two special subwords, half of what most transformers can read
MAX_PIECES = 12  # of a word
MAX_CHARACTERS = 80  # of a word that are read
MAX_WORDS = 100_000  # whose subwords are remembered


class Words(NamedTuple):
    """Words as subwords, one after the other."""

    ids: Ints1d  # (n_pieces,)
    lengths: Ints1d  # (n_words,)


class Pieces:
    """Tokenizer of words to subwords, which caches them by the word's hash. Threads may share it.

    tokenizer (Tokenizer): A tokenizer without padding and truncation.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self.known: dict[int, list[int]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"tokenizer": self.tokenizer, "known": {}}

    @cached_property
    def ends(self) -> tuple[list[int], list[int]]:
        """Return the special subwords before and after a sequence."""
        encoding = self.tokenizer.encode("a")
        inner = [i for i, word in enumerate(encoding.word_ids) if word is not None]
        return encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :]

    @cached_property
    def unknown(self) -> int:
        """Return the subword for tokens without any, such as white space."""
        ids = map(self.tokenizer.token_to_id, ("[UNK]", "<unk>", "<|endoftext|>"))
        return next((int(i) for i in ids if i is not None), 0)

    def of(self, docs: Iterable[Doc]) -> list[Words]:
        """Return the subwords of each document's words."""
        docs = list(docs)
        known = self.known if len(self.known) <= MAX_WORDS else {}  # other threads keep the old one
        keys = [doc.to_array(ORTH).tolist() for doc in docs]
        fresh = {
            key: doc.vocab.strings[key][:MAX_CHARACTERS]
            for doc, doc_keys in zip(docs, keys, strict=True)
            for key in {*doc_keys}
            if key not in known
        }
        if fresh:
            texts = [[text] for text in fresh.values()]
            encodings = self.tokenizer.encode_batch(
                texts, is_pretokenized=True, add_special_tokens=False
            )
            for key, encoding in zip(fresh, encodings, strict=True):
                known[key] = encoding.ids[:MAX_PIECES] or [self.unknown]
        self.known = known
        by_doc = [[known[key] for key in doc_keys] for doc_keys in keys]
        return [
            Words(np.fromiter(chain.from_iterable(ids), "int64"), np.fromiter(map(len, ids), "int64"))
            for ids in by_doc
        ]


class Window(NamedTuple):
    """Window of words that are encoded together, as indices of the words of a document."""

    start: int
    end: int
    first: int  # of the words whose states are kept
    stop: int


class Sequences(NamedTuple):
    """Windows of documents as subwords, in order."""

    ids: list[Ints1d]  # subwords of each window, without special ones
    columns: list[Ints1d]  # of each word to keep in a window: the index of its first subword


def cut_documents(docs: Iterable[Doc], words: Iterable[Words], limit: int) -> Sequences:
    """Cut documents into sentences, and long sentences into overlapping windows.

    docs (Iterable[Doc]): Documents. One without sentence boundaries is a single sentence.
    words (Iterable[Words]): Subwords of each document.
    limit (int): Maximum number of subwords of a window.
    RETURNS (Sequences): Windows that together keep each word of the documents once, in order.
    """
    sequences = Sequences([], [])
    for doc, own in zip(docs, words, strict=True):
        ends = np.cumsum(own.lengths)
        starts = ends - own.lengths
        for start, end, first, stop in windows_of(own.lengths, sentence_lengths(doc), limit):
            sequences.ids.append(own.ids[starts[start] : ends[end - 1]])
            sequences.columns.append(starts[first:stop] - starts[start])
    return sequences


def windows_of(lengths: Ints1d, sentences: Ints1d, limit: int) -> list[Window]:
    """Cut a document's sentences into windows of at most `limit` subwords.

    The first quarter of a window repeats the one before, and its last eighth is repeated after it.

    lengths (Ints1d): Number of subwords of each word, shape (n_words,).
    sentences (Ints1d): Number of words of each sentence.
    limit (int): Maximum number of subwords of a window.
    RETURNS (List[Window]): Windows in order. Together they keep each word of the document once.
    """
    ends = np.cumsum(lengths)
    starts = ends - lengths
    windows, begin = [], 0
    for n in sentences.tolist():
        at, last = begin, begin + n
        while at < last:
            low = max(int(np.searchsorted(starts, starts[at] - limit // 4)), begin) if at > begin else at
            high = int(np.searchsorted(ends, starts[low] + limit, side="right"))
            high = stop = min(max(high, at + 1), last)
            if high < last:
                stop = max(int(np.searchsorted(starts, ends[high - 1] - limit // 8)), at + 1)
            windows.append(Window(low, high, at, stop))
            at = stop
        begin = last
    return windows


def by_length(sizes: Ints1d, limit: int) -> list[list[int]]:
    """Return batches of sequences, the shortest first, of at most `limit` subwords with padding.

    sizes (Ints1d): Number of subwords of each sequence.
    RETURNS (List[List[int]]): Indices of the sequences of each batch.
    """
    batches: list[list[int]] = []
    for i in np.argsort(sizes, kind="stable").tolist():
        if batches and sizes[i] * (len(batches[-1]) + 1) <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
