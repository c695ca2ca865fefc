"""The threshold or the budget of a gate without weights, chosen on development data."""

import warnings
from typing import cast

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d

from ..errors import Warnings
from ..pipes.gate.budget import Budget, start_scores
from ..pipes.gate.posterior_gate import THRESHOLD, PosteriorGate
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.scores.thresholds import OperatingPoint, points
from ..types import Block
from .calibration import sentence_truth
from .chosen import GATE_GOAL, ChosenGate, GatePoint, Goal


def fit_posterior_gate(
    nlp: Language, name: str, examples: list[Example], goal: Goal | None, least: int
) -> ChosenGate:
    """Choose a threshold, or the scores that a budget starts from, and write them into the pipe.

    nlp (Language): The pipeline; settings of its config change with those of the pipe.
    examples (List[Example]): As they are where the gate stands.
    goal (Optional[Goal]): A share of all sentences is a budget, anything else a threshold; null keeps
        the budget that the gate has, and is GATE_GOAL if it has none.
    least (int): Sentences with a rare type that a threshold is chosen on at least.
    """
    gate = cast(PosteriorGate, nlp.get_pipe(name))
    if goal is None:
        goal = GATE_GOAL if gate.cfg["budget"] is None else Goal("budget", gate.cfg["budget"])
    batches = minibatch([eg.predicted for eg in examples], nlp.batch_size)
    expected = np.concatenate([gate.predict(batch) for batch in batches])
    right, known = sentence_truth(examples, gate.labels)

    def point() -> GatePoint:
        """What the gate does as it is set."""
        if gate.cfg["budget"] is None:
            flags = (expected >= gate.cfg["threshold"]).any(axis=1)
        else:
            flags = Budget(gate.cfg["budget"], gate.cfg["start"] or ()).flag(expected.sum(axis=1))
        return GatePoint.of(flags[known], right[known])

    before, n_weak = point(), int(right[known].sum())
    budget = goal.value if goal.kind == "budget" else None
    settings: Block = {"budget": budget, "threshold": THRESHOLD}
    gate.cfg["start"] = None if budget is None else start_scores(expected.sum(axis=1))
    if budget is None:
        scores = expected[known].max(axis=1)
        chosen = choose_for_gate(gate, goal, least, scores, right[known])
        settings["threshold"] = gate.cfg["threshold"] if chosen is None else chosen.threshold
    gate.cfg.update(settings)
    nlp.get_pipe_config(name).update(settings)
    gate.restart()
    return ChosenGate(
        goal=str(goal),
        sentences=int(known.sum()),
        weak=n_weak,
        before=before,
        threshold=settings["threshold"] if budget is None else None,
        budget=budget,
        start=len(gate.cfg["start"] or ()),
        after=point(),
    )


def choose_for_gate(
    gate: PosteriorGate | SentenceGate,
    goal: Goal,
    least: int,
    scores: Floats1d,
    right: np.ndarray,
) -> OperatingPoint | None:
    """The cut of the goal. A warning says where there is none, or too little to choose it on.

    gate (PosteriorGate | SentenceGate): Whose. goal (Goal): For what.
    least (int): Sentences with a rare type that are wanted.
    scores (Floats1d): (n_sentences,), what a threshold is compared with.
    right (ndarray): (n_sentences,), whether each holds a rare type.
    """
    n_weak = int(right.sum())
    chosen = goal.choose(points(scores, right, n_weak)) if n_weak >= least else None
    if chosen is None:
        few = f"{n_weak} sentences with a rare type are too few, {least} are wanted"
        problem = few if n_weak < least else f"no threshold reaches a {goal} of sentences"
        keeps = f"threshold = {gate.cfg['threshold']:g}"
        warnings.warn(Warnings.W082.format(name=gate.name, keeps=keeps, problem=problem), stacklevel=3)
    return chosen
