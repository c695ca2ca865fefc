"""Tables of text for the terminal."""

from collections.abc import Sequence
from typing import Literal, cast

from wasabi import table


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> str:
    """Return a table with a line below its head.

    head (Sequence[str]): Headings of the columns.
    rows (Sequence[Sequence[object]]): Cells of each row.
    aligns (str): "l" or "r" for each column. By default the first column is aligned left and all
        others right.
    RETURNS (str): The table.
    """
    widest = max(len(str(cell)) for row in (head, *rows) for cell in row)  # wasabi cuts cells at 30
    sides = cast(tuple[Literal["l", "r"], ...], tuple(aligns or "l" + "r" * (len(head) - 1)))
    return table(rows, header=head, divider=True, max_col=widest, aligns=sides)
