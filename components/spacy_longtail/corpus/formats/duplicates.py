"""Texts given several times with different annotation, by annotators or in passes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc

from ...errors import Errors
from .context import TOLERABLE, Context, Events
from .spans import Text

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
    if duplicates == "refuse" and copies:
        raise _refusal(source, [*copies.values()], n_texts, "different")
    contradicting: dict[str, list[Text]] = {}
    if duplicates == "merge":
        contradicting = {t: own for t, own in copies.items() if not _can_merge(map(_spans_of, own))}
    if len(contradicting) > TOLERABLE * n_texts:
        raise _refusal(source, [*contradicting.values()], n_texts, "contradicting")
    seen: set[str] = set()
    for item in read(context):
        if not isinstance(item, Text) or item.text not in copies:
            yield item
        elif item.text in contradicting:
            context.events.add("contradicting", "texts", item.place, repr(item.text[:WIDTH]))
            yield item
        elif item.text in seen:
            kind = "merged" if duplicates == "merge" else "further copies"
            context.events.add(kind, "texts", item.place, repr(item.text[:WIDTH]))
        else:
            seen.add(item.text)
            yield _merged(copies[item.text]) if duplicates == "merge" else item


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
    return ValueError(
        Errors.L830.format(source=source, n=len(groups), total=n_texts, how=how, example=example)
    )


def _shown(text: Text) -> str:
    """Return the place of a copy and its entities."""
    ents = ", ".join(f"{text.text[s.start : s.end]!r} {s.label}" for s in text.spans[:5])
    return f"{text.place.path.name}:{text.place.within} {ents or 'no entity'}"
