"""Choice of a gate's threshold or budget on development data."""

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d

from ...corpus.examples import annotated_sentences, flagged_sentences, predict_examples
from ...scorers.gate import score_gate
from ...types import Block
from ..scores.calibration import Scored, folds_of, measure_error, warn_kept
from ..scores.chosen import CalibrationError, ChosenGate, GatePoint, Goal
from ..scores.thresholding import CALIBRATION
from ..scores.thresholds import OperatingPoint, calibrated, fit_curve, points
from .budget import start_scores
from .posterior_gate import THRESHOLD, PosteriorGate
from .sentence_gate import SentenceGate

Gate = SentenceGate | PosteriorGate

GATE_GOAL = Goal("recall", 0.9)  # by default
# Minimum number of sentences with a rare type for GATE_GOAL. With fewer, a recall of 0.9 allows
# only one or two missed sentences: with 13 the gate flagged 81 % of all sentences, for no gain.
GATE_MIN_SENTENCES = 30


def fit_gate(
    nlp: Language,
    gate: Gate,
    examples: list[Example],
    goal: Goal | None,
    min_sentences: int,
    calibrate: bool = True,
) -> ChosenGate:
    """Choose the threshold or budget of a gate and set it. If none can be chosen, nothing changes.

    nlp (Language): The pipeline. The gate's settings in its config are changed as well.
    gate (SentenceGate | PosteriorGate): The gate of this pipeline.
    examples (List[Example]): Examples with sentence boundaries, whose predicted documents earlier
        components have processed.
    goal (Optional[Goal]): Goal of the choice. By default a posterior gate keeps its budget. A gate
        without a budget gets GATE_GOAL, for which a trained gate needs GATE_MIN_SENTENCES
        sentences. A goal of the kind "budget" becomes the budget of a posterior gate.
    min_sentences (int): Minimum number of sentences with a rare type to choose a threshold. A
        trained gate without a goal ignores it.
    calibrate (bool): Whether to calibrate the scores of a trained gate first.
    RETURNS (ChosenGate): The choice, and the gate's scores before and after.
    """
    before = _point(nlp, gate, examples)
    truth = [flagged_sentences(eg, gate.labels) for eg in examples]
    known = np.concatenate(
        [annotated_sentences(eg, flags, gate.labels) for eg, flags in zip(examples, truth, strict=True)]
    )
    right = np.concatenate(truth)[known].astype("int64")
    batches = minibatch([eg.predicted for eg in examples], nlp.batch_size)
    settings: Block = {}
    error: CalibrationError | None = None
    if isinstance(gate, PosteriorGate):
        if goal is None:
            goal = GATE_GOAL if gate.cfg["budget"] is None else Goal("budget", gate.cfg["budget"])
        expected = np.concatenate([gate.predict(batch) for batch in batches])
        if goal.kind == "budget":
            settings = {"budget": goal.value, "threshold": THRESHOLD}
            gate.cfg["start"] = start_scores(expected.sum(axis=1))
        elif chosen := _choose(gate, goal, min_sentences, expected[known].max(axis=1), right):
            settings = {"budget": None, "threshold": chosen.threshold}
            gate.cfg["start"] = None
    else:
        goal, min_sentences = (goal, min_sentences) if goal else (GATE_GOAL, GATE_MIN_SENTENCES)
        logits = np.concatenate([gate.model.ops.to_numpy(gate.logits(b)).ravel() for b in batches])
        fold = np.repeat(folds_of(len(examples)), [len(rows) for rows in truth])
        scored = Scored(logits[known], right, fold[known])
        curve = fit_curve(scored.logits, right) if calibrate and right.sum() >= min_sentences else None
        chosen = _choose(gate, goal, min_sentences, calibrated(scored.logits, curve), right)
        if chosen is not None:
            gate.cfg[CALIBRATION] = curve and list(curve)
            settings["threshold"] = chosen.threshold
            error = measure_error({gate.name: scored}) if calibrate else None
    gate.cfg.update(settings)
    nlp.get_pipe_config(gate.name).update(settings)
    budget = gate.cfg.get("budget")
    return ChosenGate(
        goal=str(goal),
        sentences=len(right),
        rare=int(right.sum()),
        before=before,
        calibration_error=error,
        threshold=gate.cfg["threshold"] if budget is None else None,
        curve=gate.cfg.get(CALIBRATION),
        budget=budget,
        start=len(gate.cfg.get("start") or ()),
        after=_point(nlp, gate, examples),
    )


def _point(nlp: Language, gate: Gate, examples: list[Example]) -> GatePoint:
    """Process the documents with the gate as it is set, and return its scores."""
    if isinstance(gate, PosteriorGate):
        gate.restart()
    with nlp.select_pipes(enable=[gate.name]):
        predict_examples(nlp, examples)
    scores = score_gate(examples, labels=gate.labels, spans_key=gate.cfg["spans_key"])
    return GatePoint(**{name: scores[f"weak_sents_{name}"] for name in GatePoint.model_fields})


def _choose(
    gate: Gate, goal: Goal, min_sentences: int, scores: Floats1d, right: np.ndarray
) -> OperatingPoint | None:
    """Return the operating point of a goal, or warn that there is none or too little data."""
    n_rare = int(right.sum())
    chosen = goal.choose(points(scores, right, n_rare)) if n_rare >= min_sentences else None
    if chosen is None:
        few = f"a choice needs {min_sentences} sentences with a rare type, found {n_rare}"
        problem = few if n_rare < min_sentences else f"no threshold reaches a {goal} of sentences"
        kept = "threshold" if gate.cfg.get("budget") is None else "budget"
        warn_kept(gate.name, f"{kept} = {gate.cfg[kept]:g}", problem)
    return chosen
