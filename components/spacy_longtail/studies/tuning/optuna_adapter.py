"""Adapter to Optuna: its study, the values that it samples, and the results that it is told."""

import random
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from ...extras import extra
from ...training.provenance import DEV_SCORE
from ...types import Overrides
from ..trials.record import TrialRecord
from ..trials.trial import Trial
from .parameters import Parameter

if TYPE_CHECKING:  # Optuna is an extra
    import optuna

STARTUP = 5  # number of finished trials before any is pruned
WARMUP = 1 / 3  # fraction of the steps before a trial can be pruned


class FinishedTrial(NamedTuple):
    """Finished trial of a search."""

    number: int
    values: Overrides  # by name of the parameter
    is_baseline: bool
    status: str  # done, pruned or failed
    score: float | None  # best macro F1 on dev
    curve: list[tuple[int, float]]  # step, and macro F1 on dev
    seconds: float
    error: str
    key: str  # of its folder among the trials


class ProposedTrial(NamedTuple):
    """Trial that Optuna proposes, with the values that it sampled."""

    optuna_trial: "optuna.Trial"
    values: Overrides  # by name of the parameter
    trial: Trial
    key: str  # content key of the trial

    def tell(self, record: TrialRecord) -> FinishedTrial:
        """Tell Optuna the result of the trial, and return it.

        record (TrialRecord): Record of the trial.
        RETURNS (FinishedTrial): The result.
        """
        points = {int(point["step"]): float(point[DEV_SCORE]) for point in record.curve}
        report_scores(self.optuna_trial, points)
        score = record.score("dev") if record.is_done else None
        status = record.status if record.status in ("done", "pruned") else "failed"
        states = import_optuna().trial.TrialState
        lost = states.PRUNED if status == "pruned" else states.FAIL
        self.optuna_trial.study.tell(self.optuna_trial, score, state=lost if score is None else None)
        return FinishedTrial(
            number=self.optuna_trial.number,
            values=self.values,
            is_baseline=self.optuna_trial.number == 0,
            status=status,
            score=max(points.values(), default=None) if score is None else score,
            curve=sorted(points.items()),
            seconds=record.seconds,
            error=record.error,
            key=record.key,
        )


def import_optuna() -> ModuleType:
    """Return the module optuna, with its log messages turned off."""
    with extra("optuna", "tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def start_study(parameters: Sequence[Parameter], steps: int) -> "optuna.Study":
    """Return an empty study in memory, whose first trial will be the baseline.

    parameters (Sequence[Parameter]): The settings to search.
    steps (int): Number of steps of each training.
    """
    module = import_optuna()
    study: optuna.Study = module.create_study(
        pruner=module.pruners.MedianPruner(STARTUP, int(WARMUP * steps)), direction="maximize"
    )
    study.enqueue_trial({p.name: p.baseline for p in parameters if p.has(p.baseline)})
    return study


def ask_trial(
    study: "optuna.Study", parameters: Sequence[Parameter], seed: str
) -> "tuple[optuna.Trial, Overrides]":
    """Return the next trial of a study and its values: for the first, those of the baseline.

    study (optuna.Study): The study.
    parameters (Sequence[Parameter]): The settings to search.
    seed (str): Random seed of this trial. The values depend only on it and on the finished trials,
        so that a resumed search samples the same ones as an uninterrupted search.
    """
    study.sampler = import_optuna().samplers.TPESampler(seed=random.Random(seed).getrandbits(32))
    trial = study.ask()
    # Optuna learns only those values of the baseline that are in its ranges
    known = [p for p in parameters if trial.number or p.has(p.baseline)]
    suggested = {p.name: p.suggest(trial) for p in known}
    return trial, suggested if trial.number else {p.name: p.baseline for p in parameters}


def report_scores(trial: "optuna.Trial", points: Mapping[int, float]) -> list[int]:
    """Report new evaluations to Optuna, and return their steps.

    trial (optuna.Trial): The trial.
    points (Mapping[int, float]): Macro F1 on dev by step, in [0, 1].
    """
    known = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    new = [step for step in points if step not in known]
    for step in new:
        trial.report(points[step], step)
    return new
