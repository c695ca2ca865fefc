"""Findings about the types of a corpus. A rule takes its statistics and yields what it finds."""

from collections.abc import Iterator

from ...output.amounts import number, verb
from ..rare import FEW_MENTIONS
from .findings import make_finding, percent
from .records import Finding, Statistics, TypeStatistics

MEASURABLE = 30  # mentions in a part that is scored
UNSEEN = 0.5  # share of test mentions
CONTESTED = 0.05  # share of training mentions whose wording more often has another type


def undeclared_type(found: Statistics) -> Iterator[Finding]:
    names = found.undeclared
    if names:
        text = f"{number(len(names), 'type')} {verb(len(names), 'occur')} without being declared"
        declared = f"Declared: {', '.join(found.labels)}."
        yield make_finding("undeclared_type", _listed(text, names), declared)


def absent_type(found: Statistics) -> Iterator[Finding]:
    for part in found.parts:
        own = _types(found, part)
        absent = [t for t in found.labels if not own[t].mentions]
        if absent and len(absent) < len(found.labels):  # else the part has no entity at all
            evidence = [f"{t}: {_by_part(found, t)}" for t in absent]
            text = _listed(f"{_have(absent)} no mention in {part}", absent)
            yield make_finding("absent_type", text, _joined(evidence), part)


def few_mentions(found: Statistics) -> Iterator[Finding]:
    own = _types(found, "train")
    few = [t for t in found.labels if 0 < own[t].mentions < FEW_MENTIONS]
    if few:
        evidence = [
            f"{t}: {number(own[t].mentions, 'mention')} in "
            f"{number(own[t].sentences, 'sentence')}{_unseen_of(found, t)}"
            for t in few
        ]
        text = _listed(f"{_have(few)} fewer than {FEW_MENTIONS} mentions in training", few)
        yield make_finding("few_mentions", text, _joined(evidence))


def not_measurable(found: Statistics) -> Iterator[Finding]:
    for part in found.parts:
        own = _types(found, part)
        few = [t for t in found.labels if 0 < own[t].mentions < MEASURABLE]
        if few and part != "train":
            sizes = [(t, own[t].mentions) for t in few]
            evidence = [f"{t}: {number(n, 'mention')}, one is {_points(n)} of recall" for t, n in sizes]
            text = f"{_have(few)} fewer than {MEASURABLE} mentions in {part}, too few to measure"
            yield make_finding("not_measurable", _listed(text, few), _joined(evidence), part)


def unseen(found: Statistics) -> Iterator[Finding]:
    new = {t: share for t in found.labels if (share := found.unseen[t] or 0.0) >= UNSEEN}
    if new:
        own = _types(found, "test")
        evidence = [
            f"{t}: {percent(share)} of {number(own[t].mentions, 'mention')}" for t, share in new.items()
        ]
        text = f"Most test mentions of {number(len(new), 'type')} have a wording that is new"
        yield make_finding("unseen", _listed(text, list(new)), _joined(evidence))


def contested(found: Statistics) -> Iterator[Finding]:
    own = _types(found, "train")
    split = [t for t in found.labels if own[t].minority_mentions > CONTESTED * own[t].mentions]
    if split:
        evidence = [
            f"{t}: {own[t].minority_mentions:,} of {number(own[t].mentions, 'mention')}; "
            f"{own[t].ambiguous_surfaces:,} of {number(own[t].surfaces, 'wording')} are ambiguous"
            for t in split
        ]
        text = f"Mentions of {number(len(split), 'type')} often have a wording that is mostly another's"
        yield make_finding("contested", _listed(text, split), _joined(evidence))


def _types(found: Statistics, part: str) -> dict[str, TypeStatistics]:
    return found.parts[part].types


def _have(labels: list[str]) -> str:
    return f"{number(len(labels), 'type')} {verb(len(labels), 'have')}"


def _listed(text: str, labels: list[str]) -> str:
    return f"{text}: {', '.join(labels)}."


def _joined(evidence: list[str]) -> str:
    return "; ".join(evidence) + "."


def _points(n_mentions: int) -> str:
    return f"{100 / n_mentions:.3g} points"


def _by_part(found: Statistics, label: str) -> str:
    return ", ".join(f"{_types(found, part)[label].mentions} in {part}" for part in found.parts)


def _unseen_of(found: Statistics, label: str) -> str:
    share = found.unseen[label]
    if share is None:
        return ""
    n_mentions = _types(found, "test")[label].mentions
    return f", {round(share * n_mentions)} of {number(n_mentions, 'test mention')} not among them"
