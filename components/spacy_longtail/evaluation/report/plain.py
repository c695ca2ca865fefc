"""What a comparison comes to, as a sentence on counted mentions that needs no statistics."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from thinc.types import Ints3d

from ...corpus.statistics import Statistics
from ..significance import LEAST_SEEDS, NO_CLAIM, Verdict, judge
from ..significance.metrics import Metric, precision, recall
from .comparison import Comparison
from .systems import Choice, on_shared_seeds
from .wording import percent

RECALL, PRECISION = "recall", "precision"
MANY = 1.5  # from so many times as many on: "2.1 times as many", below: "12 % more"
SAME = 0.01  # a difference in precision that is not worth a word


class Found(NamedTuple):
    """Mentions of some types in the test part, means over seeds."""

    right: float
    predicted: float
    gold: float

    @property
    def precision(self) -> float | None:
        """In [0, 1]; null where nothing is predicted."""
        return self.right / self.predicted if self.predicted else None


class Finding(NamedTuple):
    """How many rare entities are found; all entities, where the test part has no rare one."""

    is_rare: bool
    has_tail: bool  # the corpus has rare types
    ours: Found
    baseline: Found | None
    verdicts: dict[str, Verdict]  # on RECALL and PRECISION; none without a baseline


def finding(statistics: Statistics, choice: Choice) -> Finding:
    """Count what is found, over the seeds that both have.

    statistics (Statistics): Of the corpus: it says which types are rare.
    choice (Choice): The method, and its baseline.
    RETURNS (Finding): The counts, and what may be claimed.
    """
    baseline, ours, is_paired = choice.baseline, choice.ours, False
    if baseline is not None:
        baseline, ours, is_paired = on_shared_seeds(baseline, ours)
    own = ours.counts()
    rows = [i for i, label in enumerate(statistics.labels) if label in statistics.tail]
    is_rare = bool(own[:, 0, rows, 2].sum()) if rows else False
    if not is_rare:
        rows = list(range(own.shape[2]))
    found = _found(own.sum(axis=0), rows)
    if baseline is None:
        return Finding(is_rare, bool(statistics.tail), found, None, {})
    other, unit = baseline.counts(), ours.runs[0].counts.unit
    metrics: dict[str, Metric] = {
        name: partial(_pooled, rows=rows, of=of)
        for name, of in ((RECALL, recall), (PRECISION, precision))
    }
    verdicts = judge(other, own, metrics, unit, is_paired=is_paired)
    return Finding(is_rare, bool(statistics.tail), found, _found(other.sum(axis=0), rows), verdicts)


def _pooled(sums: np.ndarray, rows: Sequence[int], of: Metric) -> np.ndarray:
    """A score of the mentions of some types together."""
    return of(sums[..., list(rows), :].sum(axis=-2))


def _found(sums: Ints3d, rows: Sequence[int]) -> Found:
    """(n_seeds, n_types + 1, 3) counts of all documents."""
    return Found(*(float(n) for n in sums[:, list(rows)].sum(axis=1).mean(axis=0)))


def in_one_sentence(found: Finding, comparison: Comparison) -> str:
    """The verdict for somebody who has never heard of an F1 score.

    found (Finding): The counts. comparison (Comparison): Whose they are.
    RETURNS (str): One sentence; why nothing can be said where a model was not trained long enough.
    """
    ours, baseline = comparison.ours, comparison.baseline
    if comparison.early:
        return comparison.early
    if found.baseline is None:
        return f"{ours} finds {_number(found.ours.right)} of {_all(found)}."
    own, other = found.ours.right, found.baseline.right
    if not own and not other:
        return f"Neither {ours} nor {baseline} finds any of {_all(found)}."
    if own == other:
        return f"{ours} finds as many {_what(found)} as {baseline}{_how_exact(found)}."
    if found.verdicts[RECALL].outcome == NO_CLAIM:
        most = "more" if own > other else "fewer"
        if found.verdicts[PRECISION].outcome != NO_CLAIM:
            more = "higher" if found.verdicts[PRECISION].outcome == "better" else "lower"
            claim = f"{ours} has {more} precision on {_what(found)} than {baseline}"
            return f"No clear difference in how many are found, but {claim}."
        if claim := _mean_of_rare(found, comparison):
            return f"No clear difference in how many are found, but {claim}."
        change = f"{ours} finds {_number(abs(own - other))} {_what(found, abs(own - other))} {most}"
        return f"No clear difference: {change} than {baseline}, which may be chance."
    if not own or not other:
        counts = f"{_number(own)} of {_all(found)}, {baseline} {_number(other)}"
        return f"{ours} finds {counts}."
    return f"{ours} finds {_how_many(own / other, _what(found))} {baseline}{_how_exact(found)}."


def beside_it(found: Finding, comparison: Comparison) -> list[str]:
    """What has to stand beside the sentence: the counts, how sure it is, and what it leaves out.

    RETURNS (List[str]): Sentences, in plain words too.
    """
    texts = _counted(found, comparison)
    if found.baseline is not None and not comparison.early:
        texts += _how_sure(found, comparison)
    if not found.has_tail:
        texts.append("No type of this corpus is rare, so this is about all of them.")
    elif not found.is_rare:
        texts.append("The test part has no mention of a rare type, so this is about all types.")
    elif micro := _all_types(comparison):
        texts.append(micro)
    return texts


def _mean_of_rare(found: Finding, comparison: Comparison) -> str:
    """What may be claimed of tail F1, which counts each type alike; "" for nothing."""
    (other, own), _, verdict = comparison.averages["tail"]
    if not found.is_rare or verdict is None or verdict.outcome == NO_CLAIM:
        return ""
    change = f"the mean F1 of rare types is {'higher' if verdict.outcome == 'better' else 'lower'}"
    return f"{change} with {comparison.ours}, {percent(own)} against {percent(other)}"


def _how_many(ratio: float, what: str) -> str:
    if ratio >= MANY:
        return f"{ratio:.1f} times as many {what} as"
    change = max(round(100 * abs(ratio - 1)), 1)
    return f"{change} % {'more' if ratio > 1 else 'fewer'} {what} than"


def _how_exact(found: Finding) -> str:
    """What the precision of the same types is, next to the baseline's."""
    own, other = found.ours.precision, found.baseline.precision if found.baseline else None
    if own is None or other is None:
        return ""
    outcome = found.verdicts[PRECISION].outcome
    if outcome != NO_CLAIM:
        return f", with {'higher' if outcome == 'better' else 'lower'} precision"
    return ", with the same precision" if abs(own - other) < SAME else ""


def _counted(found: Finding, comparison: Comparison) -> list[str]:
    """How many are found, and how many of those that are named are right."""
    texts = []
    own, other = found.ours, found.baseline
    if other is not None:
        counts = f"{_number(own.right)} of {_all(found)}"
        texts.append(f"{comparison.ours} finds {counts}, {comparison.baseline} {_number(other.right)}.")
    if own.precision is not None:
        what = f"Of 100 {_what(found)} that {comparison.ours} names"
        exact = f"{what}, {percent(own.precision)} are right"
        if other is not None and other.precision is not None:
            exact += f"; of {comparison.baseline}'s, {percent(other.precision)}"
        texts.append(f"{exact}.")
    return texts


def _how_sure(found: Finding, comparison: Comparison) -> list[str]:
    verdict = found.verdicts[RECALL]
    data = f"{comparison.n_units} test {comparison.unit}{'s' * (comparison.n_units != 1)}"
    if verdict.outcome == NO_CLAIM:
        few = f"So few in {data} do not tell so small a difference from chance."
        return [few] if verdict.value else []
    if comparison.n_seeds >= LEAST_SEEDS:
        return [f"Chance does not explain this, over {data} and {comparison.n_seeds} trainings of each."]
    each = "one training" if comparison.n_seeds == 1 else f"{comparison.n_seeds} trainings"
    return [
        f"The choice of the {data} does not explain this; luck in training may, with {each} of each."
    ]


def _all_types(comparison: Comparison) -> str:
    """Micro F1 in plain words; "" without a baseline."""
    scores, _, verdict = comparison.averages["micro"]
    if scores.ours is None or scores.baseline is None or verdict is None:
        return ""
    claim = ", no clear difference" if verdict.outcome == NO_CLAIM else f", which is {verdict.outcome}"
    said = "" if comparison.early else claim
    return f"All types together: F1 {percent(scores.ours)} against {percent(scores.baseline)}{said}."


def _what(found: Finding, n: float = 2) -> str:
    what = "entity" if n == 1 else "entities"
    return f"rare {what}" if found.is_rare else what


def _all(found: Finding) -> str:
    return f"the {found.ours.gold:,.0f} {_what(found, found.ours.gold)}"


def _number(n: float) -> str:
    """A count, or a mean of counts."""
    if not n:
        return "none"
    return f"{n:,.0f}" if n == round(n) else f"{n:,.1f}"
