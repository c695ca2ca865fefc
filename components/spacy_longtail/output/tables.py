"""Tables of text, for a terminal."""

from collections.abc import Sequence
from typing import Literal, cast

from wasabi import table


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> str:
    """A table with a line below its head.

    head (Sequence[str]): The names of its columns. rows (Sequence[Sequence[object]]): Their values.
    aligns (str): l or r for each column; else all but the first are numbers.
    """
    widest = max(len(str(cell)) for row in (head, *rows) for cell in row)  # else 30 are kept apart
    sides = cast(tuple[Literal["l", "r"], ...], tuple(aligns or "l" + "r" * (len(head) - 1)))
    return table(rows, header=head, divider=True, max_col=widest, aligns=sides)
