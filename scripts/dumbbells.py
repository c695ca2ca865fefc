"""Dumbbells: two scores of each row on one line, as an SVG that follows the reader's colour scheme."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, ROW, TOP, BOTTOM = 640, 21, 78, 44  # pixels
LEFT, RIGHT = 226, 606  # F1 of 0 and 80
MOST = 80
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
.page { fill: #ffffff; } .quiet { fill: #57606a; } .grid { stroke: #d8dee4; } .head { font-weight: 600; }
.stock { fill: #ffffff; stroke: #6e7781; stroke-width: 2; } .ours { fill: #0b6bcb; }
.change { stroke: #0b6bcb; stroke-width: 2; opacity: 0.45; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .quiet { fill: #9198a1; } .grid { stroke: #30363d; }
  .stock { fill: #0d1117; stroke: #9198a1; } .ours { fill: #58a6ff; } .change { stroke: #58a6ff; }
}
"""


class Row(NamedTuple):
    name: str
    number: int  # that stands beside it
    stock: float  # in points of 100
    ours: float


def draw(rows: Sequence[Row], title: str, ours: str, said: str, axis: str) -> str:
    """The picture.

    rows (Sequence[Row]): From above. title (str): What the rows are.
    ours (str): What is compared with stock spaCy.
    said (str): The picture in words. axis (str): What the points are of.
    """
    height = TOP + ROW * len(rows) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="said">',
        f'<title id="said">{escape(said)}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text class="head" x="16" y="28">{escape(title)}</text>',
        *_key(ours),
    ]
    for points in range(0, MOST + 1, 20):
        x = _x(points)
        lines.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{height - BOTTOM + 4}"/>'
        )
        lines.append(_label(x, height - 22, str(points)))
    lines.append(_label(_x(MOST / 2), height - 6, escape(axis)))
    for i, row in enumerate(rows):
        lines += _row(row, TOP + ROW * i)
    return "\n".join([*lines, "</svg>", ""])


def _x(points: float) -> str:
    return f"{LEFT + (RIGHT - LEFT) * points / MOST:.1f}"


def _label(x: str, y: int, text: str) -> str:
    return f'<text class="quiet" x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _key(ours: str) -> list[str]:
    return [
        '<circle class="stock" cx="22" cy="47" r="5"/><text x="34" y="51">stock spaCy ner</text>',
        f'<circle class="ours" cx="160" cy="47" r="5.5"/><text x="172" y="51">{escape(ours)}</text>',
    ]


def _row(row: Row, y: int) -> Iterator[str]:
    stock, ours = _x(row.stock), _x(row.ours)
    yield f'<text x="{LEFT - 44}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>'
    yield f'<text class="quiet" x="{LEFT - 16}" y="{y + 4}" text-anchor="end">{row.number}</text>'
    yield f'<line class="change" x1="{stock}" x2="{ours}" y1="{y}" y2="{y}"/>'
    yield f'<circle class="stock" cx="{stock}" cy="{y}" r="5"/>'
    yield f'<circle class="ours" cx="{ours}" cy="{y}" r="5.5"/>'
