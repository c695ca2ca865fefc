"""Span scores against a declared label set, and the gate's own scores."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from spacy.scorer import PRFScore
from spacy.training import Example

from .errors import Errors, Warnings
from .examples import flagged_sentences, on_gold_tokens, sentence_lengths
from .types import ENTITY

Scorer = Callable[..., dict[str, Any]]

# what a NER pipe adds to [training.score_weights]: as `ner`, and the macro average shown
NER_SCORE_WEIGHTS = {
    "ents_f": 1.0,
    "ents_p": 0.0,
    "ents_r": 0.0,
    "ents_macro_f": 0.0,
    "ents_per_type": None,
}


class NerScorer:
    """Strict span scores of one example set, by type and averaged; see `make_ner_scorer`."""

    def __init__(
        self,
        labels: Sequence[str] | None,
        tail: Sequence[str] | None,
        prefix: str,
        labeled: bool = True,
    ) -> None:
        self.labeled = labeled
        if not labeled:
            labels, tail = [ENTITY], None
        self.declared = None if labels is None else list(labels)
        self.tail = None if tail is None else list(tail)
        self.prefix = prefix
        if self.declared is not None and self.tail is not None:
            unknown = sorted(set(self.tail) - set(self.declared))
            if unknown:
                known = ", ".join(self.declared)
                raise ValueError(Errors.L301.format(unknown=", ".join(unknown), known=known))

    def __call__(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """examples (Iterable[Example]): Documents with predictions and gold annotation.
        RETURNS (Dict[str, Any]): The scores, all floats in [0, 1] but for the per-type table."""
        declared = self.declared
        if declared is None:
            declared = [label for label in kwargs.get("labels") or () if label]
        # the secondary is scored on its own types alone, whatever stands beside them
        only = set(declared) if self.prefix != "ents" and self.labeled else None
        per_type, n_docs = _count(examples, only, self.labeled)
        counted = {label: per_type.get(label, PRFScore()) for label in declared}
        support = {t: s.tp + s.fn for t, s in {**per_type, **counted}.items()}
        absent = [t for t in declared if not support[t]]
        if absent and n_docs and self.prefix == "ents":
            warnings.warn(Warnings.W002.format(n=len(absent), labels=", ".join(absent)), stacklevel=2)
        micro = PRFScore()
        for score in per_type.values():
            micro += score
        f = {t: s.fscore for t, s in counted.items()}
        table = {t: {**s.to_dict(), "support": support[t]} for t, s in {**counted, **per_type}.items()}
        n_gold = sum(support[t] for t in declared)
        name = self.prefix
        scores: dict[str, Any] = {
            f"{name}_p": micro.precision,
            f"{name}_r": micro.recall,
            f"{name}_f": micro.fscore,
            f"{name}_macro_f": _mean(f.values()),
            f"{name}_weighted_f": sum(f[t] * support[t] for t in declared) / n_gold if n_gold else 0.0,
            f"{name}_per_type": table,
        }
        if self.tail is not None:
            scores[f"{name}_tail_f"] = _mean(f.get(t, 0.0) for t in self.tail)
        return scores


def make_ner_scorer(
    labels: list[str] | None = None,
    tail: list[str] | None = None,
    prefix: str = "ents",
    labeled: bool = True,
) -> Scorer:
    """Entity scores with averages over a declared label set: every system is judged on the same types.

    Adds to spaCy's ents_p, ents_r, ents_f and ents_per_type: support, ents_macro_f, ents_weighted_f,
    and ents_tail_f. A type without gold mentions counts 0 in the macro average.

    labels (Optional[List[str]]): The declared types; null takes the labels of the pipe.
    tail (Optional[List[str]]): The rare types that ents_tail_f averages; null leaves that key out.
    prefix (str): Of every key. With any other than "ents" only the declared types are looked at.
    labeled (bool): false compares boundaries alone, as if all types were one; for a type-less NER.
    RETURNS (Callable): The scorer.
    RAISES (ValueError): L301, L302.
    """
    if not labeled and (labels is not None or tail is not None):
        raise ValueError(Errors.L302)
    return NerScorer(labels, tail, prefix, labeled)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _count(
    examples: Iterable[Example], only: set[str] | None, labeled: bool
) -> tuple[dict[str, PRFScore], int]:
    """True and false positives and false negatives by type; documents with annotation."""
    per_type: dict[str, PRFScore] = {}
    n_docs = n_all = 0
    for eg in examples:
        n_all += 1
        if not eg.reference.has_annotation("ENT_IOB"):
            continue
        n_docs += 1
        ents = [e for e in eg.reference.ents if not only or e.label_ in only]
        gold = {(e.label_ if labeled else ENTITY, e.start, e.end) for e in ents}
        predicted = (ent for ent in eg.predicted.ents if not only or ent.label_ in only)
        for ent, start, end in on_gold_tokens(eg, predicted):
            label = ent.label_ if labeled else ENTITY
            score = per_type.setdefault(label, PRFScore())
            if (label, start, end) in gold:
                gold.remove((label, start, end))
                score.tp += 1
            else:
                score.fp += 1
        for label, _, _ in gold:
            per_type.setdefault(label, PRFScore()).fn += 1
    if n_all > n_docs:
        warnings.warn(Warnings.W003.format(n=n_all - n_docs, total=n_all), stacklevel=2)
    return per_type, n_docs


class GateScorer:
    """Precision, recall and F of flagged sentences; see `make_gate_scorer`."""

    def __call__(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """examples (Iterable[Example]): Documents after the gate, with gold annotation.
        RETURNS (Dict[str, Any]): weak_sents_p, _r, _f and the share of sentences flagged."""
        weak_labels, key = set(kwargs.get("weak_labels", ())), kwargs.get("spans_key", "")
        score, n_open, n_all = PRFScore(), 0, 0
        for eg in examples:
            ends = np.cumsum(sentence_lengths(eg.predicted))
            truth = flagged_sentences(eg, weak_labels)
            opened = np.zeros(len(ends), dtype=bool)
            for span in eg.predicted.spans.get(key, ()):
                opened[np.searchsorted(ends, span.start, side="right")] = True
            score.tp += int((truth & opened).sum())
            score.fp += int((~truth & opened).sum())
            score.fn += int((truth & ~opened).sum())
            n_open += int(opened.sum())
            n_all += len(ends)
        return {
            "weak_sents_p": score.precision,
            "weak_sents_r": score.recall,
            "weak_sents_f": score.fscore,
            "weak_sents_open": n_open / n_all if n_all else 0.0,
        }


def make_gate_scorer() -> Scorer:
    """Scores of the sentence gate: precision, recall and F1 of flagged sentences, and the open rate.

    RETURNS (Callable): The scorer.
    """
    return GateScorer()
