"""Curves: panels side by side, with the same curves in each."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from svg import WIDTH, label, picture

HEIGHT, TOP, BOTTOM, LEFT, GAP, EDGE = 322, 104, 262, 48, 38, 16  # pixels
DASHES = ("", "", "6 4", "2 3")  # of the curves, one after the other; the first is ours
TICKS = (1, 2, 5, 10, 20)  # points of 100 between two lines
MOST_TICKS = 6
LOG_TICKS = (1, 2, 5, 10, 20, 50, 100)


class Point(NamedTuple):
    x: float
    y: float
    said: str = ""  # beside it


class Panel(NamedTuple):
    name: str
    curves: Sequence[Sequence[Point]]  # in the order of their names


def draw(
    panels: Sequence[Panel],
    names: Sequence[str],
    title: str,
    said: str,
    axes: tuple[str, str],
    log: bool = False,
) -> str:
    """The picture.

    panels (Sequence[Panel]): From the left. names (Sequence[str]): Of the curves.
    title (str): What is shown. said (str): The picture in words.
    axes (Tuple[str, str]): What x and y are.
    log (bool): Whether x is logarithmic.
    """
    lines = list(_key(names))
    width = (WIDTH - LEFT - EDGE - GAP * (len(panels) - 1)) / len(panels)
    for i, panel in enumerate(panels):
        lines += _panel(panel, LEFT + i * (width + GAP), width, log)
    lines.append(label(WIDTH / 2, HEIGHT - 14, axes[0]))
    lines.append(label(WIDTH - EDGE, 51, axes[1], "end"))
    return picture(HEIGHT, title, said, lines)


def _key(names: Sequence[str]) -> Iterator[str]:
    x = 16.0
    for i, name in enumerate(names):
        yield f'<path d="M{x:.1f} 47h26" {_look(i)}/>'
        yield f'<text x="{x + 32:.1f}" y="51">{escape(name)}</text>'
        x += 32 + 7.5 * len(name) + 20


def _look(i: int) -> str:
    dashes = f' stroke-dasharray="{DASHES[i]}"' if DASHES[i] else ""
    return f'class="curve{" other" if i else ""}"{dashes}'


def _panel(panel: Panel, left: float, width: float, log: bool) -> Iterator[str]:
    points = [point for curve in panel.curves for point in curve]
    xs = [math.log(p.x) if log else p.x for p in points]
    low, step, high = _scale([p.y for p in points])

    def at_x(x: float) -> float:
        share = ((math.log(x) if log else x) - min(xs)) / (max(xs) - min(xs))
        return left + 8 + (width - 16) * share

    def at_y(y: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (y - low) / (high - low)

    middle, name = f"{left + width / 2:.1f}", escape(panel.name)
    yield f'<text class="head" x="{middle}" y="86" text-anchor="middle">{name}</text>'
    for tick in range(low, high + 1, step):
        y = at_y(tick)
        yield f'<line class="grid" x1="{left:.1f}" x2="{left + width:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield label(left - 6, round(y + 4, 1), str(tick), "end")
    shown = {x for x in LOG_TICKS if min(xs) <= math.log(x) <= max(xs)} if log else {p.x for p in points}
    for x in sorted(shown):
        yield label(at_x(x), BOTTOM + 18, f"{x:,.0f}")
    for i, curve in reversed([*enumerate(panel.curves)]):
        places = [(at_x(p.x), at_y(p.y), p.said) for p in curve]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in places)
        yield f'<path d="M{line}" {_look(i)}/>'
        for n, (x, y, said) in enumerate(places):
            yield f'<circle class="{"dot" if i else "ours"}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
            if said:  # neighbours on different sides
                yield label(x, round(y + (18 if n % 2 else -8), 1), said)


def _scale(values: Sequence[float]) -> tuple[int, int, int]:
    """The lowest line, the distance of lines, and the highest."""
    for step in TICKS:
        low, high = math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step
        if (high - low) / step <= MOST_TICKS:
            return low, step, max(high, low + step)
    return low, step, high
