"""Calibration of scores and choice of thresholds, from candidates on development data."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d, Ints1d
from tqdm import tqdm

from ...corpus.examples import on_gold_tokens
from ...errors import Warnings
from ...records import PRF
from .chosen import CalibrationError, ChosenType, Goal
from .thresholding import ANY_TYPE
from .thresholds import (
    CalibrationCurve,
    OperatingPoint,
    calibrated,
    calibration_error,
    fit_curve,
    log_odds,
    points,
)

N_FOLDS = 5
MIN_OUTCOMES = 5  # both right and wrong candidates that a type needs for its own curve

CurvesByType = dict[str, CalibrationCurve]


class Scored(NamedTuple):
    """Candidates with their outcomes. Every array is (n_candidates,)."""

    logits: Floats1d  # log odds of the score
    right: Ints1d
    fold: Ints1d  # fold of the document, to estimate the error on data that a curve was not fitted to


def entity_outcomes(
    pipe: Any, examples: list[Example], batch_size: int
) -> tuple[dict[str, Scored], dict[str, int]]:
    """Return the candidates of each type with their outcomes, and the number of gold mentions.

    pipe (Any): An NER with entity scores.
    examples (List[Example]): Examples whose predicted documents earlier components have processed.
    batch_size (int): Number of documents in a batch.
    RETURNS (Tuple[Dict[str, Scored], Dict[str, int]]): Candidates and gold mentions, both by type.
    """
    rows: dict[str, list[tuple[float, bool, int]]] = {label: [] for label in pipe.labels}
    n_gold = dict.fromkeys(pipe.labels, 0)
    shown = tqdm(examples, unit="doc", desc=pipe.name, leave=False)
    for batch in minibatch(zip(shown, folds_of(len(examples)), strict=True), batch_size):
        by_doc = pipe.candidates([eg.predicted for eg, _ in batch])
        for (eg, fold), spans in zip(batch, by_doc, strict=True):
            gold = {(ent.label_, ent.start, ent.end) for ent in eg.reference.ents}
            for label, *_ in gold:
                n_gold[label] = n_gold.get(label, 0) + 1
            # if two candidates align with one mention, the one with the higher score is right,
            # because every threshold that keeps the other keeps it as well
            for span, start, end in on_gold_tokens(eg, sorted(spans, key=lambda s: -s.score)):
                is_right = (span.label, start, end) in gold
                gold.discard((span.label, start, end))
                rows[span.label].append((span.score, is_right, int(fold)))
    scored = {}
    for label, candidates in rows.items():
        score, right, fold = np.asarray(candidates, dtype="float64").reshape(-1, 3).T
        scored[label] = Scored(log_odds(score), right.astype("int64"), fold.astype("int64"))
    return scored, n_gold


def fit_curves(by_type: Mapping[str, Scored]) -> CurvesByType:
    """Fit a curve for each type with enough right and wrong candidates, and "*" for all others.

    by_type (Mapping[str, Scored]): Candidates of each type.
    RETURNS (Dict[str, CalibrationCurve]): Curves by type. Types that share "*" have no own entry.
    """
    enough = {name: scored for name, scored in by_type.items() if _is_enough(scored)}
    curves = {name: fit_curve(scored.logits, scored.right) for name, scored in enough.items()}
    rest = _pooled([scored for name, scored in by_type.items() if name not in curves])
    if _is_enough(rest):
        curves[ANY_TYPE] = fit_curve(rest.logits, rest.right)
    return curves


def _is_enough(scored: Scored) -> bool:
    n_right = int(scored.right.sum())
    return min(n_right, len(scored.right) - n_right) >= MIN_OUTCOMES


def _pooled(parts: list[Scored]) -> Scored:
    nothing = Scored(np.zeros(0), np.zeros(0, dtype="int64"), np.zeros(0, dtype="int64"))
    return Scored(*(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True)))


def measure_error(by_type: Mapping[str, Scored]) -> CalibrationError:
    """Estimate the calibration error before and after calibration by cross-fitting.

    The error of each fold is that of curves fitted to the other folds.

    by_type (Mapping[str, Scored]): Candidates of each type.
    RETURNS (CalibrationError): Expected calibration errors in [0, 1].
    """
    before = _pooled(list(by_type.values()))
    after, right = [], []
    for fold in range(N_FOLDS):
        curves = fit_curves({n: Scored(*(a[s.fold != fold] for a in s)) for n, s in by_type.items()})
        for name, scored in by_type.items():
            judged = scored.fold == fold
            after.append(calibrated(scored.logits[judged], curves.get(name, curves.get(ANY_TYPE))))
            right.append(scored.right[judged])
    return CalibrationError(
        before=calibration_error(calibrated(before.logits, None), before.right),
        after=calibration_error(np.concatenate(after), np.concatenate(right)),
    )


def folds_of(n_docs: int) -> Ints1d:
    """Return the fold of each document.

    Neighbouring documents, which are often similar, are in different folds.

    n_docs (int): Number of documents.
    RETURNS (Ints1d): Folds from 0, shape (n_docs,).
    """
    return np.arange(n_docs) % N_FOLDS


def choose_types(
    name: str,
    by_type: Mapping[str, Scored],
    n_gold: Mapping[str, int],
    curves: CurvesByType,
    goal: Goal,
    min_mentions: int,
) -> dict[str, ChosenType]:
    """Choose a threshold for each type of an NER. Warnings name the types without one.

    name (str): Name of the component, for warnings.
    by_type (Mapping[str, Scored]): Candidates of each type.
    n_gold (Mapping[str, int]): Number of gold mentions of each type.
    curves (Dict[str, CalibrationCurve]): Calibration curves by type.
    goal (Goal): Goal of the thresholds.
    min_mentions (int): Minimum number of gold mentions to choose a threshold.
    RETURNS (Dict[str, ChosenType]): Threshold of each type, with scores before and after.
    """
    types: dict[str, ChosenType] = {}
    few, unreachable = list[str](), list[str]()
    for label, scored in by_type.items():
        curve = curves.get(label, curves.get(ANY_TYPE))
        ways = points(calibrated(scored.logits, curve), scored.right, n_gold[label])
        everything = ways[-1] if ways else OperatingPoint(0.0, 0.0, 0.0, 0)
        cut = goal.choose(ways) if n_gold[label] >= min_mentions else None
        if cut is None:
            (few if n_gold[label] < min_mentions else unreachable).append(label)
        if cut is None or not cut.threshold:
            cut = everything
        types[label] = ChosenType(
            mentions=n_gold[label],
            candidates=len(scored.right),
            calibrated=curve is not None,
            threshold=cut.threshold or None,
            before=_prf(everything),
            after=_prf(cut),
        )
    problem = f"a choice needs at least {min_mentions} mentions"
    for labels, why in ((few, problem), (unreachable, f"no threshold reaches a {goal}")):
        if labels:
            warn_kept(name, f"every entity of {', '.join(labels)}", why)
    return types


def _prf(point: OperatingPoint) -> PRF:
    return PRF(p=point.precision, r=point.recall, f=point.f())


def warn_kept(name: str, keeps: str, problem: str) -> None:
    """Warn that a component keeps its settings (W082).

    name (str): Name of the component.
    keeps (str): Part that it keeps, such as "its settings".
    problem (str): Why nothing better can be chosen.
    """
    warnings.warn(Warnings.W082.format(name=name, keeps=keeps, problem=problem), stacklevel=4)
