"""How many times larger each resampling policy makes the training part."""

from typing import TYPE_CHECKING

import numpy as np

from ....corpus.statistics.records import SizeFactors
from .drawing import INK, SERIES, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def size_factors(policies: dict[str, SizeFactors]) -> str:
    """How many times larger each policy makes the training part.

    policies (Dict[str, SizeFactors]): By name, as the statistics hold them.
    RETURNS (str): An svg element.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        factors = policies.values()
        series = [("sentences", [f.sentences for f in factors]), ("tokens", [f.tokens for f in factors])]
        _paired_bars(axes, list(policies), series, "{:.2f}")
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.set_xlim(0, 1.12 * max([1.0, *series[0][1], *series[1][1]]))
        axes.set_xlabel("size after / before (dashed: unchanged)")

    size = (WIDTH, 1.1 + 0.42 * max(len(policies), 1))
    return svg(draw, size, "size", "Bars: size factors of the resampling policies")


def _paired_bars(
    axes: "Axes", names: list[str], series: list[tuple[str, list[float]]], form: str
) -> None:
    places = np.arange(len(names))
    # hatched and solid: told apart without colour too
    looks: list[Look] = [
        {"facecolor": "none", "edgecolor": INK, "hatch": "////"},
        {"color": SERIES[1]},
    ]
    for i, ((label, values), look) in enumerate(zip(series, looks, strict=True)):
        bars = axes.barh(places + 0.38 * i - 0.19, values, 0.32, label=label, **look)
        axes.bar_label(bars, [form.format(v) for v in values], padding=3, fontsize=7.5)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.figure.legend(loc="outside upper center", ncols=2)
