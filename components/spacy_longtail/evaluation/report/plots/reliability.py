"""Whether entity scores are probabilities: the share right against the score."""

from typing import TYPE_CHECKING

import numpy as np

from ....pipes.thresholds import reliability
from .drawing import BASELINE, INK, OURS, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT = 4.2  # inches


def reliability_plot(scored: dict[str, list[tuple[float, bool]]]) -> str:
    """Predicted entities in bins of their score: the mean score against the share that is right.

    scored (Dict[str, List[Tuple[float, bool]]]): By model, ours first: score in [0, 1], right or not.
    RETURNS (str): An svg element. RAISES (ValueError): L406.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        axes.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=(0, (3, 2)), label="a probability")
        looks: tuple[Look, ...] = (
            {"color": OURS, "marker": "o"},
            {"color": BASELINE, "marker": "s", "ls": "--"},
        )
        for (name, pairs), look in zip(scored.items(), looks, strict=False):
            scores, right = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
            sizes, x, y = zip(*reliability(scores, right).bins, strict=True)
            axes.plot(x, y, lw=1.1, ms=3, label=name, **look)
            area = [12 + 140 * n / max(sizes) for n in sizes]
            axes.scatter(x, y, area, color=look["color"], alpha=0.35, lw=0)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="entity score", ylabel="share right")
        axes.set_aspect("equal")
        fig.legend(loc="outside upper center", ncols=3)

    return svg(draw, (WIDTH, HEIGHT), "reliability", "Lines: share of right entities by entity score")
