"""The trials of a search in its Optuna study: drawn, pruned, closed, and drawn again if abandoned."""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..trials.claims import ATTEMPT, KEY, OWNER, PLACE, Claim, Claims, coded_storage, owner_here
from ..trials.keys import digest
from .space import Space, Values

VALUES, STATUS, SECONDS, ERROR = "values", "status", "seconds", "error"  # attributes of a trial
BASELINE = "baseline"  # the key of trial 0
BROKEN = ("failed", "timeout")  # by its own fault: it counts, and is not tried again
STARTUP = 5  # trials that come to their end before any is pruned
WARMUP = 1 / 3  # of the steps before a trial can be pruned


class Draw(NamedTuple):
    trial: Any  # of Optuna
    values: Values
    is_baseline: bool
    claim: Claim


class Tried(NamedTuple):
    """A finished trial."""

    number: int
    values: Values
    is_baseline: bool
    status: str  # done, pruned, failed or timeout
    score: float | None  # macro F1 on dev: of the best checkpoint, or the best until it was pruned
    curve: dict[int, float]  # the same by step
    seconds: float
    error: str
    place: str  # where it was trained

    def record(self) -> dict[str, Any]:
        """As JSON data."""
        return {**self._asdict(), "curve": list(self.curve.items())}


class Draws(Claims):
    """The trials of a search. A trial's key is the number that it had when it was drawn, or BASELINE.

    storage (BaseStorage): Of Optuna. name (str): Of the study. place (str): The output folder.
    space (Space): What is searched. seed (int): Of the draws. steps (int): Of each training.
    RAISES (ValueError): L406; L491 here and of each method, if the storage fails.
    """

    def __init__(self, storage: Any, name: str, place: str, space: Space, seed: int, steps: int) -> None:
        super().__init__(storage, name, place)
        self.space, self.seed = space, seed
        self.study.pruner = self.optuna.pruners.MedianPruner(STARTUP, int(WARMUP * steps))
        self.lock = threading.Lock()  # the sampler is the study's, and each trial has its own
        with coded_storage():
            if not any(trial.user_attrs.get(KEY) == BASELINE for trial in self._live()):
                self._put_up(BASELINE, 0)

    def _put_up(self, key: str, attempt: int) -> None:
        """Let someone train with the values of a key."""
        found = [t for t in self.study.get_trials(deepcopy=False) if t.user_attrs.get(KEY) == key]
        values = found[-1].params if found else self.space.baseline()
        self.study.enqueue_trial(dict(values), user_attrs={KEY: key, ATTEMPT: attempt})

    def _live(self) -> list[Any]:
        """Trials that count: finished, running, or put up. Not those that were abandoned."""
        fail = self.optuna.trial.TrialState.FAIL
        trials = self.study.get_trials(deepcopy=False)
        return [t for t in trials if t.state != fail or t.user_attrs.get(STATUS) in BROKEN]

    @coded_storage()
    def draw(self, n_trials: int) -> Draw | None:
        """The next trial, until the study has enough.

        n_trials (int): How many, of all processes and machines.
        RETURNS (Optional[Draw]): Null if there is nothing to do but wait for those that run.
        """
        state = self.optuna.trial.TrialState
        with self.lock:
            while len(live := self._live()) < n_trials or any(t.state == state.WAITING for t in live):
                trial = self.study.ask()
                found = trial.user_attrs
                key, attempt = found.get(KEY, str(trial.number)), found.get(ATTEMPT, 0)
                claim = Claim(trial.number, key, attempt)
                if self._is_surplus(claim, n_trials):
                    self.study.tell(trial, state=state.FAIL)
                    continue
                for name, value in {OWNER: owner_here(), KEY: key, ATTEMPT: attempt}.items():
                    trial.set_user_attr(name, value)
                # a sampler of its own: the draw does not depend on who makes it, nor on a restart
                seed = int(digest([self.seed, trial.number]), 16) % 2**32
                self.study.sampler = self.optuna.samplers.TPESampler(seed=seed, multivariate=False)
                values = self.space.draw(trial, key == BASELINE)
                trial.set_user_attr(VALUES, values)
                return Draw(trial, values, key == BASELINE, claim)
        return None

    def _is_surplus(self, claim: Claim, n_trials: int) -> bool:
        """Whether other processes have put up the same, or made the trials that were wanted."""
        if claim.key == BASELINE or claim.attempt:
            return self._has_earlier(claim)
        return len([t for t in self._live() if t.number < claim.number]) >= n_trials

    @coded_storage()
    def close(
        self, draw: Draw, status: str, score: float | None, seconds: float, error: str = ""
    ) -> None:
        """Close a trial that has come to an end.

        draw (Draw): The trial. status (str): done, pruned, failed or timeout.
        score (Optional[float]): Macro F1 on dev, of one that is done.
        seconds (float): What it took. error (str): What went wrong.
        """
        for name, value in {STATUS: status, SECONDS: round(seconds, 1), ERROR: error}.items():
            draw.trial.set_user_attr(name, value)
        if status != "pruned":
            self.finish(draw.claim, score)
            return
        draw.trial.set_user_attr(PLACE, self.place)
        pruned = self.optuna.trial.TrialState.PRUNED
        self.study.tell(draw.trial, state=pruned, skip_if_finished=True)

    @coded_storage()
    def tried(self) -> list[Tried]:
        """The finished trials of all processes and machines, in order."""
        state = self.optuna.trial.TrialState
        return [_tried(t) for t in self._live() if t.state not in (state.WAITING, state.RUNNING)]


def _tried(trial: Any) -> Tried:
    kept: Mapping[str, Any] = trial.user_attrs
    curve = dict(sorted(trial.intermediate_values.items()))
    is_done = kept[STATUS] == "done"
    score = trial.value if is_done else max(curve.values(), default=None)
    return Tried(
        trial.number,
        kept[VALUES],
        kept[KEY] == BASELINE,
        kept[STATUS],
        score,
        curve,
        kept[SECONDS],
        kept[ERROR],
        kept.get(PLACE, ""),
    )


def best_of(tried: list[Tried]) -> Tried | None:
    """The trial with the best macro F1 on dev, of equals the baseline, then the first."""
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def baseline_of(tried: list[Tried]) -> Tried | None:
    """The baseline, if it has come to its end."""
    return next((trial for trial in tried if trial.is_baseline and trial.status == "done"), None)
