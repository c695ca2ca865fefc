"""Thresholds and calibration of a trained pipeline, chosen on development data and written into it."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.util import minibatch
from thinc.types import Floats1d, Ints1d
from tqdm import tqdm

from ..errors import Errors, Warnings
from ..examples import flagged_sentences, on_gold_tokens
from ..formats.docbin import check_docs
from ..operating_points import (
    Point,
    best_f,
    fit_curve,
    for_precision,
    for_recall,
    log_odds,
    points,
    reliability,
    sigmoid,
)
from ..parts import replacing
from ..pipes.judging import ANY_TYPE, CALIBRATION
from ..types import ENTITY
from .evaluation import load_pipeline

GATE = "longtail_sentence_gate"
N_FOLDS = 5
NEUTRAL = 0.5  # threshold of a gate with too little to choose one on
LEAST = 5  # right and wrong entities of a type, each, for a curve of its own


class Goal(NamedTuple):
    """What a threshold is chosen for: a recall, a precision, or the best F-beta where both are None."""

    recall: float | None = None
    precision: float | None = None
    beta: float = 1.0

    def choose(self, found: list[Point]) -> Point | None:
        if self.recall is not None:
            return for_recall(found, self.recall)
        if self.precision is not None:
            return for_precision(found, self.precision)
        return best_f(found, self.beta)

    def __str__(self) -> str:
        if self.recall is not None:
            return f"recall of at least {self.recall:g}"
        if self.precision is not None:
            return f"precision of at least {self.precision:g}"
        return f"best F{self.beta:g}"


class Scored(NamedTuple):
    """Candidates with their outcomes. Every array is (n_candidates,)."""

    logits: Floats1d  # log odds of the score
    right: Ints1d
    fold: Ints1d  # by document, for an estimate on what a curve was not fitted to


def fit_thresholds(
    model: Path,
    data: Path,
    *,
    goal: Goal,
    gate_goal: Goal,
    calibrate: bool = True,
    abstain_key: str | None = None,
    min_mentions: int = 10,
    output: Path | None = None,
) -> dict[str, Any]:
    """Choose thresholds and calibration on development data, and write them into the pipeline.

    model (Path): A trained pipeline. data (Path): Development data, a .spacy file or a folder of them.
    goal (Goal): Of the thresholds of entity types. gate_goal (Goal): Of the gate's.
    calibrate (bool): Whether scores are made probabilities first.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold; null drops them.
    min_mentions (int): Gold mentions, or sentences, that a threshold is chosen on at least.
    output (Optional[Path]): Folder for the pipeline; null writes it where it is.
    RETURNS (Dict[str, Any]): What was chosen, by component.
    RAISES (ValueError): L402, L403, L404, L408, L432; L251; L255 where there is nothing to
            choose for.
    """
    nlp = load_pipeline(model)
    check_docs(data)  # refuses a file that cannot be read, before the long work
    examples = list(Corpus(data)(nlp))
    report: dict[str, Any] = {}
    for name, pipe in nlp.pipeline:
        if GATE in nlp.get_pipe_meta(name).factory:
            report[name] = _fit_gate(nlp, name, examples, gate_goal, calibrate, min_mentions)
        elif hasattr(pipe, "candidates"):
            report[name] = _fit_entities(nlp, name, examples, goal, calibrate, abstain_key, min_mentions)
        with nlp.select_pipes(enable=[name]):
            docs = nlp.pipe(eg.predicted for eg in examples)
            for eg, doc in zip(examples, docs, strict=True):
                eg.predicted = doc
    if not report:
        raise ValueError(Errors.L255.format(path=model, found=", ".join(nlp.pipe_names) or "none"))
    _update_performance(nlp, data)
    with replacing(output or model, ()) as folder:
        nlp.to_disk(folder)
    return report


def _update_performance(nlp: Language, data: Path) -> None:
    """The scores that training left in the pipeline's meta are of what it was before."""
    scores = nlp.evaluate(list(Corpus(data)(nlp)))
    own = nlp.meta.get("performance", {})
    own.update({name: scores[name] for name in own if name in scores})


def _fit_gate(
    nlp: Language, name: str, examples: list[Example], goal: Goal, calibrate: bool, least: int
) -> dict[str, Any]:
    """Calibrate the gate and choose its threshold."""
    gate: Any = nlp.get_pipe(name)
    truth = [flagged_sentences(eg, gate.labels) for eg in examples]
    batches = minibatch([eg.predicted for eg in examples], nlp.batch_size)
    logits = np.concatenate([gate.model.ops.to_numpy(gate.logits(docs)).ravel() for docs in batches])
    right = np.concatenate(truth).astype("int64")
    fold = np.repeat(_folds(len(truth)), [len(flags) for flags in truth])
    n_weak = int(right.sum())
    found: dict[str, Any] = {"goal": str(goal), "sentences": len(right), "weak": n_weak}
    found["before"] = _gate_point(sigmoid(logits), right, gate.cfg["threshold"])
    threshold, curve = NEUTRAL, None
    if n_weak < least:
        warnings.warn(Warnings.W082.format(name=name, n=n_weak, least=least), stacklevel=2)
    else:
        if calibrate:
            curve = fit_curve(logits, right)
            found["reliability"] = _reliability([Scored(logits, right, fold)])
        slope, shift = curve or (1.0, 0.0)
        chosen = goal.choose(points(sigmoid(logits * slope + shift), right, n_weak))
        if chosen is None:
            warnings.warn(Warnings.W083.format(name=name, types="sentences", goal=goal), stacklevel=2)
        else:
            threshold = chosen.threshold
    gate.cfg[CALIBRATION] = curve and list(curve)
    gate.cfg["threshold"] = nlp.get_pipe_config(name)["threshold"] = threshold
    slope, shift = curve or (1.0, 0.0)
    after = _gate_point(sigmoid(logits * slope + shift), right, threshold)
    return {**found, "threshold": threshold, "curve": gate.cfg[CALIBRATION], "after": after}


def _gate_point(scores: Floats1d, right: Ints1d, threshold: float) -> dict[str, float]:
    """What the gate does with a threshold: precision, recall, and the share of sentences opened."""
    opened = scores >= threshold
    hits = float((opened & (right > 0)).sum())
    return {
        "p": hits / max(int(opened.sum()), 1),
        "r": hits / max(int(right.sum()), 1),
        "open": float(opened.mean()) if len(opened) else 0.0,
    }


def _fit_entities(
    nlp: Language,
    name: str,
    examples: list[Example],
    goal: Goal,
    calibrate: bool,
    abstain_key: str | None,
    least: int,
) -> dict[str, Any]:
    """Calibrate a NER's scores and choose a threshold for each of its types."""
    pipe: Any = nlp.get_pipe(name)
    if pipe.cfg["scores_key"] is None:
        raise ValueError(Errors.L251.format(who=name))
    by_type, n_gold = _outcomes(pipe, examples, nlp.batch_size)
    curves: dict[str, tuple[float, float]] = {}
    found: dict[str, Any] = {"goal": str(goal), "types": {}}
    if calibrate:
        curves = _curves(by_type)
        found["reliability"] = _reliability(list(by_type.values()))
    thresholds, few, unreachable = {}, [], []
    for label, scored in by_type.items():
        curve = curves.get(label, curves.get(ANY_TYPE))
        slope, shift = curve or (1.0, 0.0)
        ways = points(sigmoid(scored.logits * slope + shift), scored.right, n_gold[label])
        chosen = goal.choose(ways) if n_gold[label] >= least else None
        if n_gold[label] < least:
            few.append(label)
        elif chosen is None:
            unreachable.append(label)
        elif chosen.threshold > 0:
            thresholds[label] = chosen.threshold
        everything = ways[-1] if ways else Point(0.0, 0.0, 0.0, 0)
        found["types"][label] = {
            "mentions": n_gold[label],
            "candidates": len(scored.right),
            "calibrated": None if curve is None else "own" if label in curves else "other types",
            "threshold": thresholds.get(label),
            "before": _shown(everything),
            "after": _shown(chosen if label in thresholds and chosen else everything),
        }
    if few:
        types = ", ".join(few)
        warnings.warn(Warnings.W084.format(name=name, types=types, least=least), stacklevel=2)
    if unreachable:
        types = ", ".join(unreachable)
        warnings.warn(Warnings.W083.format(name=name, types=types, goal=goal), stacklevel=2)
    chosen_settings = {
        "thresholds": thresholds or None,
        "abstain_key": abstain_key if thresholds else None,
    }
    pipe.cfg.update(chosen_settings)
    nlp.get_pipe_config(name).update(chosen_settings)
    pipe.cfg[CALIBRATION] = {label: list(curve) for label, curve in curves.items()} or None
    return found


def _shown(point: Point) -> dict[str, float]:
    return {"p": point.precision, "r": point.recall, "f": point.f()}


def _outcomes(
    pipe: Any, examples: list[Example], batch_size: int
) -> tuple[dict[str, Scored], dict[str, int]]:
    """The candidates of each type with their outcomes, and the gold mentions of each type."""
    rows: dict[str, list[tuple[float, bool, int]]] = {label: [] for label in pipe.labels}
    n_gold = dict.fromkeys(pipe.labels, 0)
    is_typed = tuple(pipe.labels) != (ENTITY,)
    folds = _folds(len(examples))
    progress = tqdm(total=len(examples), unit="doc", desc=pipe.name, leave=False)
    for batch in minibatch(zip(examples, folds, strict=True), batch_size):
        by_doc = pipe.candidates([eg.predicted for eg, _ in batch])
        for (eg, fold), spans in zip(batch, by_doc, strict=True):
            ents = eg.reference.ents
            gold = {(ent.label_ if is_typed else ENTITY, ent.start, ent.end) for ent in ents}
            for label, *_ in gold:
                n_gold[label] = n_gold.get(label, 0) + 1
            for span, start, end in on_gold_tokens(eg, spans):
                is_right = (span.label, start, end) in gold
                rows[span.label].append((span.score, is_right, int(fold)))
        progress.update(len(batch))
    progress.close()
    scored = {}
    for label, own in rows.items():
        score, right, fold = np.asarray(own, dtype="float64").reshape(-1, 3).T
        scored[label] = Scored(log_odds(score), right.astype("int64"), fold.astype("int64"))
    return scored, n_gold


def _curves(by_type: dict[str, Scored]) -> dict[str, tuple[float, float]]:
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


def _reliability(by_type: list[Scored]) -> dict[str, Any]:
    """Before, and after curves that were each fitted without the documents it is judged on."""
    before = _pooled(by_type)
    after, right = [], []
    for fold in range(N_FOLDS):
        named = {str(i): scored for i, scored in enumerate(by_type)}
        seen = {n: Scored(*(a[s.fold != fold] for a in s)) for n, s in named.items()}
        curves = _curves(seen)
        for name, scored in named.items():
            own = scored.fold == fold
            slope, shift = curves.get(name, curves.get(ANY_TYPE, (1.0, 0.0)))
            after.append(sigmoid(scored.logits[own] * slope + shift))
            right.append(scored.right[own])
    measured = {
        "before": reliability(sigmoid(before.logits), before.right),
        "after": reliability(np.concatenate(after), np.concatenate(right)),
    }
    return {when: found._asdict() for when, found in measured.items()}


def _folds(n_docs: int) -> Ints1d:
    """A fold for each document: neighbours, which are often alike, in different ones."""
    return np.arange(n_docs) % N_FOLDS
