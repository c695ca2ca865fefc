"""Draw the rare types of five corpora: docs/rare_types.svg, a strip for each of three systems, and
docs/each_rare_type.svg, a line for each type."""

from statistics import mean
from typing import NamedTuple

from dumbbells import Row, draw
from pages.figures import RareType, rare_types
from svg import label, picture

LEFT, RIGHT = 24, 616  # F1 of 0 and 100
TOP, STRIP, BOTTOM = 62, 74, 46  # pixels
NEAR = 9  # two points nearer than this share no line


class System(NamedTuple):
    key: str  # of `RareType.f`
    style: str
    name: str


SYSTEMS = (
    System("stock", "dot", "stock spaCy ner"),
    System("plain", "dot", "the transformer all-MiniLM-L6-v2, fine-tuned with a plain head"),
    System("ours", "ours", "spacy-longtail: the same transformer, pretrained on 71 corpora"),
)


def summary() -> str:
    """What the strips say, in words."""
    types = rare_types()
    means = ", ".join(f"{s.name} {mean(t.f[s.key] for t in types):.1f}" for s in SYSTEMS)
    return f"Mean F1 of {len(types)} rare types on test: {means}."


def render() -> str:
    """The strips, as SVG."""
    types = rare_types()
    lines = []
    height = TOP + STRIP * len(SYSTEMS) + BOTTOM
    for points in range(0, 101, 20):
        x = f"{_x(points):.1f}"
        lines.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{height - BOTTOM + 4}"/>')
        lines.append(label(_x(points), height - 24, str(points)))
    lines.append(label(_x(50), height - 8, "F1 on test; one dot is one type, the bar is the mean"))
    for i, system in enumerate(SYSTEMS):
        lines += _strip(system, types, TOP + STRIP * i)
    title = f"{len(types)} types with 2 to {max(t.mentions for t in types)} mentions in training"
    return picture(height, title, summary(), lines)


def _strip(system: System, types: list[RareType], top: int) -> list[str]:
    scores = sorted(t.f[system.key] for t in types)
    average = mean(scores)
    x = f"{_x(average):.1f}"
    lines = [
        f'<rect class="page" x="{LEFT - 4}" y="{top + 2}" width="440" height="18"/>',
        f'<text x="{LEFT}" y="{top + 16}">{system.name}</text>',
        f'<line class="change" x1="{x}" x2="{x}" y1="{top + 24}" y2="{top + 62}"/>',
    ]
    rows: list[float] = []  # the last point of each row of dots
    for score in scores:
        row = next((i for i, last in enumerate(rows) if _x(score) - last >= NEAR), len(rows))
        rows[row : row + 1] = [_x(score)]
        y = top + 43 + 8 * ((row + 1) // 2) * (-1) ** row
        lines.append(f'<circle class="{system.style}" cx="{_x(score):.1f}" cy="{y}" r="3.6"/>')
    lines.append(
        f'<text class="head" x="{RIGHT}" y="{top + 16}" text-anchor="end">mean {average:.1f}</text>'
    )
    return lines


def _x(points: float) -> float:
    return LEFT + (RIGHT - LEFT) * points / 100


def render_each() -> str:
    """The lines of single types, as SVG."""
    rows = [
        Row(f"{t.name}, {_domain(t)}", t.mentions, t.f["stock"], t.f["cnn"], t.f["ours"])
        for t in rare_types()
    ]
    text = (
        f"F1 of {len(rows)} rare types on test. Means: stock spaCy {mean(r.stock for r in rows):.1f}, "
        f"pretrained CNN {mean(r.ours for r in rows):.1f}, "
        f"six layers of a transformer {mean(r.other or 0.0 for r in rows):.1f}."
    )
    title = "Rare types, and their mentions in training"
    return draw(rows, title, "pretrained CNN", text, "F1 on test", "six layers of a transformer")


def _domain(t: RareType) -> str:
    return t.corpus.removeprefix("crossner_").replace("ai", "AI")
