"""Draw how often the rule of decision shows a difference, by documents and seeds."""

import math
from collections.abc import Iterable, Sequence

import svg

from .records import read, rows_of

HEIGHT, TOP, BOTTOM, LEFT, PANEL, GAP = 250, 84, 204, 46, 128, 20
SEEDS = {1: "other", 3: "third-line", 10: "curve"}  # class of each line
STYLE = """
.third-line { fill: none; stroke: #bf8700; stroke-width: 2; }
.other { fill: none; stroke-width: 2; }
"""
DIFFERENCES = (0.0, 2.0, 5.0, 10.0)


def shown() -> dict[tuple[float, int], dict[int, float]]:
    """Return the share of test sets with a shown difference in macro F1, by documents."""
    shares: dict[tuple[float, int], dict[int, float]] = {}
    for record in read("decisions"):
        if record["rule"] == "decision" and record["difference"] != "mixed":
            at = shares.setdefault((record["difference"], record["seeds"]), {})
            at[record["documents"]] = record["scores"]["macro F1"]["shown"]
    return shares


def by_documents() -> str:
    """Return rows: documents, false alarms, power for 5 and 10 points of macro F1, and coverage."""
    shares, rows = shown(), []
    for n in sorted({n for at in shares.values() for n in at} - {5, 6, 8}):
        cells = [_percents(shares[difference, seeds][n] for seeds in SEEDS) for difference in (0, 5, 10)]
        rows.append([str(n), *cells, _range(coverage(n))])
    return rows_of(rows)


def coverage(n_documents: int) -> list[float]:
    """Return the coverage of the interval of macro F1 in each cell with so many documents."""
    return [
        record["scores"]["macro F1"]["covered"]
        for record in read("decisions")
        if record["rule"] == "decision" and record["documents"] == n_documents
    ]


def tested_cells() -> list[dict]:
    """Return the figures of each cell and score that has enough documents to be tested."""
    return [
        own | {name: record[name] for name in ("difference", "documents")} | {"score": score}
        for record in read("decisions")
        if record["rule"] == "decision"
        for score, own in record["scores"].items()
        if own["tested"] > 0.9
    ]


def narrowest() -> float:
    """Return the smallest mean width, in points, of other rules' intervals of very rare types."""
    return min(
        record["scores"][score]["width"]
        for record in read("decisions")
        if "scores" in record and record["rule"] != "decision"
        for score in ("F1 of in 5", "F1 of in 3")
    )


def by_rule() -> str:
    """Return rows: a rule, and its false alarms for a type in 5 documents and in macro F1."""
    rules = {
        "decision": "one rule",
        "studentised": "studentised, with a jackknife",
        "bayesian": "Bayesian bootstrap",
        "percentile": "bootstrap",
    }
    rows = []
    for rule, words in rules.items():
        cells = []
        for n, score in ((10, "macro F1"), (200, "macro F1"), (200, "F1 of in 5"), (200, "F1 of in 3")):
            at = {
                r["seeds"]: r["scores"][score]["shown"]
                for r in read("decisions")
                if (r["rule"], r.get("difference"), r.get("documents")) == (rule, 0.0, n)
            }
            cells.append(_percents(at[seeds] for seeds in (1, 3, 6)))
        rows.append([words, *cells])
    return rows_of(rows)


def _percents(shares: Iterable[float]) -> str:
    return ", ".join(f"{100 * share:.0f}" for share in shares)


def _range(shares: Sequence[float]) -> str:
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f}"


def render() -> str:
    """Return the picture as SVG."""
    shares = shown()
    lines = [f"<style>{STYLE}</style>"]
    lines += [svg.label(LEFT - 6, _y(share) + 4, f"{share:.0%}", "end") for share in (0, 0.5, 1)]
    for i, difference in enumerate(DIFFERENCES):
        left = LEFT + i * (PANEL + GAP)
        title = "equal systems" if difference == 0 else f"{difference:g} points"
        lines.append(svg.label(left + PANEL / 2, TOP - 12, title))
        for share in (0, 0.05, 0.5, 1):
            place = f'x1="{left}" x2="{left + PANEL}" y1="{_y(share):.1f}" y2="{_y(share):.1f}"'
            lines.append(f'<line class="grid" {place}{_dashes(share)}/>')
        for n in (5, 19, 50, 200):
            lines.append(svg.label(left + _x(n), BOTTOM + 18, str(n)))
        for seeds, kind in SEEDS.items():
            points = sorted(shares.get((difference, seeds), {}).items())
            path = " ".join(f"{left + _x(n):.1f},{_y(share):.1f}" for n, share in points)
            lines.append(f'<polyline class="{kind}" points="{path}"/>')
    lines.append(svg.label(LEFT + 2 * PANEL, BOTTOM + 38, "documents of the test set"))
    for i, (seeds, kind) in enumerate(SEEDS.items()):
        x, y = 330 + 100 * i, 50
        lines.append(f'<line class="{kind}" x1="{x}" x2="{x + 24}" y1="{y - 4}" y2="{y - 4}"/>')
        lines.append(svg.label(x + 30, y, f"{seeds} seed{'s' * (seeds > 1)}", "start"))
    said = (
        "Share of simulated test sets on which a difference in macro F1 is shown, by the number of "
        "documents and seeds, for equal systems and differences of 2, 5 and 10 points."
    )
    return svg.picture(HEIGHT, "How often a difference in macro F1 is shown", said, lines)


def _x(n_documents: int) -> float:
    return PANEL * math.log(n_documents / 5) / math.log(40)


def _y(share: float) -> float:
    return BOTTOM - share * (BOTTOM - TOP)


def _dashes(share: float) -> str:
    return ' stroke-dasharray="4 3"' if share == 0.05 else ""
