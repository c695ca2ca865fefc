"""Scores as lines, along training or by the size of the training data, with bands over seeds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .drawing import BASELINE, OURS, SERIES, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT, LEGEND_ROW = 3.4, 0.2  # inches
LONG = 18  # characters of a name: with longer ones a row of the legend has two
# told apart in print and by colour-blind readers: a dash pattern and a marker each
ROLES: dict[str, Look] = {
    "ours": {"color": OURS, "ls": "-", "marker": "o"},
    "baseline": {"color": BASELINE, "ls": (0, (4, 2)), "marker": "s"},
}
DASHES = ((0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)), "-")
MARKERS = "^vP<X>*"
MOST = 5  # lines of learning curves


class Line(NamedTuple):
    """A named line: for each x the values over seeds, in [0, 1]."""

    name: str
    x: list[float]
    values: list[list[float]]
    role: str = ""  # of ROLES, or none


def learning_curves(lines: list[Line]) -> str:
    """Macro F1 on dev along training.

    lines (List[Line]): At most MOST, x is the step.
    RETURNS (str): An svg element.
    """
    return _lines(lines, "curve", "training steps", "Lines: macro F1 on dev along training")


def size_curves(
    points: Mapping[str, list[tuple[float, list[float]]]],
    key: str,
    x_name: str,
    score: str,
    roles: Mapping[str, str] | None = None,
) -> str:
    """A score by the size of the training data.

    points (Mapping[str, List[Tuple[float, List[float]]]]): By method: x, and scores over
        partitions in [0, 1]. All are drawn.
    key (str): Comes before ids. x_name (str): What x is. score (str): Such as "macro F1 on test".
    roles (Optional[Mapping[str, str]]): Of ROLES, by method; the others have colours of their own.
    RETURNS (str): An svg element.
    """
    lines = [
        Line(name, *map(list, zip(*own, strict=True)), (roles or {}).get(name, ""))
        for name, own in points.items()
    ]
    title = f"Lines: {score} by {x_name}, with bands of a standard deviation"
    return _lines(lines, "".join(c if c.isalnum() else "-" for c in key), x_name, title, is_log=True)


def _lines(lines: list[Line], key: str, x_name: str, title: str, is_log: bool = False) -> str:
    n_columns = 2 if max((len(line.name) for line in lines), default=0) > LONG else 3
    n_rows = -(-len(lines) // n_columns)

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        for i, line in enumerate(lines):
            # no two alike: colours, dashes and markers go round in steps of 6, 5 and 7
            look = {"color": SERIES[i % 6], "ls": DASHES[i % 5], "marker": MARKERS[i % 7]}
            look = ROLES.get(line.role, look)
            mean = np.array([100 * np.mean(v) for v in line.values])
            spread = np.array([100 * np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in line.values])
            axes.plot(line.x, mean, ms=3.5, lw=1.5, label=line.name, **look)
            if spread.any():
                band = {"color": look["color"], "alpha": 0.15 if len(lines) <= MOST else 0.06, "lw": 0}
                axes.fill_between(line.x, mean - spread, mean + spread, **band)
        axes.set(xlabel=x_name, ylabel="F1, points of 100")
        if is_log:  # the sizes themselves, not powers of ten
            ticks = sorted({x for line in lines for x in line.x})
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", lw=0.5)
        fig.legend(loc="outside upper center", ncols=min(len(lines), n_columns))

    return svg(draw, (WIDTH, HEIGHT + LEGEND_ROW * max(n_rows - 2, 0)), key, title)
