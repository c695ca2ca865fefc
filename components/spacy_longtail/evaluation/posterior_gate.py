"""Thresholds or a budget of a gate without weights, chosen on development data."""

import warnings
from typing import NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d

from ..errors import Warnings
from ..pipes.gate.budget import Budget, start_scores
from ..pipes.gate.posterior_gate import PosteriorGate, Signals
from ..pipes.gate.posterior_settings import LIMITS
from ..pipes.gate.weak_sentences import sentence_targets
from ..pipes.scores.thresholds import OperatingPoint, as_stored, points
from ..types import Block
from .chosen import ChosenPosteriorGate, GatePoint
from .goal import GATE_GOAL, Goal


class Truth(NamedTuple):
    """Of each sentence, (n_sentences,) each."""

    right: np.ndarray  # whether a type stands in it
    known: np.ndarray  # whether that is annotated


def fit_posterior_gate(
    nlp: Language, name: str, examples: list[Example], goal: Goal | None, least: int
) -> ChosenPosteriorGate:
    """Choose thresholds, or the scores that a budget starts from, and write them into the pipe.

    nlp (Language): The pipeline; settings of its config change with those of the pipe.
    examples (List[Example]): As they are where the gate stands.
    goal (Optional[Goal]): A share of all sentences is a budget, anything else thresholds; null keeps the
        budget that the gate has, and is GATE_GOAL if it has none.
    least (int): Sentences with a type that its threshold is chosen on at least.
    """
    gate = cast(PosteriorGate, nlp.get_pipe(name))
    if goal is None:
        goal = GATE_GOAL if gate.cfg["budget"] is None else Goal(share=gate.cfg["budget"])
    signals = _signals(gate, examples, nlp.batch_size)
    truth = _truth(examples, list(gate.labels))
    before = _point(gate, signals, truth)
    n_weak = int(truth.right[truth.known].sum())
    if goal.share is not None:
        settings = {**LIMITS, "budget": goal.share}
        gate.cfg["start"] = start_scores(signals.scores)
    else:
        settings = {**_thresholds(gate, signals, examples, truth, goal, least), "budget": None}
        gate.cfg["start"] = None
    gate.cfg.update(settings)
    nlp.get_pipe_config(name).update(settings)
    gate.restart()
    expects = goal.share is None and "expected" in gate.reads
    scores = goal.share is None and "entity_scores" in gate.reads
    return ChosenPosteriorGate(
        goal=str(goal),
        sentences=int(truth.known.sum()),
        weak=n_weak,
        before=before,
        threshold=gate.cfg["threshold"] if expects else None,
        thresholds=gate.cfg["thresholds"] if expects else None,
        min_entity_score=gate.cfg["min_entity_score"] if scores else None,
        budget=gate.cfg["budget"],
        start=len(gate.cfg["start"] or ()),
        after=_point(gate, signals, truth),
    )


def _signals(gate: PosteriorGate, examples: list[Example], batch_size: int) -> Signals:
    batches = minibatch([eg.predicted for eg in examples], batch_size)
    return Signals(*map(np.concatenate, zip(*map(gate.predict, batches), strict=True)))


def _truth(examples: list[Example], labels: list[str]) -> Truth:
    found = [sentence_targets([eg], labels, kept_share=1.0) for eg in examples]
    return Truth(*(np.concatenate(arrays).ravel() for arrays in zip(*found, strict=True)))


def _point(gate: PosteriorGate, signals: Signals, truth: Truth) -> GatePoint:
    """What the gate does as it is set."""
    if gate.cfg["budget"] is None:
        flags = gate.flags(signals)
    else:
        flags = Budget(gate.cfg["budget"], gate.cfg["start"] or ()).flag(signals.scores)
    return GatePoint.of(flags[truth.known], truth.right[truth.known])


def _thresholds(
    gate: PosteriorGate,
    signals: Signals,
    examples: list[Example],
    truth: Truth,
    goal: Goal,
    least: int,
) -> Block:
    """The limits of the gate; what cannot be chosen stays, and a warning says so."""
    limits = {name: gate.cfg[name] for name in LIMITS}
    if "expected" in gate.reads:
        by_type = {label: _truth(examples, [label]) for label in gate.labels}
        columns = dict(zip(gate.labels, signals.expected.T, strict=True))
        rows = {
            label: (columns[label][own.known], own.right[own.known]) for label, own in by_type.items()
        }
        limits["thresholds"], limits["threshold"] = _by_type(gate, rows, goal, least)
    else:
        known = truth.known
        shortfall, right = 1.0 - signals.least[known], truth.right[known]
        has_entity = shortfall > 0  # the others cannot be flagged, whatever the threshold
        chosen = _choose(gate, shortfall[has_entity], right[has_entity], int(right.sum()), goal, least)
        if chosen is not None:
            limits["min_entity_score"] = as_stored(1.0 - chosen.threshold)
    return limits


def _by_type(
    gate: PosteriorGate, rows: dict[str, tuple[Floats1d, np.ndarray]], goal: Goal, least: int
) -> tuple[dict[str, float] | None, float]:
    """A threshold for each type with enough sentences, and one for the others together.

    rows (Dict[str, Tuple[Floats1d, ndarray]]): Expected mentions, and whether there is one, by type.
    """
    enough = {label: own for label, own in rows.items() if own[1].sum() >= least}
    others = [own for label, own in rows.items() if label not in enough]
    thresholds: dict[str, float] = {}
    for label, (expected, right) in enough.items():
        chosen = goal.choose(points(expected, right, int(right.sum())))
        if chosen is not None:
            thresholds[label] = chosen.threshold
    threshold = gate.cfg["threshold"]
    if others:
        expected, right = map(np.concatenate, zip(*others, strict=True))
        chosen = _choose(gate, expected, right, int(right.sum()), goal, least)
        threshold = threshold if chosen is None else chosen.threshold
    return thresholds or None, threshold


def _choose(
    gate: PosteriorGate, scores: Floats1d, right: np.ndarray, n_weak: int, goal: Goal, least: int
) -> OperatingPoint | None:
    """The cut of the goal; None, with a warning, where there is none or too little to choose it on."""
    about = {"name": gate.name, "threshold": _limit(gate)}
    if n_weak < least:
        warnings.warn(Warnings.W082.format(n=n_weak, least=least, **about), stacklevel=2)
        return None
    chosen = goal.choose(points(scores, right, n_weak))
    if chosen is None:
        warnings.warn(Warnings.W087.format(goal=goal, **about), stacklevel=2)
    return chosen


def _limit(gate: PosteriorGate) -> float:
    return gate.cfg["threshold" if "expected" in gate.reads else "min_entity_score"]
