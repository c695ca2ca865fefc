"""Trials fold by fold within a budget, of ever fewer methods."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...errors import Errors
from ...evaluation.report.inputs import Run, read_run
from ...output.amounts import number, verb
from ..trials.ledger import trial_folder
from ..trials.records import TrialRecord
from ..trials.run import Matrix, Options
from .by_folds import macro_of
from .halving import FACTOR, is_rung, survivors

# another machine has trained it, with the same storage
ELSEWHERE = "Its record is not in this folder, but where another machine has trained it."
FIRST_PART = 0.5  # of the budget, for one fold of every candidate


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

    def takes(self, seconds: Sequence[float]) -> float:
        """How long trials take together. seconds (Sequence[float]): Of each."""
        return max(sum(seconds) / self.workers, *seconds, 0.0)

    def allows(self, seconds: Sequence[float]) -> bool:
        """Whether more trials fit. seconds (Sequence[float]): Of each."""
        return self.takes(seconds) <= self.left()

    def has_room(self, n: int, usual: float, baseline: float) -> bool:
        """Whether more methods leave half of the time for other folds, and enough for one of two. Where
        there is no time for another fold of two, whether they fit.

        n (int): Of them. usual (float): Seconds of a trial. baseline (float): Of the baseline's.
        """
        if not self.allows([baseline, usual]):
            return self.allows([usual] * n)
        is_half_left = self.left() >= (1 - FIRST_PART) * self.seconds
        return is_half_left and self.allows([*[usual] * n, baseline, usual])


class Imagined(Budget):
    """A budget that is used up by what trials are expected to take."""

    def __init__(self, minutes: float, workers: int) -> None:
        super().__init__(minutes, workers)
        self.used = 0.0  # seconds

    def left(self) -> float:
        """Seconds."""
        return self.seconds - self.used

    def use(self, seconds: Sequence[float]) -> None:
        """Run trials. seconds (Sequence[float]): That each takes."""
        self.used += self.takes(seconds)


def fitting(seconds: Sequence[float], n_folds: int, budget: Imagined) -> list[int]:
    """How many methods get each fold, as `Rounds` goes about it once one is ahead of the baseline.

    seconds (Sequence[float]): Of a trial of each method in their order, the baseline's first.
    n_folds (int): Of the corpus. budget (Imagined): Their time.
    RETURNS (List[int]): By fold, of folds that are begun. Which methods go on is not known beforehand:
        after the first fold each takes the mean of the others.
    """
    first = 0
    for start in range(0, len(seconds), budget.workers):
        usual = statistics.mean(seconds[1:start] or [0.0])
        if start > 1 and not budget.has_room(budget.workers, usual, seconds[0]):
            break
        some = seconds[start : start + budget.workers]
        budget.use(some)
        first += len(some)
    found = [first]
    usual = statistics.mean(seconds[1:first]) if first > 1 else 0.0
    left = first
    for i in range(1, n_folds):
        if is_rung(i):
            left = min(left, max(left // FACTOR, 1) + 1)  # the baseline goes on whatever it scores
        while left > 1 and not budget.allows([seconds[0], *(left - 1) * [usual]]):
            left -= 1
        if left < 2:
            break
        budget.use([seconds[0]] + (left - 1) * [usual])
        found.append(left)
    return found


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
        self.records: dict[str, TrialRecord] = {}
        self.runs: dict[str, Run] = {}  # the held-out evaluations that were read, by content key

    def run(self) -> dict[str, TrialRecord]:
        """The records of what there was time for. RAISES (ValueError): L494, L561."""
        names = [method.name for method in self.matrix.plan.methods]
        for i, fold in enumerate(self.matrix.plan.corpora):
            if i and not (names := self._affordable(names, fold)):
                self.say(f"No time for fold {i + 1}")
                break
            keys = [self._key(name, fold) for name in names]
            if i == 0:
                self._first(keys)
            else:
                self.say(f"Fold {i + 1} of {', '.join(names)}")
                self._train(keys)
            names = [name for name in names if self._is_done(name, fold)]
            if is_rung(i + 1):
                kept = survivors({name: self._score(name) for name in names})
                names = [name for name in names if name in kept or name == self.baseline]
            if names == [self.baseline]:
                break
        return self.records

    def _first(self, keys: list[str]) -> None:
        """A fold of as many methods as there is time for, two at least."""
        workers = self.options.workers
        missing = self._missing(keys)
        ready = [key for key in keys if key not in missing]
        if ready:  # they take no time
            self._train(ready)
            if self._key(self.baseline, self.matrix.plan.corpora[0]) in ready:
                _check_baseline(self.matrix, self.records)
        for start in range(0, len(missing), workers):
            if len(ready) + start > 1 and not self._has_room(workers):
                n = len(missing) - start
                self.say(f"{number(n, 'candidate')} {verb(n, 'are')} left out: {self._purpose()}")
                break
            some = missing[start : start + workers]
            self._train(some)
            _check_baseline(self.matrix, self.records)
            if len(ready) + start == 0 and len(some) == 1 and self.budget.left() <= 0:
                taken = self.records[some[0]].seconds / 60
                names = {"minutes": number(self.budget.seconds / 60, "minute"), "name": self.baseline}
                raise ValueError(Errors.L561.format(taken=taken, least=2 * taken, **names))
        _check_baseline(self.matrix, self.records)

    def _has_room(self, n: int) -> bool:
        """Whether there is time for so many more methods: with one ahead of stock spaCy half of it is
        kept for further folds, and enough for another fold of two, as long as one fits.
        """
        usual = self._usual()
        if not self._is_one_ahead():
            return self.budget.allows([usual] * n)
        return self.budget.has_room(n, usual, self._seconds(self.baseline))

    def _usual(self) -> float:
        """Seconds of a trial of others than stock spaCy, if there is one."""
        others = [r.seconds for r in self.records.values() if r.method != self.baseline]
        return statistics.mean(others or [self._seconds(self.baseline)])

    def _purpose(self) -> str:
        is_time = self.budget.allows([self._seconds(self.baseline), self._usual()])
        return "the time is for another fold" if is_time else "there is no time for them"

    def _is_one_ahead(self) -> bool:
        fold = self.matrix.plan.corpora[0]
        names = [method.name for method in self.matrix.plan.methods if self._is_done(method.name, fold)]
        return any(self._score(name) > self._score(self.baseline) for name in names)

    def _missing(self, keys: Iterable[str]) -> list[str]:
        """Those of the trials that take time."""
        return self.matrix.missing(keys, retry_failed=self.options.retry_failed)

    def _train(self, keys: list[str]) -> None:
        found = self.matrix.run(self.options, keys)
        self.records |= {key: record for key, record in found.items() if key in keys}

    def _affordable(self, names: list[str], fold: Path) -> list[str]:
        """The methods for which another fold fits into the budget: stock spaCy, and the best others."""
        found = [self.baseline]
        missing = set(self._missing(self._key(name, fold) for name in names))
        for name in sorted(
            (n for n in names if n != self.baseline), key=lambda name: -self._score(name)
        ):
            taking_time = [n for n in (*found, name) if self._key(n, fold) in missing]
            if self.budget.allows([self._seconds(n) for n in taking_time]):
                found.append(name)
        return found if len(found) > 1 else []

    def _key(self, name: str, fold: Path) -> str:
        trials = self.matrix.trials.items()
        return next(key for key, t in trials if (t.method.name, t.corpus) == (name, fold))

    def _is_done(self, name: str, fold: Path) -> bool:
        record = self.records.get(self._key(name, fold))
        return record is not None and record.is_done

    def _seconds(self, name: str) -> float:
        return statistics.mean(r.seconds for r in self.records.values() if r.method == name)

    def _score(self, name: str) -> float:
        """Macro F1 of what was held out so far."""
        folds = [fold for fold in self.matrix.plan.corpora if self._is_done(name, fold)]
        for key in (self._key(name, fold) for fold in folds):
            if key not in self.runs:
                path = trial_folder(self.matrix.output, key) / "test.json"
                self.runs[key] = read_run(path, self.labels)
        return macro_of({(i, 0): self.runs[self._key(name, fold)] for i, fold in enumerate(folds)})


def _check_baseline(matrix: Matrix, records: Mapping[str, TrialRecord]) -> None:
    """Stop before other methods are trained in vain. RAISES (ValueError): L494."""
    own = [r for key, r in records.items() if matrix.trials[key].method.name == matrix.plan.baseline]
    if not own:
        raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=ELSEWHERE))
    for record in own:
        if not record.is_done:
            problem = record.error or record.status
            raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=problem))
