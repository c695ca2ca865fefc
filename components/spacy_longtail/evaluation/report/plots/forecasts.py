"""A fitted learning curve: the runs, the line through them and beyond, and its band."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .drawing import FAINT, OURS, PAPER, RARE, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT = 3.4  # inches


def forecast_plot(
    runs: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float, float, float]],
    target: float,
    present: float,
    key: str,
    x_name: str,
) -> str:
    """F1 by the size of the data, measured and expected.

    runs (Sequence[Tuple[float, float]]): Size, above 0, and F1 of each run.
    line (Sequence[Tuple[float, float, float, float]]): Size, expected F1, and its interval.
    target (float): F1 that is asked for. present (float): The size that there is.
    key (str): Comes before ids. x_name (str): What sizes are of.
    RETURNS (str): An svg element.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        x, value, low, high = np.array(line).T
        axes.fill_between(x, 100 * low, 100 * high, color=OURS, alpha=0.15, lw=0, label="90 % interval")
        measured = x <= present
        axes.plot(x[measured], 100 * value[measured], color=OURS, lw=1.5, label="fitted")
        beyond = x >= x[measured][-1]
        axes.plot(x[beyond], 100 * value[beyond], color=OURS, lw=1.5, ls=(0, (4, 2)), label="expected")
        own = np.array(runs)
        look: Look = {"ls": "", "marker": "o", "ms": 3.5, "color": OURS, "markerfacecolor": PAPER}
        axes.plot(own[:, 0], 100 * own[:, 1], label="runs", **look)
        axes.axhline(100 * target, color=RARE, lw=1.0, ls=(0, (1, 1.5)), label=f"F1 {100 * target:g}")
        axes.axvline(present, color=FAINT, lw=0.8)
        axes.set(xlabel=x_name, ylabel="F1, points of 100", xscale="log")
        ticks = [float(f"{n:.2g}") for n in np.geomspace(x[0], x[-1], 6)]
        axes.set_xticks(ticks, [f"{n:,.0f}" for n in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 100)
        axes.grid(axis="y", lw=0.5)
        fig.legend(loc="outside upper center", ncols=5)

    title = f"Line: F1 on dev by {x_name}, fitted and expected, with a band of its 90 % interval"
    return svg(draw, (WIDTH, HEIGHT), "".join(c if c.isalnum() else "-" for c in key), title)
