"""Tag schemes of column files, read as IOB2 with every illegal tag named."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .text import bad_line

OTHER = "If the file is in another scheme, name it with --scheme."


class _Letters(NamedTuple):
    last: str = ""  # prefix of an entity's last token, where the scheme marks it
    single: str = ""  # prefix of an entity of one token
    bare: bool = False  # whether I- may begin an entity

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(p for p in ("B", "I", self.last, self.single) if p)

    def legal(self, scheme: str) -> str:
        name = "IOB2" if scheme == "auto" else scheme.upper()
        return f"{name} tags are O, {', '.join(f'{p}-TYPE' for p in self.known)}. {OTHER}"

    def opening(self, label: str) -> str:
        if self.last:
            return f"An entity begins with B-{label} or {self.single}-{label}. {OTHER}"
        return f"An entity begins with B-{label} in IOB2. If this is the older IOB1, use --scheme iob1."

    def closing(self, label: str) -> str:
        return f"An entity ends with {self.last}-{label}. {OTHER}"


_SCHEMES = {
    "auto": _Letters(),  # until it is known
    "iob1": _Letters(bare=True),
    "iob2": _Letters(),
    "bioes": _Letters("E", "S"),
    "bilou": _Letters("L", "U"),
}
SCHEMES = tuple(_SCHEMES)


def find_scheme(tags: Iterable[str]) -> str:
    """The scheme of the first tags that hold an entity, "auto" before.

    A scheme that marks the last token shows with the first entity. IOB1 looks like IOB2 with errors
    in it, so it is never found.
    """
    prefixes = {tag.partition("-")[0] for tag in tags} - {"O"}
    if prefixes & {"E", "S"}:
        return "bioes"
    if prefixes & {"L", "U"}:
        return "bilou"
    return "iob2" if prefixes else "auto"


def to_iob2(
    tags: Sequence[str], scheme: str, path: Path, at: Sequence[int], record: int = 0
) -> list[str]:
    """The tags of a sentence as IOB2.

    tags (Sequence[str]): As they stand in the file. (n_tokens,)
    path (Path): The file. at (Sequence[int]): The line of each tag. (n_tokens,)
    record (int): Where a line holds more than one, the number of this one, from 1.
    """
    letters = _SCHEMES[scheme]

    def _bad(i: int, problem: str, fix: str) -> ValueError:
        return bad_line(path, at[i], problem, fix, record)

    found: list[str] = []
    running = ""  # type of the entity that the next tag may continue, or must if `letters.last`
    for i, tag in enumerate(tags):
        if tag == "O" and not (running and letters.last):
            found.append(tag)
            running = ""
            continue
        prefix, _, label = tag.partition("-")
        after = f"tag {tag!r} after {tags[i - 1] if i else 'O'!r}"
        inner = prefix in ("I", letters.last)
        if tag != "O" and (prefix not in letters.known or not label):
            raise _bad(i, f"unknown tag {tag!r}", letters.legal(scheme))
        if running and letters.last and not (inner and label == running):
            raise _bad(i, f"{after} leaves an entity open", letters.closing(running))
        if inner and label != running and not letters.bare:
            raise _bad(i, f"{after} opens no entity", letters.opening(label))
        found.append(f"{'I' if inner and label == running else 'B'}-{label}")
        running = label if prefix in ("B", "I") else ""
    if running and letters.last:
        raise _bad(-1, "the sentence leaves an entity open", letters.closing(running))
    return found
