"""The threshold of a gate, or its budget, chosen on development data."""

import warnings

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d

from ..corpus.examples import annotated_sentences, flagged_sentences
from ..errors import Warnings
from ..numerics import sigmoid
from ..pipes.gate.budget import start_scores
from ..pipes.gate.posterior_gate import THRESHOLD, PosteriorGate
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.scores.thresholding import CALIBRATION
from ..pipes.scores.thresholds import OperatingPoint, fit_curve, points
from ..scorers.gate import score_gate
from ..types import Block
from .calibration import Scored, folds_of, measure_error
from .chosen import CalibrationError, ChosenGate, GatePoint, Goal

Gate = SentenceGate | PosteriorGate

GATE_GOAL = Goal("recall", 0.9)  # of a gate for which none is given
# sentences that GATE_GOAL is chosen on at least: of fewer it may leave out one or two. With 13
# mentions it opened 81 % of all sentences, for no gain
GATE_LEAST = 30


def fit_gate(
    nlp: Language,
    gate: Gate,
    examples: list[Example],
    goal: Goal | None,
    least: int,
    calibrate: bool = True,
) -> ChosenGate:
    """Choose what a gate flags, and write it into the gate. With no choice it stays as it is.

    nlp (Language): The pipeline; settings of its config change with those of the gate.
    gate (SentenceGate | PosteriorGate): Its component.
    examples (List[Example]): With sentences set, as they are where the gate stands.
    goal (Optional[Goal]): Null keeps a posterior gate's budget. Else it is GATE_GOAL, for which a
        trained gate needs GATE_LEAST sentences. A share of sentences is a posterior gate's budget.
    least (int): Sentences with a rare type that a threshold is chosen on at least.
    calibrate (bool): Whether the scores of a trained gate are made probabilities first.
    """
    before = _point(nlp, gate, examples)
    truth = [flagged_sentences(eg, gate.labels) for eg in examples]
    known = np.concatenate(list(map(annotated_sentences, examples, truth)))
    right = np.concatenate(truth)[known].astype("int64")
    batches = minibatch([eg.predicted for eg in examples], nlp.batch_size)
    settings: Block = {}
    error: CalibrationError | None = None
    if isinstance(gate, PosteriorGate):
        if goal is None:
            goal = GATE_GOAL if gate.cfg["budget"] is None else Goal("budget", gate.cfg["budget"])
        expected = np.concatenate([gate.predict(batch) for batch in batches])
        settings = {"budget": None, "threshold": THRESHOLD}
        gate.cfg["start"] = None
        if goal.kind == "budget":
            settings["budget"] = goal.value
            gate.cfg["start"] = start_scores(expected.sum(axis=1))
        else:
            chosen = _choose(gate, goal, least, expected[known].max(axis=1), right)
            settings["threshold"] = chosen.threshold if chosen else gate.cfg["threshold"]
    else:
        goal, least = (goal, least) if goal else (GATE_GOAL, GATE_LEAST)
        logits = np.concatenate([gate.model.ops.to_numpy(gate.logits(b)).ravel() for b in batches])
        fold = np.repeat(folds_of(len(examples)), [len(rows) for rows in truth])
        scored = Scored(logits[known], right, fold[known])
        curve = fit_curve(scored.logits, right) if calibrate and right.sum() >= least else None
        slope, shift = curve or (1.0, 0.0)
        chosen = _choose(gate, goal, least, sigmoid(scored.logits * slope + shift), right)
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
        weak=int(right.sum()),
        before=before,
        calibration_error=error,
        threshold=gate.cfg["threshold"] if budget is None else None,
        curve=gate.cfg.get(CALIBRATION),
        budget=budget,
        start=len(gate.cfg.get("start") or ()),
        after=_point(nlp, gate, examples),
    )


def _point(nlp: Language, gate: Gate, examples: list[Example]) -> GatePoint:
    """What the gate does as it is set: it reads the documents anew."""
    if isinstance(gate, PosteriorGate):
        gate.restart()
    with nlp.select_pipes(enable=[gate.name]):
        for eg, doc in zip(examples, nlp.pipe(eg.predicted for eg in examples), strict=True):
            eg.predicted = doc
    scores = score_gate(examples, labels=gate.labels, spans_key=gate.cfg["spans_key"])
    return GatePoint(**{name: scores[f"weak_sents_{name}"] for name in GatePoint.model_fields})


def _choose(
    gate: Gate, goal: Goal, least: int, scores: Floats1d, right: np.ndarray
) -> OperatingPoint | None:
    """The cut of the goal. A warning says where there is none, or too little to choose it on."""
    n_weak = int(right.sum())
    chosen = goal.choose(points(scores, right, n_weak)) if n_weak >= least else None
    if chosen is None:
        few = f"{n_weak} sentences with a rare type are too few, {least} are wanted"
        problem = few if n_weak < least else f"no threshold reaches a {goal} of sentences"
        keeps = f"threshold = {gate.cfg['threshold']:g}"
        warnings.warn(Warnings.W082.format(name=gate.name, keeps=keeps, problem=problem), stacklevel=4)
    return chosen
