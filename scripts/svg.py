"""Pictures of the documentation: SVG that follows the reader's colour scheme."""

from collections.abc import Iterable
from xml.sax.saxutils import escape

WIDTH = 640  # pixels
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
.page { fill: #ffffff; } .quiet { fill: #57606a; } .grid { stroke: #d8dee4; } .head { font-weight: 600; }
.stock { fill: #ffffff; stroke: #6e7781; stroke-width: 2; } .ours { fill: #0b6bcb; }
.change { stroke: #0b6bcb; stroke-width: 2; opacity: 0.45; }
.curve { fill: none; stroke: #0b6bcb; stroke-width: 2; } .other { stroke: #6e7781; }
.dot { fill: #6e7781; }
.third { fill: #bf8700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .quiet { fill: #9198a1; } .grid { stroke: #30363d; }
  .stock { fill: #0d1117; stroke: #9198a1; } .ours { fill: #58a6ff; } .change { stroke: #58a6ff; }
  .curve { stroke: #58a6ff; } .other { stroke: #9198a1; } .dot { fill: #9198a1; }
  .third { fill: #d29922; }
}
"""


def picture(height: int, title: str, said: str, lines: Iterable[str]) -> str:
    """A page with a title. said (str): The picture in words. lines (Iterable[str]): Its content."""
    top = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="said">',
        f'<title id="said">{escape(said)}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text class="head" x="16" y="28">{escape(title)}</text>',
    ]
    return "\n".join([*top, *lines, "</svg>", ""])


def label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Words that stand back. anchor (str): What of them is at x: "start", "middle" or "end"."""
    return f'<text class="quiet" x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
