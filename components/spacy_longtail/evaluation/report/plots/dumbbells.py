"""F1 by type with intervals: a dot for each model, joined by the way from one to the other."""

from typing import TYPE_CHECKING

from ..comparison import ScoreRow
from .drawing import BASELINE, INK, OURS, PAPER, RARE, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.34  # inches: eight types and the verdict fit on the first screen
OFFSET = 0.17  # of the two dots of a row: their intervals must not cover each other


def dumbbells(rows: list[ScoreRow], baseline: str | None, ours: str) -> str:
    """F1 by type on test, baseline hollow and ours filled, the types in the order given.

    rows (List[ScoreRow]): Scores by type.
    baseline (Optional[str]): Name of the baseline; null draws ours alone.
    ours (str): Name of ours.
    RETURNS (str): An svg element.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        for y, row in enumerate(rows):
            _draw_row(axes, y, row, baseline is not None)
        names = [f"{row.name} ({row.support})" + (" ◆" if row.rare else "") for row in rows]
        axes.set_yticks(range(len(rows)), names)
        for text, row in zip(axes.get_yticklabels(), rows, strict=True):
            text.set(fontweight="bold" if row.rare else "normal", color=RARE if row.rare else INK)
        axes.set(xlim=(-2, 102), ylim=(len(rows) - 0.5, -0.5), xlabel="F1 on test, points of 100")
        axes.set_xticks(range(0, 101, 20))
        axes.grid(axis="x", lw=0.5)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        if baseline is not None:
            look: Look = {"mfc": PAPER, "mec": BASELINE, "mew": 1.6}
            axes.plot([], [], "o-", ms=6, lw=1.1, color=BASELINE, label=baseline, **look)
        axes.plot([], [], "o-", ms=6, lw=1.1, color=OURS, label=ours)
        fig.legend(loc="outside upper center", ncols=2)

    title = f"F1 by type with 95 % intervals, {f'{baseline} and ' if baseline else ''}{ours}"
    return svg(draw, (WIDTH, 0.95 + ROW * len(rows)), "f1", title)


def _draw_row(axes: "Axes", y: int, row: ScoreRow, is_pair: bool) -> None:
    ends = []
    sides = [(row.ours, row.interval, OURS, OFFSET if is_pair else 0.0)]
    if is_pair:
        sides.append((row.baseline, row.baseline_interval, BASELINE, -OFFSET))
    for value, interval, colour, offset in sides:
        x = 100 * (value or 0.0)
        ends.append((x, y + offset))
        if interval is not None:
            axes.plot([100 * end for end in interval], [y + offset] * 2, color=colour, lw=1.1)
    if is_pair:
        axes.plot(*zip(*ends, strict=True), color=INK, lw=0.8, ls=(0, (2, 2)), zorder=2.5)
        axes.plot(*ends[1], "o", ms=6, mfc=PAPER, mec=BASELINE, mew=1.6, zorder=3)
    axes.plot(*ends[0], "D" if row.rare else "o", ms=6, mfc=OURS, mec=OURS, zorder=3)
    if not row.support:
        axes.annotate("no test mention", (50, y), color=INK, ha="center", va="center", fontsize=8)
