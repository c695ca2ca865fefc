"""Wording of decisions, for reports, plans, recommendations and learning curves."""

from collections.abc import Mapping

from ...output.console import number, p_value, percent, signed
from .decisions import LEVEL, TOO_FEW, Decision
from .metrics import MACRO


def evidence(decision: Decision) -> str:
    """Return the p of a decision, and how many comparisons it is corrected for."""
    shown = f"p {p_value(decision.adjusted, sign='= ')}"
    if decision.n_comparisons > 1:
        shown += f", corrected for {decision.n_comparisons} comparisons"
    return shown


def outcome_in_words(decision: Decision, unit: str = "document") -> str:
    """Return a decision in a few words, such as "not significant (p = 0.23)".

    decision (Decision): One comparison in one score.
    unit (str): Unit of the test set: "document" or "group".
    """
    if decision.outcome != TOO_FEW:
        return f"{decision.outcome} ({evidence(decision)})"
    has = f"{decision.n_with} of {number(decision.n_units, unit)}"
    too_few = TOO_FEW.replace("documents", f"{unit}s")
    if not decision.n_with:
        return f"{too_few} ({has} count)"
    return f"{too_few} ({has} count; about {number(decision.n_needed, unit)} like these are needed)"


def change(decision: Decision) -> str:
    """Return the difference in points of 100 with its 95 % interval."""
    low, high = signed(100 * decision.low), signed(100 * decision.high)
    return f"{signed(100 * decision.value)}, {100 * LEVEL:g} % interval {low} to {high}"


def headline(method: str, baseline: str, decisions: Mapping[str, Decision]) -> str:
    """Return one sentence on all scores, such as "crf is better than ner on macro F1."."""
    by_outcome: dict[str, list[str]] = {}
    for name, own in decisions.items():
        by_outcome.setdefault(own.outcome, []).append(name)
    scores = {
        kind: " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        for kind, names in by_outcome.items()
    }
    claims = [
        f"{kind} than {baseline} on {scores.pop(kind)}" for kind in ("better", "worse") if kind in scores
    ]
    rest = "; ".join(f"{names}: {kind}" for kind, names in scores.items())
    if claims:
        return f"{method} is {', and '.join(claims)}{f' ({rest})' if rest else ''}."
    return f"{method} is not shown to differ from {baseline} ({rest})."


def describe(method: str, decisions: Mapping[str, Decision], unit: str = "document") -> list[str]:
    """Describe the decisions on a method in sentences, with scores in points of 100.

    method (str): Name of the method.
    decisions (Mapping[str, Decision]): Decisions by score, as `compare` returns them.
    unit (str): Unit of the test, "document" or "group".
    RETURNS (List[str]): Significant differences, other scores, and the test that was used.
    """
    shown, rest = [], []
    for name, own in decisions.items():
        scores = f"from {percent(own.baseline)} to {percent(own.method)}"
        if own.is_significant:
            verb = "improves" if own.outcome == "better" else "lowers"
            shown.append(f"{method} {verb} {name} {scores} ({change(own)}, {evidence(own)}).")
        elif own.outcome == TOO_FEW:
            rest.append(f"{name}: {outcome_in_words(own, unit)}; {scores}.")
        else:
            rest.append(f"{name}: {outcome_in_words(own, unit)}; {change(own)}.")
    return [*shown, *rest, *how_tested(decisions, unit)]


def how_tested(decisions: Mapping[str, Decision], unit: str = "document") -> list[str]:
    """Describe how decisions were tested. Arguments are those of `describe`."""
    any_of = next(iter(decisions.values()), None)
    if any_of is None:
        return []
    first, second = any_of.n_seeds
    seeds = number(first, "seed") if first == second else f"{first} and {number(second, 'seed')}"
    texts = [f"Test: paired randomisation over {number(any_of.n_units, unit)} and {seeds}, two-sided."]
    if min(first, second) == 1:
        texts.append("One seed does not show the spread over seeds; that of our records is assumed.")
    if MACRO in decisions and len(decisions) > 1:
        texts.append(
            f"Macro F1 is the primary score and is {primary_is(decisions[MACRO])}; all other scores are"
            " corrected together (Holm)."
        )
    return texts


def primary_is(decision: Decision) -> str:
    """Return how the primary score is tested, for one model or for several."""
    n = decision.n_comparisons
    return f"corrected for {n} models (Holm)" if n > 1 else "tested alone"
