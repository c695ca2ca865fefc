"""Precision and recall of each type, before and after, over lines of equal F1."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..comparison import TypeRow
from .drawing import BASELINE, FAINT, INK, OURS, PAPER, RARE, WIDTH, Look, svg

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

NAMED = 20  # types: the names of more would cover each other
Box = tuple[float, float, float, float]  # left, bottom, right, top, in points
Point = tuple[float, float]
Move = tuple[TypeRow, Point, Point]


def pr_moves(rows: list[TypeRow], baseline: str, ours: str) -> str:
    """How each type moves in the plane of recall and precision, over lines of equal F1.

    rows (List[TypeRow]): Scores by type; one without mentions has no recall and is left out. Of many,
        the rare ones and then those that move most have names.
    baseline (str): Name of the baseline. ours (str): Name of ours.
    RETURNS (str): An svg element.
    SOURCE: Wang and Wang 2022, Figure 1.
    """

    def draw(fig: "Figure") -> None:
        from matplotlib.lines import Line2D

        axes = fig.add_subplot()
        moves = [(row, *_ends(row)) for row in rows if row.support]
        lowest = min([0.9, *(v for _, *ends in moves for end in ends for v in end)])
        low = max(math.floor(10 * lowest - 0.2) / 10, 0.0)
        axes.set(xlim=(low, 1.02), ylim=(low, 1.02))
        axes.set(xlabel="recall, points of 100", ylabel="precision, points of 100")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
        axes.set_aspect("equal")
        _iso_f1(axes, low)
        for row, start, end in moves:
            width = 2.0 if row.rare else 0.9
            axes.plot(*start, "o", ms=5, mfc=PAPER, mec=BASELINE, mew=1.4, clip_on=False)
            axes.plot(*end, "D" if row.rare else "o", ms=5, mfc=OURS, mec=OURS, clip_on=False)
            arrow: Look = {"arrowstyle": "-|>", "color": INK, "lw": width, "shrinkA": 3, "shrinkB": 4}
            arrow["alpha"] = 0.6
            if math.dist(start, end) > 1e-3:
                axes.annotate("", end, start, arrowprops=arrow)
        keys = [
            Line2D([], [], ls="", marker="o", ms=5, mfc=PAPER, mec=BASELINE, mew=1.4, label=baseline),
            Line2D([], [], ls="", color=OURS, marker="o", ms=5, label=ours),
            Line2D([], [], ls="", color=OURS, marker="D", ms=5, label=f"{ours}, rare type"),
        ]
        fig.legend(handles=keys, loc="outside upper center", ncols=3)
        _place_labels(fig, axes, moves)

    return svg(draw, (WIDTH, WIDTH), "pr", f"Arrows: precision and recall by type, {baseline} to {ours}")


def _ends(row: TypeRow) -> tuple[Point, Point]:
    old = (row.r.baseline or 0.0, row.p.baseline or 0.0)
    return old, (row.r.ours or 0.0, row.p.ours or 0.0)


def _iso_f1(axes: "Axes", low: float) -> None:
    for tenths in range(1, 10):
        f = tenths / 10
        recall = np.linspace(f / 2 + 1e-3, 1.02, 200)
        precision = f * recall / (2 * recall - f)
        axes.plot(recall, precision, color=FAINT, lw=0.7, zorder=0)
        at = f * 1.02 / (2.04 - f)
        if at > low:  # else the line leaves at the bottom, where the axis has its own numbers
            note: Look = {
                "xytext": (3, 0),
                "textcoords": "offset points",
                "va": "center",
                "fontsize": 7.5,
            }
            axes.annotate(f"F1 {100 * f:.0f}", (1.02, at), annotation_clip=False, **note)


def _place_labels(fig: "Figure", axes: "Axes", moves: list[Move]) -> None:
    """Put names beside their arrow heads, where they cover least."""
    fig.draw_without_rendering()  # settles the layout that the points are measured in
    scale = axes.transData.transform
    frame = axes.get_window_extent()
    taken: list[Box] = []
    for _, start, end in moves:
        steps = np.linspace(scale(start), scale(end), 12)
        taken += [(x - 2, y - 2, x + 2, y + 2) for x, y in steps]
    for row, _, end in sorted(moves, key=_rank)[:NAMED]:
        x, y = scale(end)
        wide, high = (6.6 if row.rare else 5.6) * len(row.label), 9.0
        spots = []
        for radius in (7, 14, 22):
            for turn in range(8):
                dx, dy = np.cos(turn * np.pi / 4), np.sin(turn * np.pi / 4)
                left, bottom = x + dx * (radius + wide / 2) - wide / 2, y + dy * (radius + 4) - high / 2
                spots.append((left, bottom, left + wide, bottom + high))
        best = min(
            spots, key=lambda box: sum(_overlap(box, other) for other in taken) + _outside(box, frame)
        )
        taken.append(best)
        look: Look = {"color": RARE, "fontweight": "bold"} if row.rare else {"color": INK}
        axes.annotate(
            row.label,
            end,
            (best[0] - x, best[1] + 1.5 - y),
            textcoords="offset points",
            fontsize=8,
            **look,
        )


def _rank(move: Move) -> tuple[bool, float]:
    row, start, end = move
    return not row.rare, -math.dist(start, end)


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box: Box, frame: "Bbox") -> float:
    inside = frame.x0 <= box[0] and box[2] <= frame.x1 and frame.y0 <= box[1] and box[3] <= frame.y1
    return 0.0 if inside else 500.0
