"""Whether entity scores are probabilities: the share right against the score."""

from typing import TYPE_CHECKING

import numpy as np

from ....pipes.thresholds import reliability
from .drawing import BASELINE, INK, OURS, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT = 4.2  # inches


def reliability_plot(scored: dict[str, list[tuple[float, bool]]], baseline: str | None = None) -> str:
    """Predicted entities in bins of their score: the mean score against the share that is right.

    scored (Dict[str, List[Tuple[float, bool]]]): By model: score in [0, 1], right or not.
    baseline (Optional[str]): Which of them is the baseline; the other is ours.
    RETURNS (str): An svg element.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        axes.plot([0, 100], [0, 100], color=INK, lw=0.8, ls=(0, (3, 2)), label="a probability")
        for name, pairs in scored.items():
            look: Look = {"color": OURS, "marker": "o"}
            if name == baseline:
                look = {"color": BASELINE, "marker": "s", "ls": "--"}
            scores, right = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
            sizes, x, y = zip(*reliability(scores, right).bins, strict=True)
            x, y = ([100 * value for value in values] for values in (x, y))
            axes.plot(x, y, lw=1.1, ms=3, label=name, **look)
            area = [12 + 140 * n / max(sizes) for n in sizes]
            axes.scatter(x, y, area, color=look["color"], alpha=0.35, lw=0)
        axes.set(xlim=(0, 102), ylim=(0, 102))
        axes.set(xlabel="entity score, points of 100", ylabel="right of 100")
        axes.set_aspect("equal")
        fig.legend(loc="outside upper center", ncols=3)

    return svg(draw, (WIDTH, HEIGHT), "reliability", "Lines: share of right entities by entity score")
