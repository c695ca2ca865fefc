"""Trials fold by fold within a budget: the better half of the methods goes on."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import Errors
from ...evaluation.report.inputs import Run, read_run
from ...output.amounts import number, verb
from ..trials.ledger import trial_folder
from ..trials.records import TrialRecord
from ..trials.run import Matrix, Options
from .by_folds import macro_of

FIRST_PART = 0.5  # of the budget, for the first fold


class Budget:
    """Wall-clock time that trials may take.

    minutes (float): All of it. workers (int): Trials at a time.
    """

    def __init__(self, minutes: float, workers: int) -> None:
        self.workers = workers
        self.start, self.seconds = time.monotonic(), 60 * minutes

    def left(self) -> float:
        """Seconds."""
        return self.seconds - (time.monotonic() - self.start)

    def allows(self, seconds: Sequence[float]) -> bool:
        """Whether more trials fit. seconds (Sequence[float]): Of each."""
        return max(sum(seconds) / self.workers, *seconds, 0.0) <= self.left()


class Rounds:
    """Trials fold by fold, of ever fewer methods.

    matrix (Matrix): A plan on folds. options (Options): How trials are run. budget (Budget): Their time.
    labels (List[str]): The declared types. say (Callable): Gets progress.
    """

    def __init__(
        self,
        matrix: Matrix,
        options: Options,
        budget: Budget,
        labels: list[str],
        say: Callable[[str], None],
    ) -> None:
        self.matrix, self.options, self.budget, self.say = matrix, options, budget, say
        self.labels, self.baseline = labels, matrix.plan.baseline
        self.keys = {(t.method.name, t.corpus): key for key, t in matrix.trials.items()}
        self.records: dict[str, TrialRecord] = {}
        self.runs: dict[str, Run] = {}  # the held-out evaluations that were read, by content key

    def run(self) -> dict[str, TrialRecord]:
        """The records of what there was time for. RAISES (ValueError): L494, L561."""
        names = [method.name for method in self.matrix.plan.methods]
        for i, fold in enumerate(self.matrix.plan.corpora):
            if i == 0:
                self._first(names, fold)
            else:
                names = self._affordable(names, fold)
                if len(names) < 2:
                    self.say(f"No time for fold {i + 1}")
                    break
                self.say(f"Fold {i + 1} of {', '.join(names)}")
                self._train(names, fold)
            others = self._ranked([n for n in names if n != self.baseline and self._is_done(n, fold)])
            if not others:
                break
            names = [self.baseline, *others[: (len(others) + 1) // 2]]
        return self.records

    def _first(self, names: list[str], fold: Path) -> None:
        """A fold of as many methods as half of the budget allows, two at least."""
        missing = self._missing(names, fold)
        self._train([name for name in names if name not in missing], fold)  # they take no time
        n_ready, workers = len(names) - len(missing), self.options.workers
        for start in range(0, len(missing), workers):
            if n_ready + start > 1 and not self._has_room(workers):
                n = len(missing) - start
                self.say(
                    f"{number(n, 'candidate')} {verb(n, 'are')} left out: there is no time for them"
                )
                break
            self._train(missing[start : start + workers], fold)
            if n_ready + start == 0 and workers == 1 and self.budget.left() <= 0:
                taken = self._seconds(self.baseline) / 60
                names_of = {"minutes": number(self.budget.seconds / 60, "minute"), "name": self.baseline}
                raise ValueError(Errors.L561.format(taken=taken, least=2 * taken, **names_of))

    def _has_room(self, n: int) -> bool:
        """Whether half of the budget is left after so many more trials, as long as those so far."""
        usual = statistics.mean(record.seconds for record in self.records.values())
        takes = usual * n / self.budget.workers
        return self.budget.left() - takes >= (1 - FIRST_PART) * self.budget.seconds

    def _train(self, names: list[str], fold: Path) -> None:
        """Run trials. RAISES (ValueError): L494 where stock spaCy's fails."""
        keys = [self.keys[name, fold] for name in names]
        found = self.matrix.run(self.options, keys)
        self.records |= {key: record for key, record in found.items() if key in keys}
        for key in keys:
            own = self.records[key]
            if own.method == self.baseline and not own.is_done:
                problem = own.error or own.status
                raise ValueError(Errors.L494.format(name=self.baseline, problem=problem))

    def _missing(self, names: list[str], fold: Path) -> list[str]:
        """Those of the methods whose trial takes time."""
        keys = [self.keys[name, fold] for name in names]
        left = set(self.matrix.missing(keys, retry_failed=self.options.retry_failed))
        return [name for name, key in zip(names, keys, strict=True) if key in left]

    def _affordable(self, names: list[str], fold: Path) -> list[str]:
        """Stock spaCy and the best others that fit into the budget together."""
        found: list[str] = []
        missing = set(self._missing(names, fold))
        for name in names:
            taking_time = [n for n in (*found, name) if n in missing]
            if self.budget.allows([self._seconds(n) for n in taking_time]):
                found.append(name)
        return found if self.baseline in found else []

    def _ranked(self, names: list[str]) -> list[str]:
        """By macro F1 of what was held out so far, the best first."""
        return sorted(names, key=lambda name: -self._score(name))

    def _is_done(self, name: str, fold: Path) -> bool:
        record = self.records.get(self.keys[name, fold])
        return record is not None and record.is_done

    def _seconds(self, name: str) -> float:
        return statistics.mean(r.seconds for r in self.records.values() if r.method == name)

    def _score(self, name: str) -> float:
        folds = [fold for fold in self.matrix.plan.corpora if self._is_done(name, fold)]
        for key in (self.keys[name, fold] for fold in folds):
            if key not in self.runs:
                path = trial_folder(self.matrix.output, key) / "test.json"
                self.runs[key] = read_run(path, self.labels)
        return macro_of({(i, 0): self.runs[self.keys[name, fold]] for i, fold in enumerate(folds)})
