"""The gate's own scores: which sentences it flags."""

from collections.abc import Callable, Iterable

from spacy.scorer import PRFScore
from spacy.training import Example

from ..corpus.examples import annotated_sentences, flagged_sentences
from ..corpus.sentences import touched_sentences


def score_gate(
    examples: Iterable[Example], *, labels: Iterable[str] = (), spans_key: str = "", **_: object
) -> dict[str, float]:
    """examples (Iterable[Example]): Documents after the gate, with gold annotation.
    RETURNS (Dict[str, float]): weak_sents_p, _r, _f and _open, of annotated sentences."""
    labels = set(labels)
    score, n_all = PRFScore(), 0
    for eg in examples:
        truth = flagged_sentences(eg, labels)
        known = annotated_sentences(eg, truth)
        opened = touched_sentences(eg.predicted, eg.predicted.spans.get(spans_key, ()))[known]
        truth = truth[known]
        score.tp += int((truth & opened).sum())
        score.fp += int((~truth & opened).sum())
        score.fn += int((truth & ~opened).sum())
        n_all += len(truth)
    return {
        "weak_sents_p": score.precision,
        "weak_sents_r": score.recall,
        "weak_sents_f": score.fscore,
        "weak_sents_open": (score.tp + score.fp) / n_all if n_all else 0.0,
    }


def make_gate_scorer() -> Callable:
    """Scores of the gate: precision, recall and F1 of flagged sentences, and the open rate.

    Sentences without annotation are left out: it is unknown whether a rare type is in them.

    RETURNS (Callable): The scorer.
    """
    return score_gate
