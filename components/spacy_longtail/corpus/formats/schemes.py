"""Tag schemes of column files, read as IOB2 with every illegal tag named."""

from collections.abc import Iterable, Sequence

ENDS = {  # the prefixes of an entity's last token, and of an entity of one token, if marked
    "iob1": ("", ""),
    "iob2": ("", ""),
    "bioes": ("E", "S"),
    "bilou": ("L", "U"),
}
SCHEMES = ("auto", *ENDS)


class IllegalTagError(Exception):
    """A tag that its scheme does not allow. i (int): Which one. problem (str): What is wrong."""

    def __init__(self, i: int, problem: str) -> None:
        super().__init__(problem)
        self.i = i


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


def to_iob2(tags: Sequence[str], scheme: str) -> list[str]:
    """The tags of a sentence as IOB2.

    tags (Sequence[str]): As they stand in the file. (n_tokens,)
    scheme (str): "auto" is IOB2, which a sentence without an entity is in any case.
    """
    last, single = ENDS["iob2" if scheme == "auto" else scheme]
    found: list[str] = []
    running = ""  # type of the entity that the next tag may continue, or must if `last`
    for i, tag in enumerate(tags):
        prefix, _, label = tag.partition("-")
        if tag != "O" and not (label and prefix and prefix in ("B", "I", last, single)):
            raise IllegalTagError(i, f"unknown tag {tag!r}")
        is_inner = prefix in ("I", last) and tag != "O"
        goes_on = is_inner and label == running
        after = f"tag {tag!r} after {tags[i - 1] if i else 'O'!r}"
        if last and running and not goes_on:
            raise IllegalTagError(i, f"{after} leaves an entity open")
        if is_inner and not goes_on and scheme != "iob1":
            raise IllegalTagError(i, f"{after} opens no entity")
        found.append("O" if tag == "O" else f"{'I' if goes_on else 'B'}-{label}")
        running = label if prefix in ("B", "I") else ""
    if last and running:
        raise IllegalTagError(len(tags) - 1, "the sentence leaves an entity open")
    return found
