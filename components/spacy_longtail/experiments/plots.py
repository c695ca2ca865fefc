"""The report's plots as inline SVG that follows the page's colours."""

import io
import math
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors
from .comparison import TypeRow

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours nobody would draw with: the SVG gets the page's own in their place, light or dark.
INK, FAINT, BASELINE, OURS, RARE, PAPER = (f"#0102{i:02x}" for i in range(3, 9))
PAGE_COLOURS = {
    INK: "currentColor",
    FAINT: "var(--line)",
    BASELINE: "var(--baseline)",
    OURS: "var(--ours)",
    RARE: "var(--rare)",
    PAPER: "var(--paper)",
}
WIDTH = 5.6  # inches: with 9 point text still readable on a phone
STYLE = {
    "font.size": 9,
    "svg.fonttype": "none",  # text stays text: found, read aloud, in the page's font
    "svg.hashsalt": "spacy-longtail",  # the same report twice is the same file
    "text.parse_math": False,  # a type may be called $MONEY$
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}
Box = tuple[float, float, float, float]  # left, bottom, right, top, in points


def f1_bars(rows: list[TypeRow], baseline: str, ours: str) -> str:
    """F1 by type, two bars each, the type with the most mentions on top.

    rows (List[TypeRow]): Scores by type, in the order to draw.
    baseline (str): Name of the baseline. ours (str): Name of ours.
    RETURNS (str): An svg element.
    RAISES (ValueError): L406.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        names = [f"{row.label} ({row.support})" + (" ◆" if row.rare else "") for row in rows]
        series = [
            (baseline, [r.f.baseline or 0.0 for r in rows]),
            (ours, [r.f.ours or 0.0 for r in rows]),
        ]
        _paired_bars(axes, names, [(n, [100 * v for v in values]) for n, values in series], "{:.1f}")
        axes.set_xlim(0, 108)  # room for the number behind a full bar
        axes.set_xticks(range(0, 101, 20))
        axes.set_xlabel("F1 on test, points of 100")
        for text, row in zip(axes.get_yticklabels(), rows, strict=True):
            if row.rare:
                text.set_fontweight("bold")

    return _svg(draw, (WIDTH, 1.1 + 0.42 * len(rows)), "f1", f"Bars: F1 by type, {baseline} and {ours}")


def size_factors(policies: dict[str, Any]) -> str:
    """How many times larger each policy makes the training part.

    policies (Dict[str, Any]): Name to factors, as the statistics hold them.
    RETURNS (str): An svg element.
    RAISES (ValueError): L406.
    """

    def draw(fig: "Figure") -> None:
        axes = fig.add_subplot()
        series = [(key, [p[key] for p in policies.values()]) for key in ("sentences", "tokens")]
        _paired_bars(axes, list(policies), series, "{:.2f}")
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.set_xlim(0, 1.12 * max([1.0, *series[0][1], *series[1][1]]))
        axes.set_xlabel("size after / before (dashed: unchanged)")

    size = (WIDTH, 1.1 + 0.42 * max(len(policies), 1))
    return _svg(draw, size, "size", "Bars: size factors of the resampling policies")


def pr_arrows(rows: list[TypeRow], baseline: str, ours: str) -> str:
    """How each type moves in the plane of recall and precision, over lines of equal F1.

    rows (List[TypeRow]): Scores by type; one without mentions has no recall and is left out.
    baseline (str): Name of the baseline. ours (str): Name of ours.
    RETURNS (str): An svg element.
    RAISES (ValueError): L406.
    SOURCE: Wang and Wang 2022, Figure 1.
    """

    def draw(fig: "Figure") -> None:
        from matplotlib.lines import Line2D

        axes = fig.add_subplot()
        moves = [(row, *_ends(row)) for row in rows if row.support]
        lowest = min([0.9, *(v for _, *ends in moves for end in ends for v in end)])
        low = max(math.floor(10 * lowest - 0.2) / 10, 0.0)
        axes.set(xlim=(low, 1.02), ylim=(low, 1.02), xlabel="recall", ylabel="precision")
        axes.set_aspect("equal")
        _iso_f1(axes, low)
        for row, start, end in moves:
            colour, width = (RARE, 2.2) if row.rare else (OURS, 1.1)
            axes.plot(*start, "o", ms=5, mfc=PAPER, mec=colour, mew=width * 0.7, clip_on=False)
            axes.plot(*end, "D" if row.rare else "o", ms=4, mfc=colour, mec=colour, clip_on=False)
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 2.5, "shrinkB": 1}
            if math.dist(start, end) > 1e-3:
                axes.annotate("", end, start, arrowprops=arrow)
        keys = [
            Line2D([], [], ls="", marker="o", mfc=PAPER, mec=INK, label=baseline),
            Line2D([], [], color=OURS, marker="o", ms=4, label=ours),
            Line2D([], [], color=RARE, lw=2.2, marker="D", ms=4, label=f"{ours}, rare type ◆"),
        ]
        fig.legend(handles=keys, loc="outside upper center", ncols=3)
        _place_labels(fig, axes, moves)

    return _svg(
        draw, (WIDTH, WIDTH), "pr", f"Arrows: precision and recall by type, {baseline} to {ours}"
    )


Point = tuple[float, float]


def _ends(row: TypeRow) -> tuple[Point, Point]:
    old = (row.r.baseline or 0.0, row.p.baseline or 0.0)
    return old, (row.r.ours or 0.0, row.p.ours or 0.0)


def _paired_bars(
    axes: "Axes", names: list[str], series: list[tuple[str, list[float]]], form: str
) -> None:
    places = np.arange(len(names))
    # hatched and solid: told apart without colour too
    looks: list[dict[str, Any]] = [
        {"facecolor": "none", "edgecolor": BASELINE, "hatch": "////"},
        {"color": OURS},
    ]
    for i, ((label, values), look) in enumerate(zip(series, looks, strict=True)):
        bars = axes.barh(places + 0.38 * i - 0.19, values, 0.32, label=label, **look)
        axes.bar_label(bars, [form.format(v) for v in values], padding=3, fontsize=7.5)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.figure.legend(loc="outside upper center", ncols=2)


def _iso_f1(axes: "Axes", low: float) -> None:
    for tenths in range(1, 10):
        f = tenths / 10
        recall = np.linspace(f / 2 + 1e-3, 1.02, 200)
        precision = f * recall / (2 * recall - f)
        axes.plot(recall, precision, color=FAINT, lw=0.7, zorder=0)
        at = f * 1.02 / (2.04 - f)
        if at > low:  # else the line leaves at the bottom, where the axis has its own numbers
            note: dict[str, Any] = {
                "xytext": (3, 0),
                "textcoords": "offset points",
                "va": "center",
                "fontsize": 7.5,
            }
            axes.annotate(f"F1 {100 * f:.0f}", (1.02, at), annotation_clip=False, **note)


def _place_labels(fig: "Figure", axes: "Axes", moves: list[tuple[TypeRow, Point, Point]]) -> None:
    """Put each name beside its arrow head, where it covers least."""
    fig.draw_without_rendering()  # settles the layout that the points are measured in
    scale = axes.transData.transform
    frame = axes.get_window_extent()
    taken: list[Box] = []
    for _, start, end in moves:
        steps = np.linspace(scale(start), scale(end), 12)
        taken += [(x - 2, y - 2, x + 2, y + 2) for x, y in steps]
    for row, _, end in sorted(moves, key=lambda move: not move[0].rare):
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
        look: dict[str, Any] = {"color": RARE, "fontweight": "bold"} if row.rare else {"color": INK}
        axes.annotate(
            row.label,
            end,
            (best[0] - x, best[1] + 1.5 - y),
            textcoords="offset points",
            fontsize=8,
            **look,
        )


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box: Box, frame: Any) -> float:
    inside = frame.x0 <= box[0] and box[2] <= frame.x1 and frame.y0 <= box[1] and box[3] <= frame.y1
    return 0.0 if inside else 500.0


def _svg(draw: Any, size: tuple[float, float], key: str, title: str) -> str:
    """Draw outside of pyplot, which keeps global state, and hand the colours over to the page."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="matplotlib", extra="report")) from error
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # its own font may lack a type's letters; the page's font draws them
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        fig = Figure(figsize=size, dpi=72, layout="constrained")
        fig.patch.set_visible(False)
        draw(fig)
        for axes in fig.axes:
            axes.patch.set_visible(False)
        fig.savefig(buffer, format="svg")
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)  # HTML knows them
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", svg)  # ids are the page's, not the plot's
    for drawn, shown in PAGE_COLOURS.items():
        svg = svg.replace(drawn, shown)
    svg = re.sub(
        r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 role="img" aria-label="@@">', svg, count=1
    )
    return svg.replace("@@", _escaped(title), 1)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
