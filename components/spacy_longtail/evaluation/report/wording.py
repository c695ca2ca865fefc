"""What a comparison says, in words and in numbers that people read."""

import re
from collections.abc import Mapping

from ...output.amounts import number
from ..significance import LEAST_SEEDS, NO_CLAIM, Verdict, describe
from .comparison import HEADLINES, Comparison

NO_BREAK = "\u00a0"
NUMBERS = re.compile(r"\b[pt] [<=] (?=[-\d\u2212])|(?<=\d) (?:%|points?\b)")
OF_MODELS = f"With fewer than {LEAST_SEEDS} seeds this is about the models trained here, not the method."


def verdict(comparison: Comparison) -> tuple[str, list[str]]:
    """What the numbers say, before anything that praises them.

    comparison (Comparison): The scores.
    RETURNS (Tuple[str, List[str]]): A headline, and sentences with averages and rare types in numbers.
    """
    ours, baseline = comparison.ours, comparison.baseline
    if baseline is None:
        alone = f"{ours} alone: there is no other model to compare it with."
        return alone, [f"In points of 100: {', '.join(_scores(comparison))}."]
    averages = {
        f"{kind} F1": found
        for kind in HEADLINES
        if (found := comparison.averages[kind].verdict) is not None
    }
    rare = {
        f"F1 of {row.label}": row.verdict
        for row in comparison.rows
        if row.rare and row.support and row.verdict is not None
    }
    seeds = number(comparison.n_seeds, "seed")
    if comparison.early:
        scores = {name: found.scores for name, found in comparison.averages.items()}
        so_far = [
            f"{name} F1 {percent(found.ours)} against {percent(found.baseline)}"
            for name, found in scores.items()
            if name in HEADLINES and found.ours is not None
        ]
        return comparison.early, [f"So far, {ours} and {baseline}: {', '.join(so_far)}."]
    findings = describe(ours, {**averages, **rare})
    if comparison.n_seeds >= LEAST_SEEDS:
        return _headline(ours, baseline, averages), findings
    return _headline(f"{ours} as trained here ({seeds})", baseline, averages), [*findings, OF_MODELS]


def _scores(comparison: Comparison) -> list[str]:
    found = []
    for kind in HEADLINES:
        scores, interval, _ = comparison.averages[kind]
        if scores.ours is not None:
            ends = "" if interval is None else [percent(end) for end in (interval.low, interval.high)]
            shown = f" (95 % interval {' to '.join(ends)})" if ends else ""
            found.append(f"{kind} F1 {percent(scores.ours)}{shown}")
    return found


def _headline(ours: str, baseline: str, averages: Mapping[str, Verdict]) -> str:
    by_outcome: dict[str, list[str]] = {}
    for name, found in averages.items():
        by_outcome.setdefault(found.outcome, []).append(name)
    claims = [
        f"{how} than {baseline} on {_listed(by_outcome[how])}"
        for how in ("better", "worse")
        if how in by_outcome
    ]
    if not claims:
        return f"No difference between {ours} and {baseline} is shown."
    rest = [name for name, found in averages.items() if found.outcome not in ("better", "worse")]
    tail = f"; on {_listed(rest)} no difference is shown" if rest else ""
    return f"{ours} is {', and '.join(claims)}{tail}."


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(score: float | None) -> str:
    """A score in [0, 1] as points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Points with a sign, a real minus; what rounds to nothing has none."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def p_value(p: float) -> str:
    """A p value with three decimals; its sign and its number are never on two lines."""
    return f"<{NO_BREAK}0.001" if p < 0.001 else f"{p:.3f}"


def claim(outcome: str) -> str:
    """What a table says of a verdict."""
    return "no clear difference" if outcome == NO_CLAIM else outcome


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and what belongs to it, as in p < 0.001 and 95 %."""
    return NUMBERS.sub(lambda found: found[0].replace(" ", NO_BREAK), text)
