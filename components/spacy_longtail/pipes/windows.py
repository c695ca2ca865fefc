"""Text in windows that a model can read whole, and what stands in them on spaCy's tokens."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..corpus.sentences import sentence_lengths
from .merging import merge_spans
from .scores import ScoredSpan
from .weak_sentences import Parts


class Words(NamedTuple):
    """The words of a text as a model splits it, without those that its tokenizer makes nothing of."""

    text: str  # spaces in place of what is left out
    starts: Ints1d  # (n_words,) first character
    ends: Ints1d  # (n_words,) one past the last
    sizes: Ints1d  # (n_words,) pieces of the model's tokenizer, at least one


class Found(NamedTuple):
    """An entity, by characters."""

    start: int
    end: int  # one past the last
    label: str
    score: float


class Limits(NamedTuple):
    """What a model reads at once."""

    words: int
    pieces: float  # of its tokenizer; inf for any number
    overlap: int  # words that the windows of a sentence that is too long share


class Window(NamedTuple):
    """Words of a text that are read at once, and those in which an entity of this window begins."""

    start: int  # first word
    end: int  # one past the last
    first: int  # first word of its own
    last: int  # one past the last word of its own


def cut_windows(sizes: Ints1d, breaks: Ints1d, limits: Limits) -> list[Window]:
    """As many whole sentences in each window as fit; a sentence that does not fit alone is cut.

    The windows of a cut sentence overlap, and their own words meet in the middle of it: an entity of up
    to half the overlap is seen whole by the window that it begins in. A single word that is too long has
    a window of its own.

    sizes (Ints1d): (n_words,), pieces of each word.
    breaks (Ints1d): Words at which a sentence begins, ascending. limits (Limits): Of a window.
    RETURNS (List[Window]): Every word is the own word of exactly one.
    """
    total = np.concatenate([[0], np.cumsum(sizes)])
    n_words = len(sizes)

    def reach(start: int) -> int:
        """One past the last word that fits."""
        fits = np.searchsorted(total, total[start] + limits.pieces, side="right") - 1
        return min(max(int(fits), start + 1), start + limits.words, n_words)

    found: list[Window] = []
    start = end = 0
    for stop in np.unique([*breaks[(breaks > 0) & (breaks < n_words)], n_words]).tolist():
        if stop > reach(start) and start < end:
            found.append(Window(start, end, start, end))
            start = end
        if stop > reach(start):
            found.extend(_cut_sentence(start, stop, reach, limits.overlap))
            start = stop
        end = stop
    if start < end:
        found.append(Window(start, end, start, end))
    return found


def _cut_sentence(start: int, stop: int, reach: Callable[[int], int], overlap: int) -> Iterator[Window]:
    first = start
    while (end := min(reach(start), stop)) < stop:
        shared = min(overlap, (end - start) // 2)
        after = next(at for at in range(end - shared, end + 1) if reach(at) > end)  # it goes on
        last = max(end - shared // 2, after)
        yield Window(start, end, first, last)
        start, first = after, last
    yield Window(start, stop, first, stop)


def token_bounds(doc: Doc) -> tuple[Ints1d, Ints1d]:
    """First character of each token, and one past the last. (n_tokens,) each"""
    starts, lengths = doc.to_array(["IDX", "LENGTH"]).astype("int64").T
    return starts, starts + lengths


def on_tokens(starts: Ints1d, ends: Ints1d, bounds: tuple[Ints1d, Ints1d]) -> tuple[Ints1d, Ints1d]:
    """Spans of characters on tokens: all that a span touches, so one that cuts a token takes it whole.

    starts, ends (Ints1d): (n_spans,), first character and one past the last, at least one each.
    bounds (Tuple[Ints1d, Ints1d]): `token_bounds`.
    RETURNS (Tuple[Ints1d, Ints1d]): (n_spans,) each, first token and one past the last.
    """
    first = np.searchsorted(bounds[1], starts, side="right")
    return first, np.searchsorted(bounds[0], ends, side="left")


def windows_of(doc: Doc, words: Words, parts: Parts, limits: Limits) -> Iterator[Window]:
    """The windows of the parts of a document that are looked at."""
    starts, ends = token_bounds(doc)
    sentences = np.cumsum(sentence_lengths(doc))[:-1]
    breaks = np.searchsorted(words.starts, starts[sentences])  # a word across one is of the former
    for first, last in parts:
        a = int(np.searchsorted(words.starts, starts[first]))
        b = int(np.searchsorted(words.ends, ends[last - 1], side="right"))
        for window in cut_windows(words.sizes[a:b], breaks - a, limits):
            yield Window(*(at + a for at in window))


def own_entities(found: Iterable[Found], words: Words, window: Window) -> Iterator[Found]:
    """Those that begin with one of the window's own words, by characters of the document."""
    offset = int(words.starts[window.start])
    low = words.starts[window.first] - offset
    high = words.ends[window.last - 1] - offset
    for one in found:
        if low <= one.start < high:
            yield one._replace(start=one.start + offset, end=one.end + offset)


def on_doc(doc: Doc, found: list[Found]) -> list[ScoredSpan]:
    """Entities on the tokens of a document: those that overlap nothing it comes with, no blocked token
    and no other of a higher score, and that no sentence boundary cuts.
    """
    if not found:
        return []
    first, last = np.asarray([one[:2] for one in found]).T
    starts, ends = on_tokens(first, last, token_bounds(doc))
    iob = doc.to_array("ENT_IOB")
    taken = np.concatenate([[0], np.cumsum((iob == 1) | (iob == 3))])
    lengths = sentence_lengths(doc)
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    kept = (taken[starts] == taken[ends]) & (sentence[starts] == sentence[ends - 1])
    spans = [
        ScoredSpan(start, end, one.label, one.score, ())
        for one, start, end, is_kept in zip(found, starts.tolist(), ends.tolist(), kept, strict=True)
        if is_kept
    ]
    return merge_spans(spans)
