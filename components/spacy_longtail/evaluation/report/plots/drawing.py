"""Drawing for the page: matplotlib outside of pyplot, as inline SVG that follows the page's colours."""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from ....settings import extra

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

Look = dict[str, Any]  # keyword arguments of matplotlib

# Colours nobody would draw with: the SVG gets the page's own in their place, light or dark. BASELINE,
# OURS and RARE mean just that on every page; what has no such role is drawn in the colours of SERIES.
INK, FAINT, BASELINE, OURS, RARE, PAPER = (f"#0102{i:02x}" for i in range(3, 9))
SERIES = tuple(f"#0103{i:02x}" for i in range(3, 9))
PAGE_COLOURS = {
    INK: "currentColor",
    FAINT: "var(--line)",
    BASELINE: "var(--baseline)",
    OURS: "var(--ours)",
    RARE: "var(--rare)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, 1)},
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
    "legend.frameon": False,
}


def svg(draw: Callable[["Figure"], None], size: tuple[float, float], key: str, title: str) -> str:
    """Draw a figure and hand its colours over to the page.

    draw (Callable): Draws on the figure it is given.
    size (Tuple[float, float]): Width and height in inches.
    key (str): Comes before every id, as a page holds several plots.
    title (str): What the plot shows, for those who do not see it.
    RETURNS (str): An svg element.
    """
    with extra("matplotlib", "report"):
        import matplotlib
        from matplotlib.figure import Figure
    buffer = io.StringIO()
    with matplotlib.rc_context(matplotlib.RcParams(STYLE)), warnings.catch_warnings():
        # its own font may lack a type's letters; the page's font draws them
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        fig = Figure(figsize=size, dpi=72, layout="constrained")
        fig.patch.set_visible(False)
        draw(fig)
        for axes in fig.axes:
            axes.patch.set_visible(False)
        fig.savefig(buffer, format="svg")
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)  # HTML knows them
    text = text.replace("xlink:href", "href")
    # ids are the page's, not the plot's
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", text)
    for drawn, shown in PAGE_COLOURS.items():
        text = text.replace(drawn, shown)
    label = f'role="img" aria-label="{escape(title)}"'
    opening = re.compile(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>')
    return opening.sub(lambda found: f"<svg {found[1]} {label}>", text, count=1)
