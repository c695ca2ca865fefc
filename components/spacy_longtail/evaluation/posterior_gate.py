"""The threshold or the budget of a gate without weights, chosen on development data."""

import warnings
from typing import cast

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from ..errors import Warnings
from ..pipes.gate.budget import Budget, start_scores
from ..pipes.gate.posterior_gate import THRESHOLD, PosteriorGate
from ..pipes.gate.weak_sentences import sentence_targets
from ..pipes.scores.thresholds import points
from ..types import Block
from .chosen import ChosenPosteriorGate, GatePoint
from .goal import GATE_GOAL, Goal


def fit_posterior_gate(
    nlp: Language, name: str, examples: list[Example], goal: Goal | None, least: int
) -> ChosenPosteriorGate:
    """Choose a threshold, or the scores that a budget starts from, and write them into the pipe.

    nlp (Language): The pipeline; settings of its config change with those of the pipe.
    examples (List[Example]): As they are where the gate stands.
    goal (Optional[Goal]): A share of all sentences is a budget, anything else a threshold; null keeps
        the budget that the gate has, and is GATE_GOAL if it has none.
    least (int): Sentences with a rare type that a threshold is chosen on at least.
    """
    gate = cast(PosteriorGate, nlp.get_pipe(name))
    if goal is None:
        goal = GATE_GOAL if gate.cfg["budget"] is None else Goal(share=gate.cfg["budget"])
    batches = minibatch([eg.predicted for eg in examples], nlp.batch_size)
    expected = np.concatenate([gate.predict(batch) for batch in batches])
    targets = [sentence_targets([eg], list(gate.labels), kept_share=1.0) for eg in examples]
    right, known = (np.concatenate(arrays).ravel() for arrays in zip(*targets, strict=True))

    def point() -> GatePoint:
        """What the gate does as it is set."""
        if gate.cfg["budget"] is None:
            flags = (expected >= gate.cfg["threshold"]).any(axis=1)
        else:
            flags = Budget(gate.cfg["budget"], gate.cfg["start"] or ()).flag(expected.sum(axis=1))
        return GatePoint.of(flags[known], right[known])

    before, n_weak = point(), int(right[known].sum())
    settings: Block = {"budget": goal.share, "threshold": THRESHOLD}
    gate.cfg["start"] = None
    if goal.share is not None:
        gate.cfg["start"] = start_scores(expected.sum(axis=1))
    else:
        settings["threshold"] = gate.cfg["threshold"]
        about = {"name": name, "threshold": gate.cfg["threshold"]}
        chosen = goal.choose(points(expected[known].max(axis=1), right[known], n_weak))
        if n_weak < least:
            warnings.warn(Warnings.W082.format(n=n_weak, least=least, **about), stacklevel=2)
        elif chosen is None:
            warnings.warn(Warnings.W087.format(goal=goal, **about), stacklevel=2)
        else:
            settings["threshold"] = chosen.threshold
    gate.cfg.update(settings)
    nlp.get_pipe_config(name).update(settings)
    gate.restart()
    return ChosenPosteriorGate(
        goal=str(goal),
        sentences=int(known.sum()),
        weak=n_weak,
        before=before,
        threshold=settings["threshold"] if goal.share is None else None,
        budget=goal.share,
        start=len(gate.cfg["start"] or ()),
        after=point(),
    )
