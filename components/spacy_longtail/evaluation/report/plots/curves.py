"""Scores as lines by the size of the training data, with bands over partitions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .drawing import BASELINE, SERIES, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT, LEGEND_ROW = 3.4, 0.2  # inches
LONG = 18  # characters of a name: with longer ones a row of the legend has two
FEW = 5  # lines, whose bands can be told apart
# told apart in print and by colour-blind readers: a dash pattern and a marker each
BASELINE_LOOK: Look = {"color": BASELINE, "ls": (0, (4, 2)), "marker": "s"}
DASHES = ((0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)), "-")
MARKERS = "^vP<X>*"


def size_curves(
    points: Mapping[str, list[tuple[float, list[float]]]],
    key: str,
    x_name: str,
    score: str,
    baseline: str | None = None,
) -> str:
    """A score by the size of the training data.

    points (Mapping[str, List[Tuple[float, List[float]]]]): By method: x, and scores over
        partitions in [0, 1]. All are drawn.
    key (str): Comes before ids. x_name (str): What x is. score (str): Such as "macro F1 on test".
    baseline (Optional[str]): The method that is drawn in the baseline's colour.
    RETURNS (str): An svg element.
    """
    n_columns = 2 if max(map(len, points), default=0) > LONG else 3

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        for i, (name, own) in enumerate(points.items()):
            # no two alike: colours, dashes and markers go round in steps of 6, 5 and 7
            look: Look = {"color": SERIES[i % 6], "ls": DASHES[i % 5], "marker": MARKERS[i % 7]}
            look = BASELINE_LOOK if name == baseline else look
            x = [size for size, _ in own]
            mean = np.array([100 * np.mean(v) for _, v in own])
            spread = np.array([100 * np.std(v, ddof=1) if len(v) > 1 else 0.0 for _, v in own])
            axes.plot(x, mean, ms=3.5, lw=1.5, label=name, **look)
            if spread.any():
                band: Look = {
                    "color": look["color"],
                    "alpha": 0.15 if len(points) <= FEW else 0.06,
                    "lw": 0,
                }
                axes.fill_between(x, mean - spread, mean + spread, **band)
        ticks = sorted({x for own in points.values() for x, _ in own})
        axes.set(xlabel=x_name, ylabel="F1, points of 100", xscale="log")
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])  # the sizes, not powers of ten
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", lw=0.5)
        fig.legend(loc="outside upper center", ncols=min(len(points), n_columns))

    title = f"Lines: {score} by {x_name}, with bands of a standard deviation"
    height = HEIGHT + LEGEND_ROW * max(-(-len(points) // n_columns) - 2, 0)
    return svg(draw, (WIDTH, height), "".join(c if c.isalnum() else "-" for c in key), title)
