"""Race of methods: runs trials fold by fold within a budget and drops methods that fall behind."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...errors import Errors
from ...evaluation.report.systems import Run, read_run
from ...output.console import number
from ..comparison.recommendation import MethodRuns, decide
from ..trials.record import TrialRecord
from ..trials.running import TrialRunner
from ..trials.study import Study, TrialOptions

FIRST_FOLD_SHARE = 0.5  # fraction of the budget for the first fold
P_BEHIND = 0.05  # one-sided p with which a method of the worse half leaves the race
MAX_TRIAL_SHARE = 0.4  # fraction of the budget for one trial, except those of the baseline


def select_promising(runs: Mapping[str, MethodRuns]) -> list[str]:
    """Return the methods that stay in the race, the best first.

    These are the better half, and every other method that is not shown to be behind the best one.

    runs (Mapping[str, MethodRuns]): Evaluations of each method, on the same folds.
    RETURNS (List[str]): Names of the methods.
    """
    best, *others = sorted(runs, key=lambda name: runs[name].macro_f1(), reverse=True)
    n_better = (len(runs) - 1) // 2
    close = [n for n in others[n_better:] if decide(runs[n], runs[best]).one_sided > P_BEHIND]
    return [best, *others[:n_better], *close]


class Race:
    """Race of methods: runs trials fold by fold and drops methods that are behind the best one.

    After each fold the better half continues. A method of the worse half leaves if it is
    significantly worse than the best one. The score of a single fold is noisy, so a rank alone says
    little.

    study (Study): Trials of a plan on folds.
    options (TrialOptions): Options of the trials.
    total_minutes (float): Minutes (wall clock) after which no trial starts. A trial is stopped
        after two fifths of them, except trials of the baseline.
    labels (List[str]): The declared types.
    say (Callable): Receives messages about the progress.
    runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
    """

    def __init__(
        self,
        study: Study,
        options: TrialOptions,
        total_minutes: float,
        labels: list[str],
        say: Callable[[str], None],
        runner: TrialRunner | None = None,
    ) -> None:
        self.study, self.say, self.runner = study, say, runner
        self.baseline, self.seconds = study.plan.baseline, 60 * total_minutes
        limit = MAX_TRIAL_SHARE * total_minutes
        self.options = replace(options, minutes=limit, limits={self.baseline: None})
        self.end = time.monotonic() + self.seconds
        self.keys = {(t.method.name, t.corpus): key for key, t in study.trials.items()}
        self.records: dict[str, TrialRecord] = {}
        self.held_out: Callable[[str], Run] = cache(  # reads each file once, by content key
            lambda key: read_run(study.store.place(key) / "test.json", labels)
        )

    def run(self) -> tuple[dict[str, TrialRecord], set[str]]:
        """Run the trials until they are done or the time is up.

        RETURNS (Tuple[Dict[str, TrialRecord], Set[str]]): Records of the trials by content key, and
            the methods that lost after a fold, but not those that only lacked time.
        """
        names = [method.name for method in self.study.plan.methods]
        done: list[str] = []
        dropped: set[str] = set()
        for i, fold in enumerate(self.study.plan.corpora):
            if i > 0:
                promising = select_promising({name: self._evaluations(name) for name in done})
                dropped |= {*done} - {*promising}
                names = self._choose_affordable(i + 1, fold, [self.baseline, *promising])
                if not names:
                    break
                self.say(f"Fold {i + 1} of {', '.join(names)}")
            self._train_fold(names, fold, is_first=i == 0)
            done = [name for name in names if name != self.baseline and self._is_done(name, fold)]
            if not done:
                break
        return self.records, dropped

    def _find_missing(self, names: list[str], fold: Path) -> list[str]:
        """Return the methods whose trial on a fold has to be run."""
        keys = {self.keys[name, fold]: name for name in names}
        return [keys[key] for key in self.study.list_missing(keys, self.options)]

    def _train_fold(self, names: list[str], fold: Path, is_first: bool) -> None:
        """Train methods on a fold until the budget is spent, or half of it on the first fold.

        Until one method besides the baseline is done, the first fold may use the whole budget. On
        later folds trials may take longer than those by which `_choose_affordable` chose them.
        """
        remaining = self._find_missing(names, fold)
        ready = [name for name in names if name not in remaining]
        self._train(ready, fold)  # reads their records, which takes no time
        for start in range(0, len(remaining), workers := self.options.workers):
            is_enough = any(self._is_done(name, fold) for name in names if name != self.baseline)
            reserved = (1 - FIRST_FOLD_SHARE) * self.seconds if is_first and is_enough else 0.0
            must_train = is_first and len(ready) + start < 2
            if not must_train and self.end - time.monotonic() <= reserved:
                self.say(f"No time is left for {number(len(remaining) - start, 'more trial')}")
                break
            self._train(remaining[start : start + workers], fold)

    def _train(self, names: list[str], fold: Path) -> None:
        """Run trials of a fold."""
        keys = [self.keys[name, fold] for name in names]
        records = self.study.run(self.options, keys, self.runner)
        self.records |= {key: records[key] for key in keys}
        if self.baseline in names and not self._is_done(self.baseline, fold):
            record = records[self.keys[self.baseline, fold]]
            raise ValueError(
                Errors.L487.format(
                    problem=f"{record.method} could not be trained: {record.reason}.",
                    fix="Add --retry-failed.",
                )
            )

    def _choose_affordable(self, number_of_fold: int, fold: Path, names: list[str]) -> list[str]:
        """Return the baseline and the best other methods that fit into the remaining time.

        number_of_fold (int): Number of the fold, for messages.
        fold (Path): The next fold.
        names (List[str]): Methods that are still in the race: the baseline, then the best first.
        RETURNS (List[str]): The methods, or an empty list if the time does not suffice for two.
        """
        chosen: list[str] = []
        taken, missing = [0.0], self._find_missing(names, fold)
        for name in names:
            seconds = statistics.mean(r.seconds for r in self.records.values() if r.method == name)
            new = [*taken, seconds if name in missing else 0.0]
            if max(sum(new) / self.options.workers, *new) <= self.end - time.monotonic():
                chosen, taken = [*chosen, name], new
        if self.baseline not in chosen or len(chosen) < 2:
            self.say(f"No time for fold {number_of_fold}")
            return []
        if excluded := [name for name in names if name not in chosen]:
            self.say(f"No time for fold {number_of_fold} of {', '.join(excluded)}")
        return chosen

    def _is_done(self, name: str, fold: Path) -> bool:
        """Return whether the trial of a method on a fold has finished and not failed."""
        record = self.records.get(self.keys[name, fold])
        return record is not None and record.is_done

    def _evaluations(self, name: str) -> MethodRuns:
        """Return the evaluations of a method on all folds that were held out so far."""
        folds = [fold for fold in self.study.plan.corpora if self._is_done(name, fold)]
        return MethodRuns({(i, 0): self.held_out(self.keys[name, f]) for i, f in enumerate(folds)})
