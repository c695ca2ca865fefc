"""Scores and outcomes on development data, and the curves that make the scores probabilities."""

from typing import NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d, Ints1d
from tqdm import tqdm

from ..corpus.examples import on_gold_tokens
from ..numerics import sigmoid
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.gate.weak_sentences import sentence_targets
from ..pipes.scores.spans import ScoredSpan
from ..pipes.scores.thresholding import ANY_TYPE
from ..pipes.scores.thresholds import fit_curve, log_odds, reliability
from .chosen import Calibrated, Measured

N_FOLDS = 5
LEAST = 5  # right and wrong entities of a type, each, for a curve of its own


class Scored(NamedTuple):
    """Candidates with their outcomes. Every array is (n_candidates,)."""

    logits: Floats1d  # log odds of the score
    right: Ints1d
    fold: Ints1d  # by document, for an estimate on what a curve was not fitted to


class ScoredNER(Protocol):
    """A component that gives entities with scores."""

    name: str
    cfg: dict[str, object]

    @property
    def labels(self) -> tuple[str, ...]: ...

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]: ...


def gate_outcomes(gate: SentenceGate, examples: list[Example], batch_size: int) -> Scored:
    """The sentences that are annotated, or hold a rare type, as the gate scores them.

    gate (SentenceGate): The gate. examples (List[Example]): With sentences set.
    batch_size (int): Documents at a time.
    """
    batches = minibatch([eg.predicted for eg in examples], batch_size)
    logits = np.concatenate([gate.model.ops.to_numpy(gate.logits(docs)).ravel() for docs in batches])
    targets = [sentence_targets([eg], gate.labels, kept_share=1.0) for eg in examples]
    right, known = (np.concatenate(arrays).ravel() for arrays in zip(*targets, strict=True))
    fold = np.repeat(_folds(len(examples)), [len(flags) for flags, _ in targets])
    return Scored(logits[known], right[known].astype("int64"), fold[known])


def entity_outcomes(
    pipe: ScoredNER, examples: list[Example], batch_size: int
) -> tuple[dict[str, Scored], dict[str, int]]:
    """The candidates of each type with their outcomes, and the gold mentions of each type.

    pipe (ScoredNER): The NER. examples (List[Example]): Where it stands in the
        pipeline. batch_size (int): Documents at a time.
    """
    rows: dict[str, list[tuple[float, bool, int]]] = {label: [] for label in pipe.labels}
    n_gold = dict.fromkeys(pipe.labels, 0)
    folds = _folds(len(examples))
    progress = tqdm(total=len(examples), unit="doc", desc=pipe.name, leave=False)
    for batch in minibatch(zip(examples, folds, strict=True), batch_size):
        by_doc = pipe.candidates([eg.predicted for eg, _ in batch])
        for (eg, fold), spans in zip(batch, by_doc, strict=True):
            ents = eg.reference.ents
            gold = {(ent.label_, ent.start, ent.end) for ent in ents}
            for label, *_ in gold:
                n_gold[label] = n_gold.get(label, 0) + 1
            # of two that align with one mention the better is right, which any threshold keeps longer
            for span, start, end in on_gold_tokens(eg, sorted(spans, key=lambda s: -s.score)):
                is_right = (span.label, start, end) in gold
                gold.discard((span.label, start, end))
                rows[span.label].append((span.score, is_right, int(fold)))
        progress.update(len(batch))
    progress.close()
    scored = {}
    for label, own in rows.items():
        score, right, fold = np.asarray(own, dtype="float64").reshape(-1, 3).T
        scored[label] = Scored(log_odds(score), right.astype("int64"), fold.astype("int64"))
    return scored, n_gold


def fit_curves(by_type: dict[str, Scored]) -> dict[str, tuple[float, float]]:
    """A curve for each type with enough right and wrong candidates, and "*" from the other types."""
    curves = {name: fit_curve(own.logits, own.right) for name, own in by_type.items() if _is_enough(own)}
    rest = _pooled([own for name, own in by_type.items() if name not in curves])
    if _is_enough(rest):
        curves[ANY_TYPE] = fit_curve(rest.logits, rest.right)
    return curves


def _is_enough(scored: Scored) -> bool:
    n_right = int(scored.right.sum())
    return min(n_right, len(scored.right) - n_right) >= LEAST


def _pooled(parts: list[Scored]) -> Scored:
    nothing = Scored(np.zeros(0), np.zeros(0, dtype="int64"), np.zeros(0, dtype="int64"))
    return Scored(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))


def measure_reliability(by_type: list[Scored]) -> Calibrated:
    """Calibration before, and after curves that were each fitted without the documents judged.

    by_type (List[Scored]): The candidates of each type.
    """
    before = _pooled(by_type)
    after, right = [], []
    for fold in range(N_FOLDS):
        named = {str(i): scored for i, scored in enumerate(by_type)}
        seen = {n: Scored(*(a[s.fold != fold] for a in s)) for n, s in named.items()}
        curves = fit_curves(seen)
        for name, scored in named.items():
            own = scored.fold == fold
            slope, shift = curves.get(name, curves.get(ANY_TYPE, (1.0, 0.0)))
            after.append(sigmoid(scored.logits[own] * slope + shift))
            right.append(scored.right[own])
    return Calibrated(
        before=Measured.of(reliability(sigmoid(before.logits), before.right)),
        after=Measured.of(reliability(np.concatenate(after), np.concatenate(right))),
    )


def _folds(n_docs: int) -> Ints1d:
    """A fold for each document: neighbours, which are often alike, in different ones."""
    return np.arange(n_docs) % N_FOLDS
