"""Windows over the subwords of documents, which a transformer encodes separately."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..sentences import sentence_lengths
from .subword_tokenizer import WordSubwords

TRANSFORMER = "transformer_tok2vec"  # the name of the layer of longtail.Transformer.v1
DEFAULT_PIECES = 254  # with two special subwords, half of what most transformers can read


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


def cut_documents(docs: Iterable[Doc], subwords: Iterable[WordSubwords], limit: int) -> Sequences:
    """Cut documents into sentences, and long sentences into overlapping windows.

    docs (Iterable[Doc]): Documents. One without sentence boundaries is a single sentence.
    subwords (Iterable[WordSubwords]): Subwords of each document.
    limit (int): Maximum number of subwords of a window.
    RETURNS (Sequences): Windows that together keep each word of the documents once, in order.
    """
    sequences = Sequences([], [])
    for doc, own in zip(docs, subwords, strict=True):
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
    limit (int): Maximum number of subwords of a batch. A longer sequence has a batch of its own.
    RETURNS (List[List[int]]): Indices of the sequences of each batch.
    """
    batches: list[list[int]] = []
    for i in np.argsort(sizes, kind="stable").tolist():
        if batches and sizes[i] * (len(batches[-1]) + 1) <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
