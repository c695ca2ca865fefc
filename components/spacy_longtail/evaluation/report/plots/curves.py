"""Scores as lines: along training, and along MoM's lambda, with bands over seeds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .drawing import BASELINE, INK, OTHER, OURS, RARE, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.4  # inches
# told apart in print and by colour-blind readers: a dash pattern and a marker each
LOOKS: list[Look] = [
    {"color": OURS, "ls": "-", "marker": "o"},
    {"color": BASELINE, "ls": (0, (4, 2)), "marker": "s"},
    {"color": OTHER, "ls": (0, (1, 1.5)), "marker": "^"},
    {"color": RARE, "ls": (0, (6, 2, 1, 2)), "marker": "D"},
    {"color": INK, "ls": (0, (3, 1, 1, 1, 1, 1)), "marker": "v"},
]
MOST = len(LOOKS)


class Line(NamedTuple):
    """A named line: for each x the values over seeds, in [0, 1]."""

    name: str
    x: list[float]
    values: list[list[float]]


def learning_curves(lines: list[Line]) -> str:
    """Macro F1 on dev along training.

    lines (List[Line]): At most MOST, x is the step.
    RETURNS (str): An svg element. RAISES (ValueError): L406.
    """
    return _lines(lines, "curve", "training steps", "Lines: macro F1 on dev along training")


def lambda_curves(lines: list[Line]) -> str:
    """Scores along MoM's lam, the share of the O tokens' loss that entity tokens get.

    lines (List[Line]): At most MOST, x is lam.
    RETURNS (str): An svg element. RAISES (ValueError): L406.
    """
    return _lines(lines, "lambda", "λ of MoM", "Lines: scores by MoM's lambda")


def size_curves(
    points: Mapping[str, list[tuple[float, list[float]]]], key: str, x_name: str, average: str
) -> str:
    """F1 on test by the size of the training data.

    points (Mapping[str, List[Tuple[float, List[float]]]]): By method: x, and scores over partitions in
        [0, 1]. Of more than MOST methods the first MOST are drawn.
    key (str): Comes before ids. x_name (str): What x is. average (str): Which F1.
    RETURNS (str): An svg element. RAISES (ValueError): L406.
    """
    lines = [
        Line(name, [x for x, _ in own], [values for _, values in own]) for name, own in points.items()
    ]
    title = f"Lines: {average} F1 on test by {x_name}, with bands of a standard deviation"
    safe = "".join(c if c.isalnum() else "-" for c in key)
    return _lines(lines[:MOST], safe, x_name, title, scale="log")


def _lines(lines: list[Line], key: str, x_name: str, title: str, scale: str = "linear") -> str:
    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        for line, look in zip(lines, LOOKS, strict=False):
            _draw_line(axes, line, look)
        axes.set(xlabel=x_name, ylabel="F1, points of 100", xscale=scale)
        if scale == "log":  # the sizes themselves, not powers of ten
            ticks = sorted({x for line in lines for x in line.x})
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", lw=0.5)
        fig.legend(loc="outside upper center", ncols=min(len(lines), 3))

    return svg(draw, (WIDTH, HEIGHT), key, title)


def _draw_line(axes: "Axes", line: Line, look: Look) -> None:
    x = np.array(line.x)
    mean = np.array([100 * np.mean(v) for v in line.values])
    spread = np.array([100 * np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in line.values])
    axes.plot(x, mean, ms=3.5, lw=1.5, label=line.name, **look)
    if spread.any():
        axes.fill_between(x, mean - spread, mean + spread, color=look["color"], alpha=0.15, lw=0)
