"""Windows over the subwords of long texts: what an encoder reads at once."""

from typing import NamedTuple

import numpy as np
from thinc.types import Ints1d

TRANSFORMER = "transformer_tok2vec"  # the name of the layer of longtail.Transformer.v1
DEFAULT_PIECES = 254  # with two special subwords, half of what most transformers can read


class Window(NamedTuple):
    """Words that are read together, as indices among the words of a document."""

    start: int
    end: int
    first: int  # of the words whose states are kept
    stop: int


def windows_of(lengths: Ints1d, sentences: Ints1d, limit: int) -> list[Window]:
    """Cut a document's sentences into windows where they are longer than `limit` subwords.

    A window begins with a fourth of the one before, and its last eighth is read again after it.

    lengths (Ints1d): Subwords of each word, (n_words,).
    sentences (Ints1d): Words of each sentence.
    limit (int): Subwords of a window.
    RETURNS (List[Window]): In order. Together they keep each word of the document once.
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
    """Return batches of sequences, the shortest first, of at most `limit` subwords with padding."""
    batches: list[list[int]] = []
    for i in np.argsort(sizes, kind="stable").tolist():
        if batches and sizes[i] * (len(batches[-1]) + 1) <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
