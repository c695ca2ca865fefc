"""Two evaluations side by side: per type, averaged, and in plain words."""

from typing import Any, NamedTuple

from ..errors import Errors

DEV_SCORE = "ents_macro_f"  # in an evaluation's performance: what training measured on dev
AVERAGES = {  # what the page shows to the score it reads
    "macro": "ents_macro_f",
    "micro": "ents_f",
    "weighted": "ents_weighted_f",
    "tail": "ents_tail_f",
}
NOTHING = {"p": 0.0, "r": 0.0, "f": 0.0, "support": 0}


class Pair(NamedTuple):
    baseline: float | None
    ours: float | None

    @property
    def difference(self) -> float | None:
        if self.baseline is None or self.ours is None:
            return None
        return self.ours - self.baseline


class TypeRow(NamedTuple):
    label: str
    support: int  # gold mentions in the test part
    rare: bool
    f: Pair
    p: Pair
    r: Pair


class Comparison(NamedTuple):
    baseline: str
    ours: str
    chosen: bool  # by the dev score, not named by the caller
    rows: list[TypeRow]
    averages: dict[str, Pair]


def choose(found: dict[str, dict[str, Any]], baseline: str, ours: str | None) -> str:
    """The evaluation to hold against the baseline. No score on test has a say in it.

    found (Dict[str, Dict[str, Any]]): Evaluations by name.
    baseline (str): Name of the baseline.
    ours (Optional[str]): Name of ours; null takes the best macro F1 on dev, the first of equals.
    RETURNS (str): The name.
    RAISES (ValueError): L410, L413.
    """
    names = ", ".join(found) or "none"
    if baseline not in found:
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=names))
    others = [name for name in found if name != baseline]
    if not others or (ours is not None and ours not in others):
        raise ValueError(Errors.L410.format(role="ours", name=ours, found=names))
    if ours is not None:
        return ours
    scored = [n for n in others if dev_score(found[n]) is not None]
    if not scored:
        raise ValueError(Errors.L413.format(found=", ".join(others)))
    return max(scored, key=lambda n: dev_score(found[n]) or 0.0)


def dev_score(evaluation: dict[str, Any]) -> float | None:
    """Macro F1 on dev, as training left it; null if it measured none."""
    score = evaluation["performance"].get(DEV_SCORE)
    return score if isinstance(score, (int, float)) else None


def average(evaluation: dict[str, Any], kind: str) -> float | None:
    """One of AVERAGES on test; null for the tail of a corpus without rare types."""
    if kind == "tail" and not evaluation["tail"]:
        return None
    score = evaluation["scores"].get(AVERAGES[kind])
    return score if isinstance(score, (int, float)) else None


def compare(
    found: dict[str, dict[str, Any]], statistics: dict[str, Any], baseline: str, ours: str | None
) -> Comparison:
    """Hold one evaluation against the baseline, the types with the most mentions first.

    found (Dict[str, Dict[str, Any]]): Evaluations by name.
    statistics (Dict[str, Any]): Of the corpus: it says which types are rare.
    baseline (str): Name of the baseline.
    ours (Optional[str]): Name of ours; null chooses by macro F1 on dev.
    RETURNS (Comparison): Scores in [0, 1].
    RAISES (ValueError): L410, L413.
    """
    name = choose(found, baseline, ours)
    first, second = found[baseline], found[name]
    rows = []
    for label in statistics["labels"]:
        old, new = (e["scores"]["ents_per_type"].get(label, NOTHING) for e in (first, second))
        f, p, r = (Pair(old[key], new[key]) for key in ("f", "p", "r"))
        rows.append(TypeRow(label, int(old["support"]), label in statistics["tail"], f, p, r))
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {kind: Pair(average(first, kind), average(second, kind)) for kind in AVERAGES}
    return Comparison(baseline, name, ours is None, rows, averages)


def verdict(comparison: Comparison) -> tuple[str, str]:
    """What the numbers say, before anything that praises them.

    comparison (Comparison): The scores.
    RETURNS (Tuple[str, str]): A headline and the sentence that carries the numbers.
    """
    ours, baseline = comparison.ours, comparison.baseline
    signs: dict[str, int] = {}
    parts = []
    for kind in ("macro", "tail", "micro"):
        pair = comparison.averages[kind]
        if pair.difference is None:
            continue
        points = round(100 * pair.difference, 1)  # the sign of what is shown, not of what is rounded off
        signs[kind] = (points > 0) - (points < 0)
        parts.append(
            f"{kind} F1 {percent(pair.ours)} against {percent(pair.baseline)} ({signed(points)})"
        )
    better = [kind for kind, sign in signs.items() if sign > 0]
    rest = [kind for kind, sign in signs.items() if sign <= 0]
    if not any(signs.values()):
        headline = f"{ours} and {baseline} score the same."
    elif not rest:
        headline = f"{ours} is better than {baseline} on {_listed(better)} F1."
    elif not better:
        headline = f"{ours} is not better than {baseline}."
    elif "macro" in better:
        headline = (
            f"{ours} is better than {baseline} on {_listed(better)} F1, but not on {_listed(rest)} F1."
        )
    else:
        headline = (
            f"{ours} is not better than {baseline} on {_listed(rest)} F1, only on {_listed(better)} F1."
        )
    return headline, f"In points of 100: {'; '.join(parts)}."


def _listed(kinds: list[str]) -> str:
    return " and ".join(kinds) if len(kinds) < 3 else f"{', '.join(kinds[:-1])} and {kinds[-1]}"


def percent(score: float | None) -> str:
    """A score in [0, 1] as points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Points with a sign, a real minus; what rounds to nothing has none."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"
