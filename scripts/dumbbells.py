"""Dumbbells: two scores of each row on one line."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from svg import label, picture

ROW, TOP, BOTTOM = 21, 78, 44  # pixels
LEFT, RIGHT = 226, 606  # F1 of 0 and 100
MOST = 100


class Row(NamedTuple):
    name: str
    number: str  # shown beside the name
    stock: float  # in points of 100
    ours: float
    other: float | None = None  # a third score


def draw(rows: Sequence[Row], title: str, ours: str, said: str, axis: str, other: str = "") -> str:
    """The picture.

    rows (Sequence[Row]): From above. title (str): What the rows are.
    ours (str): What is compared with stock spaCy.
    said (str): The picture in words. axis (str): What the points are of.
    other (str): What the third score is of, if there is one.
    """
    height = TOP + ROW * len(rows) + BOTTOM
    lines = _key(ours, other)
    for points in range(0, MOST + 1, 20):
        x = f"{_x(points):.1f}"
        lines.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{height - BOTTOM + 4}"/>'
        )
        lines.append(label(_x(points), height - 22, str(points)))
    lines.append(label(_x(MOST / 2), height - 6, axis))
    for i, row in enumerate(rows):
        lines += _row(row, TOP + ROW * i)
    return picture(height, title, said, lines)


def _x(points: float) -> float:
    return LEFT + (RIGHT - LEFT) * points / MOST


def _key(ours: str, other: str) -> list[str]:
    third = [
        f'<circle class="third" cx="300" cy="47" r="5"/><text x="312" y="51">{escape(other)}</text>'
    ]
    return [
        '<circle class="stock" cx="22" cy="47" r="5"/><text x="34" y="51">stock spaCy ner</text>',
        f'<circle class="ours" cx="160" cy="47" r="5.5"/><text x="172" y="51">{escape(ours)}</text>',
        *(third if other else ()),
    ]


def _row(row: Row, y: int) -> Iterator[str]:
    stock, ours = f"{_x(row.stock):.1f}", f"{_x(row.ours):.1f}"
    yield f'<text x="{LEFT - 44}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>'
    yield label(LEFT - 16, y + 4, row.number, "end")
    yield f'<line class="change" x1="{stock}" x2="{ours}" y1="{y}" y2="{y}"/>'
    yield f'<circle class="stock" cx="{stock}" cy="{y}" r="5"/>'
    yield f'<circle class="ours" cx="{ours}" cy="{y}" r="5.5"/>'
    if row.other is not None:
        yield f'<circle class="third" cx="{_x(row.other):.1f}" cy="{y}" r="5"/>'
