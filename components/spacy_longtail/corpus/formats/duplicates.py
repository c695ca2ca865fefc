"""Texts given several times with different annotation, by annotators or in passes."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc

from ...errors import Errors
from .context import TOLERABLE, Context, Events
from .spans import Text
from .text import Place

Duplicates = Literal["merge", "keep", "first", "refuse"]
Spans = frozenset[tuple[str, str, str]]  # start, end and type of each span of a text
Read = Callable[[Context], Iterator[Doc | Text]]
WIDTH = 60  # characters of a text that a message shows


def single_copies(
    source: Path, read: Read, context: Context, duplicates: Duplicates
) -> Iterator[Doc | Text]:
    """Yield the texts of a part; `duplicates` decides on those with several annotations.

    "merge" unites annotations of different types, as a pass for each type leaves them. If
    annotations contradict each other, it refuses the source; at most a twentieth of the texts may
    do so, and keep all their copies. "keep" yields all copies, "first" the first one, and "refuse"
    refuses the source. Copies with equal annotation are kept, and so are sentences of given tokens,
    which recur in any corpus.

    source (Path): The file or folder, which errors name.
    read (Callable): Reads the part, each time from its start.
    context (Context): Its events count copies that are merged, skipped, or kept in contradiction.
    RAISES (ValueError): L830.
    """
    quiet = context._replace(events=Events(), texts_only=True)
    texts = [] if duplicates == "keep" else (x for x in read(quiet) if isinstance(x, Text))
    n_texts, keys = _differing(texts)
    copies: dict[str, list[Text]] = {}
    for item in read(quiet) if keys else ():
        if isinstance(item, Text) and hash(item.text) in keys:
            copies.setdefault(item.text, []).append(item)
    contradicting = {text for text, items in copies.items() if not _can_merge(map(_spans_of, items))}
    refused: Collection[str] = ()
    if duplicates == "refuse":
        refused = copies
    elif duplicates == "merge" and len(contradicting) > TOLERABLE * n_texts:
        refused = contradicting
    if refused:
        how = "different" if duplicates == "refuse" else "contradicting"
        raise _refusal(source, [copies[text] for text in refused], n_texts, how)
    seen: set[str] = set()
    for item in read(context):
        if not isinstance(item, Text) or item.text not in copies:
            yield item
            continue
        is_kept = duplicates == "merge" and item.text in contradicting
        kind = "contradicting" if is_kept else "merged" if duplicates == "merge" else "further copies"
        if is_kept or item.text in seen:
            context.events.add(kind, "texts", item.place, repr(item.text[:WIDTH]))
        if is_kept:
            yield item
        elif item.text not in seen:
            yield _merged(copies[item.text]) if duplicates == "merge" else item
        seen.add(item.text)


def _differing(texts: Iterable[Text]) -> tuple[int, set[int]]:
    """Return the number of different texts, and hashes of those with different annotation.

    Only hashes of texts and annotations are in memory.
    """
    first: dict[int, int] = {}
    differing: set[int] = set()
    for text in texts:
        key, spans = hash(text.text), hash(_spans_of(text))
        if first.setdefault(key, spans) != spans:
            differing.add(key)
    return len(first), differing


def _spans_of(text: Text) -> Spans:
    return frozenset((repr(s.start), repr(s.end), repr(s.label)) for s in text.spans)


def _can_merge(versions: Iterator[Spans]) -> bool:
    """Return whether annotations of a text have different types, and no span has two of them."""
    different = set(versions)
    types = Counter(label for spans in different for label in {label for *_, label in spans})
    bounds = Counter(place for spans in different for place in {(a, b) for a, b, _ in spans})
    return max([*types.values(), *bounds.values()], default=0) < 2


def _merged(copies: list[Text]) -> Text:
    """Return the first copy of a text with the spans of all."""
    spans = {(repr(s.start), repr(s.end), repr(s.label)): s for copy in copies for s in copy.spans}
    unclear = [span for copy in copies for span in copy.unclear]
    return copies[0]._replace(spans=list(spans.values()), unclear=unclear)


def _refusal(source: Path, groups: list[list[Text]], n_texts: int, how: str) -> ValueError:
    """Return the error (L830) for texts with several annotations, with an example.

    groups (List[List[Text]]): Copies of each text.
    how (str): How the annotations differ.
    """
    first = groups[0][0]
    other = next(text for text in groups[0] if _spans_of(text) != _spans_of(first))
    example = f"{first.text[:WIDTH]!r} ({_shown(first)}; {_shown(other)})"
    counts = {"source": source, "n": len(groups), "total": n_texts}
    return ValueError(Errors.L830.format(**counts, how=how, example=example))


def _shown(text: Text) -> str:
    """Return the place of a copy and its entities."""
    place: Place = text.place
    ents = ", ".join(f"{text.text[s.start : s.end]!r} {s.label}" for s in text.spans[:5])
    return f"{place.path.name}:{place.within} {ents or 'no entity'}"
