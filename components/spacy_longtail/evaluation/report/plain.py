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
    """How many mentions of the rare types are found; of all types where none is rare, or in the test part."""

    is_rare: bool
    has_tail: bool  # the corpus has rare types
    ours: Found
    baseline: Found | None
    verdicts: dict[str, Verdict]  # on RECALL and PRECISION; none without a baseline


def finding(statistics: Statistics, choice: Choice) -> Finding:
    """Count what is found, over the seeds that both have.

    statistics (Statistics): Of the corpus: it says which types are rare.
    choice (Choice): The method, and its baseline. RETURNS (Finding): The counts, and what may be claimed.
    RAISES (ValueError): L406.
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
    if comparison.early:
        return comparison.early
    if found.baseline is None:
        right = f"{_number(found.ours.right)} of {_all(found)}"
        return f"{comparison.ours} finds {right}{_alone(found.ours)}."
    return f"{_how_many(found, comparison)}{_how_exact(found)}."


def beside_it(found: Finding, comparison: Comparison) -> list[str]:
    """What has to stand beside the sentence: how sure it is, and what it leaves out.

    RETURNS (List[str]): Sentences, in plain words too.
    """
    texts = []
    if found.baseline is not None and not comparison.early:
        texts += _how_sure(found, comparison)
    if not found.has_tail:
        texts.append("No type of this corpus is rare, so this is about all of them.")
    elif not found.is_rare:
        texts.append("The test part has no mention of a rare type, so this is about all types.")
    micro = comparison.averages["micro"]
    if micro.scores.ours is not None and micro.scores.baseline is not None:
        scores = f"F1 {percent(micro.scores.ours)} against {percent(micro.scores.baseline)} of 100"
        outcome = NO_CLAIM if micro.verdict is None else micro.verdict.outcome
        claim = ", no clear difference" if outcome == NO_CLAIM else f", which is {outcome}"
        texts.append(f"All types together: {scores}{'' if comparison.early else claim}.")
    return texts


def _how_many(found: Finding, comparison: Comparison) -> str:
    ours, baseline = comparison.ours, comparison.baseline
    own, what = found.ours.right, _what(found)
    other = found.baseline.right if found.baseline else 0.0
    if own == other:
        if not own:
            return f"Neither {ours} nor {baseline} finds any of {_all(found)}"
        return f"{ours} finds as many {what} as {baseline}, {_number(own)} of {_all(found)}"
    counts = f"{_number(own)} of {_all(found)}, {baseline} {_number(other)}"
    if found.verdicts[RECALL].outcome == NO_CLAIM:
        return f"No clear difference: {ours} finds {counts}, which may be chance"
    if not own or not other:
        return f"{ours} finds {counts}"
    return f"{ours} finds {_times(own / other)} {what} {_than(own / other)} {baseline}"


def _times(ratio: float) -> str:
    if ratio >= MANY:
        return f"{ratio:.1f} times as many"
    change = max(round(100 * abs(ratio - 1)), 1)
    return f"{change} % {'more' if ratio > 1 else 'fewer'}"


def _than(ratio: float) -> str:
    return "as" if ratio >= MANY else "than"


def _how_exact(found: Finding) -> str:
    """What the precision of the same types is, next to the baseline's."""
    own, other = found.ours.precision, found.baseline.precision if found.baseline else None
    if own is None:
        return ""
    if other is None:
        return _alone(found.ours)
    outcome = found.verdicts[PRECISION].outcome
    scores = f" ({percent(own)} against {percent(other)} of 100 are right)"
    if outcome != NO_CLAIM:
        return f", with {'higher' if outcome == 'better' else 'lower'} precision{scores}"
    if abs(own - other) < SAME:
        return ", with the same precision"
    return f", with no clear difference in precision{scores}"


def _alone(own: Found) -> str:
    if own.precision is None:
        return ""
    return f"; of 100 that it names, {percent(own.precision)} are right"


def _how_sure(found: Finding, comparison: Comparison) -> list[str]:
    verdict = found.verdicts[RECALL]
    data = f"{comparison.n_units} test {comparison.unit}{'s' * (comparison.n_units != 1)}"
    if verdict.outcome == NO_CLAIM:
        if not verdict.value:
            return []
        return [f"{_all(found, True)} in {data} are too few to tell so small a difference from chance."]
    if comparison.n_seeds >= LEAST_SEEDS:
        return [f"Chance does not explain this, over {data} and {comparison.n_seeds} trainings of each."]
    each = "one training" if comparison.n_seeds == 1 else f"{comparison.n_seeds} trainings"
    return [
        f"The choice of the {data} does not explain this; but with {each} of each, luck in training may."
    ]


def _what(found: Finding) -> str:
    return "rare entities" if found.is_rare else "entities"


def _all(found: Finding, begins: bool = False) -> str:
    what = _what(found) if found.ours.gold != 1 else _what(found).replace("entities", "entity")
    return f"{'The' if begins else 'the'} {found.ours.gold:,.0f} {what}"


def _number(n: float) -> str:
    """A count, or a mean of counts."""
    if not n:
        return "none"
    return f"{n:,.0f}" if n == round(n) else f"{n:,.1f}"
