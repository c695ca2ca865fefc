"""What a search tried, by the value of one parameter."""

from typing import TYPE_CHECKING, NamedTuple

from .drawing import BASELINE, INK, OURS, PAPER, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

HEIGHT = 3.0  # inches


class Point(NamedTuple):
    x: float | str  # a word for a parameter of choices
    score: float  # in [0, 1]
    kind: str  # done, pruned, baseline or best


# told apart without colour too: hollow, square, diamond
LOOKS: dict[str, Look] = {
    "pruned": {"marker": "o", "color": INK, "markerfacecolor": PAPER, "label": "pruned (best so far)"},
    "done": {"marker": "o", "color": INK, "label": "trained to the end"},
    "baseline": {"marker": "s", "color": BASELINE, "label": "baseline"},
    "best": {"marker": "D", "color": OURS, "markersize": 8, "label": "best"},
}  # fmt: skip


def search_plot(name: str, points: list[Point], key: str, scale: str = "linear") -> str:
    """Macro F1 on dev by the value of a parameter, one point per trial.

    name (str): Of the parameter. points (List[Point]): At least one.
    key (str): Comes before ids. scale (str): Of x: "linear", "log" or "words".
    RETURNS (str): An svg element.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        words = list(dict.fromkeys(str(point.x) for point in points)) if scale == "words" else []
        for kind, look in LOOKS.items():
            own = [point for point in points if point.kind == kind]
            if own:
                x = [words.index(str(point.x)) if words else point.x for point in own]
                axes.plot(x, [100 * point.score for point in own], ls="", **{"markersize": 5, **look})
        if words:
            axes.set_xticks(range(len(words)), words)
        if scale == "log":  # plain numbers: mathematical text is off
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axes.minorticks_off()
        axes.set(xlabel=name, ylabel="macro F1 on dev, points of 100")
        axes.grid(axis="y", lw=0.5)
        fig.legend(loc="outside upper center", ncols=2)

    return svg(draw, (WIDTH, HEIGHT), key, f"Points: macro F1 on dev by {name}")
