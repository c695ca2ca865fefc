"""F1 of each method on each type, as numbers on shades."""

from typing import TYPE_CHECKING, NamedTuple

from .drawing import BASELINE, FAINT, INK, OURS, RARE, SHADE, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = (0.52, 0.3)  # inches
LETTER = 0.075  # inches
DARKEST = 0.5  # opacity of F1 100: the number stays readable in light and dark
GAP = 0.25  # cells before the mean
NOTES = {"baseline": "baseline", "ours": "best on dev"}  # by role


class HeatRow(NamedTuple):
    name: str
    values: list[float | None]  # by type, in [0, 1]
    mean: float | None  # of the types: macro F1
    role: str = ""  # baseline, ours or neither


class Heat(NamedTuple):
    """F1 by method and type."""

    labels: list[str]  # with the most test mentions first
    support: list[int]
    rare: list[bool]
    rows: list[HeatRow]


def heatmap(heat: Heat, key: str) -> str:
    """Methods down, types across, and their mean; the baseline, ours and rare types are marked.

    heat (Heat): What is shown. key (str): Comes before ids.
    RETURNS (str): An svg element.
    """
    n_types, n_rows = len(heat.labels), len(heat.rows)
    names = [_name(row) for row in heat.rows]
    heads = [
        f"{label} ({n}){' rare' if rare else ''}"  # a turned ◆ is a square
        for label, n, rare in zip(heat.labels, heat.support, heat.rare, strict=True)
    ]

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        for y, row in enumerate(heat.rows):
            for x, value in enumerate(row.values):
                _cell(axes, x, y, value)
            _cell(axes, n_types + GAP, y, row.mean)
        axes.set(xlim=(0, n_types + GAP + 1), ylim=(n_rows, 0))
        places = [x + 0.5 for x in (*range(n_types), n_types + GAP)]
        axes.set_xticks(places, [*heads, "mean (macro F1)"], rotation=45, ha="left")
        axes.set_yticks([y + 0.5 for y in range(n_rows)], names)
        axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        for text, is_rare in zip(axes.get_xticklabels(), heat.rare, strict=False):
            text.set(rotation_mode="anchor", **(_look(RARE) if is_rare else {}))
        colours = {"baseline": BASELINE, "ours": OURS}
        for y, row in enumerate(heat.rows):
            if row.role:
                axes.get_yticklabels()[y].set(**_look(colours[row.role]))
                _frame(axes, y, n_types, colours[row.role])
        for side in axes.spines.values():
            side.set_visible(False)

    wide = LETTER * max(map(len, names), default=0) + CELL[0] * (n_types + GAP + 1) + 0.9
    high = 0.055 * max(map(len, (*heads, "mean (macro F1)"))) + CELL[1] * n_rows + 0.4
    title = "Shades: F1 on test by method and type, points of 100; the table below has the numbers"
    return svg(draw, (max(wide, 4.0), high), key, title)


def _name(row: HeatRow) -> str:
    note = NOTES.get(row.role, "")
    return row.name if note in ("", row.name) else f"{row.name} ({note})"


def _look(colour: str) -> Look:
    return {"color": colour, "fontweight": "bold"}


def _cell(axes: "Axes", x: float, y: int, value: float | None) -> None:
    from matplotlib.patches import Rectangle

    look: Look = {"ec": FAINT, "lw": 0.5}
    if value is not None:
        axes.add_patch(Rectangle((x, y), 1, 1, fc=SHADE, alpha=DARKEST * value, lw=0))
    axes.add_patch(Rectangle((x, y), 1, 1, fc="none", **look))
    text = "–" if value is None else f"{100 * value:.0f}"
    axes.text(x + 0.5, y + 0.53, text, ha="center", va="center", fontsize=8.5, color=INK)


def _frame(axes: "Axes", y: int, n_types: int, colour: str) -> None:
    from matplotlib.patches import Rectangle

    for x, wide in ((0.0, float(n_types)), (n_types + GAP, 1.0)):
        box = Rectangle((x, y), wide, 1, fc="none", ec=colour, lw=2, zorder=3, clip_on=False)
        axes.add_patch(box)
