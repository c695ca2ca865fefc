"""Draw the rare types of CrossNER: docs/rare_types.svg, bars for special and for general types, and
docs/each_rare_type.svg, a line for each type."""

from statistics import mean
from typing import NamedTuple

from dumbbells import Row, draw
from pages.figures import GENERAL, RareType, rare_types
from svg import picture

LEFT, RIGHT = 300, 580  # F1 of 0 and 70
MOST = 70
TOP, GROUP, BAR, GAP = 56, 40, 34, 26  # pixels


class System(NamedTuple):
    key: str  # of `RareType.f`
    style: str
    name: str


SYSTEMS = (
    System("stock", "dot", "stock spaCy"),
    System("plain", "dot", "plain transformer"),
    System("cnn", "ours", "ours, no torch"),
    System("ours", "ours", "ours, transformer"),
)


def groups() -> dict[str, list[RareType]]:
    """Return the rare types by group, the special ones first."""
    types = rare_types()
    special = [t for t in types if t.name not in GENERAL]
    general = [t for t in types if t.name in GENERAL]
    return {
        f"{len(special)} special types, such as enzyme or magazine": special,
        f"{len(general)} general types, such as person or event": general,
    }


def summary() -> str:
    """Return what the bars show, in words."""
    parts = []
    for name, types in groups().items():
        means = ", ".join(f"{s.name} {mean(t.f[s.key] for t in types):.0f}" for s in SYSTEMS)
        parts.append(f"{name}: {means}")
    return f"Mean F1 on the test parts of CrossNER. {'. '.join(parts)}."


def render() -> str:
    """Return the bars as SVG. Letters are large, so that a phone shows them."""
    lines, y = ["<style>text { font-size: 20px; }</style>"], TOP
    for name, types in groups().items():
        lines.append(f'<text class="quiet" x="16" y="{y + 22}">{name}</text>')
        y += GROUP
        for system in SYSTEMS:
            value = mean(t.f[system.key] for t in types)
            width = (RIGHT - LEFT) * value / MOST
            lines.append(f'<text x="{LEFT - 12}" y="{y + 22}" text-anchor="end">{system.name}</text>')
            place = f'x="{LEFT}" y="{y + 4}" width="{width:.1f}" height="24" rx="3"'
            lines.append(f'<rect class="{system.style}" {place}/>')
            lines.append(
                f'<text class="head" x="{LEFT + width + 10:.1f}" y="{y + 22}">{value:.0f}</text>'
            )
            y += BAR
        y += GAP
    return picture(y - GAP + 16, "F1 of rare types, CrossNER, 100 or 200 sentences", summary(), lines)


def render_each() -> str:
    """The lines of single types, as SVG."""
    rows = [
        Row(f"{t.name}, {_domain(t)}", str(t.mentions), t.f["stock"], t.f["cnn"], t.f["ours"])
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
