"""The statistics of a corpus as one figure: mentions, unseen mentions, sizes under each policy."""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ...errors import Errors
from ...output.writing import check_file, write_file
from ...settings import extra
from .records import SizeFactors, Statistics

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")
MADE = "spacy-longtail"  # in the metadata of each figure


class Look(TypedDict, total=False):
    """Keyword arguments of matplotlib."""

    color: str
    facecolor: str
    edgecolor: str
    hatch: str


# solid, hatched, pale: told apart in print and by colour-blind readers
SOLID: Look = {"color": "#1b4965"}
HATCHED: Look = {"facecolor": "#ffffff", "edgecolor": "#1b4965", "hatch": "////"}
PALE: Look = {"color": "#9bc1d9"}
LOOKS = {"train": SOLID, "dev": HATCHED, "test": PALE, "sentences": SOLID, "tokens": HATCHED}
STYLE = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "spacy-longtail",  # the same corpus twice is the same file
    "text.parse_math": False,  # a type may be called $MONEY$
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}
Series = list[tuple[str, list[float | None]]]


def check_plot(target: Path) -> None:
    """Refuse a file that cannot be drawn, or must stay.

    target (Path): The file.
    """
    if target.suffix not in FORMATS:
        raise ValueError(Errors.L460.format(path=target, known=" or ".join(FORMATS)))
    check_file(target, mark=MADE)


def plot_statistics(found: Statistics, target: Path) -> None:
    """Draw the statistics of a corpus. Rare types are marked ◆.

    target (Path): The file to write, .svg or .png; nothing is left behind if that fails.
    """
    check_plot(target)
    with extra("matplotlib", "report"):
        import matplotlib
        from matplotlib.figure import Figure
    n_labels = len(found.labels)
    heights = [n_labels, n_labels, max(len(found.policies), 1)]
    with matplotlib.rc_context(matplotlib.RcParams(STYLE)), warnings.catch_warnings():
        # its own font may lack a type's letters
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        size = (7.0, 3.0 + 0.36 * sum(heights))
        fig = Figure(figsize=size, dpi=144, layout="constrained")
        fig.suptitle(found.corpus, fontsize=11)
        axes = fig.subplots(3, 1, height_ratios=[n + 2 for n in heights])
        _draw_mentions(axes[0], found)
        _draw_unseen(axes[1], found)
        _draw_sizes(axes[2], found.policies)
        made = {"Creator": MADE, "Date": None} if target.suffix == ".svg" else {"Software": MADE}
        drawn = io.BytesIO()
        fig.savefig(drawn, format=target.suffix[1:], metadata=made)
    write_file(target, drawn.getvalue())


def _draw_mentions(axes: "Axes", found: Statistics) -> None:
    series: Series = [
        (part, [counts.types[t].mentions for t in found.labels]) for part, counts in found.parts.items()
    ]
    _draw_bars(axes, _names(found), series, "{:,.0f}")
    axes.set_xscale("symlog", linthresh=1)  # a type may have no mention
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(0, 5 * max([1.0, *(n for _, numbers in series for n in numbers if n)]))
    axes.set_xlabel("mentions, logarithmic")


def _draw_unseen(axes: "Axes", found: Statistics) -> None:
    series: Series = []
    for part, counts in found.parts.items():
        if part != "train":
            shares = [counts.types[t].unseen for t in found.labels]
            series.append((part, [None if share is None else 100 * share for share in shares]))
    _draw_bars(axes, _names(found), series, "{:.0f}")
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("mentions with a wording that training does not have, %")


def _draw_sizes(axes: "Axes", policies: dict[str, SizeFactors]) -> None:
    series: Series = [
        ("sentences", [factors.sentences for factors in policies.values()]),
        ("tokens", [factors.tokens for factors in policies.values()]),
    ]
    _draw_bars(axes, list(policies), series, "{:.2f}")
    axes.axvline(1, color="#444444", linewidth=0.8, linestyle=(0, (3, 2)))
    axes.set_xlim(0, 1.12 * max([1.0, *(n for _, numbers in series for n in numbers if n)]))
    axes.set_xlabel("size of training, after / before (dashed: unchanged)")


def _names(found: Statistics) -> list[str]:
    return [f"{t} ◆ rare" if t in found.tail else t for t in found.labels]


def _draw_bars(axes: "Axes", names: list[str], series: Series, form: str) -> None:
    """Horizontal bars, the first name on top; None has no bar."""
    places, thick = np.arange(len(names)), 0.8 / max(len(series), 1)
    for i, (label, values) in enumerate(series):
        at, lengths = places + thick * (i - (len(series) - 1) / 2), [v or 0.0 for v in values]
        drawn = axes.barh(at, lengths, 0.85 * thick, label=label, **LOOKS[label])
        texts = ["" if v is None else form.format(v) for v in values]
        axes.bar_label(drawn, texts, padding=2, fontsize=6.5)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    if series:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=7.5)
