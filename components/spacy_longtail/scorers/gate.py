"""The gate's own scores: which sentences it flags."""

from collections.abc import Callable, Iterable

import numpy as np
from spacy.scorer import PRFScore
from spacy.training import Example

from ..corpus.examples import annotated_sentences, flagged_sentences
from ..sentences import touched_sentences


def score_gate(
    examples: Iterable[Example], *, labels: Iterable[str] = (), spans_key: str = "", **_: object
) -> dict[str, float]:
    """Return scores of flagged sentences, among those with annotation.

    examples (Iterable[Example]): Documents after the gate, with gold annotation.
    labels (Iterable[str]): Rare types of the gate.
    spans_key (str): Key in doc.spans for the flagged sentences.
    RETURNS (Dict[str, float]): weak_sents_p, weak_sents_r and weak_sents_f, and the share of
        flagged sentences, weak_sents_open.
    """
    labels = set(labels)
    score, n_all = PRFScore(), 0
    for eg in examples:
        truth = flagged_sentences(eg, labels)
        known = annotated_sentences(eg, truth, labels)
        opened = touched_sentences(eg.predicted, eg.predicted.spans.get(spans_key, ()))
        flagged, with_types = (np.flatnonzero(flags & known).tolist() for flags in (opened, truth))
        score.score_set({*flagged}, {*with_types})
        n_all += int(known.sum())
    return {
        "weak_sents_p": score.precision,
        "weak_sents_r": score.recall,
        "weak_sents_f": score.fscore,
        "weak_sents_open": (score.tp + score.fp) / n_all if n_all else 0.0,
    }


def make_gate_scorer() -> Callable:
    """Create the scorer of a gate: precision, recall and F1 of flagged sentences, and their share.

    Sentences without annotation are ignored, as it is unknown whether they have a rare type.

    RETURNS (Callable): Scorer, a function of examples to scores; see `score_gate`.
    EXAMPLE:
        >>> from spacy_longtail.scorers import make_gate_scorer
        >>> doc = examples[1].predicted
        >>> doc.spans["flagged"] = [doc[:]]
        >>> make_gate_scorer()(examples, labels=["EVE"], spans_key="flagged")["weak_sents_r"]
        0.5
    """
    return score_gate
