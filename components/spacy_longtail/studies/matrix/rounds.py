"""A plan on folds, and its trials fold by fold within a budget: the better half goes on."""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...corpus.folder import load_docs, part_path, read_types, write_corpus
from ...corpus.splits import document_folds, parts_of_fold
from ...corpus.tokenizers import blank
from ...errors import Errors
from ...evaluation.report.systems import Run, read_run
from ...output.amounts import number
from ...output.writing import check_folder, coded_io, unless_holds, whole_folder
from ...training.provenance import checksum, digest
from ..trials.plan import Plan, unusable
from ..trials.records import FOLDER, TrialRecord, trial_folder
from ..trials.run import Matrix, TrialOptions
from .recommendation import macro_of
from .summary import Folds

FOLDS = "folds"  # in the output folder
FIRST_PART = 0.5  # of the budget, for the first fold
LONGEST = 0.4  # of the budget, for a trial beside the baseline


def fold_plan(plan: Plan, output: Path, n_folds: int) -> tuple[Plan, Folds]:
    """A plan with the folds of its corpora in their place, each trained as long as it gets better.

    plan (Plan): The plan. output (Path): Folder of the trials, in which the folds are written.
    n_folds (int): Of train and dev together, at least 3.
    RETURNS (Tuple[Plan, Mapping[Path, List[Path]]]): The plan, and the folds of each corpus.
    """
    if plan.draws:
        raise unusable("The plan", "sizes and shares cannot be compared on folds.")
    folds = {corpus: write_folds(corpus, output, n_folds) for corpus in plan.corpora}
    return plan._replace(corpora=[fold for paths in folds.values() for fold in paths]), folds


def write_folds(corpus: Path, output: Path, n_folds: int) -> list[Path]:
    """Write a corpus for each fold of train and dev together, stratified over types.

    The fold is the test part of its corpus, and the next fold is the dev part.

    corpus (Path): A folder that `convert` wrote.
    output (Path): Folder of the results. Folds that are there are taken as they are.
    n_folds (int): At least 3.
    RETURNS (List[Path]): The folder of each fold.
    """
    types = read_types(corpus)
    paths = {part: part_path(corpus, part) for part in ("train", "dev")}
    vocab = blank(types.lang, types.tokens)
    docs = [doc for path in paths.values() for doc in load_docs(path, vocab)]
    fold = document_folds(docs, n_folds, group_by=types.group_by)
    data = {part: checksum(path) for part, path in paths.items()}
    place = output / FOLDS / digest({**types._asdict(), **data, "folds": n_folds, "seed": 0})
    check_folder(output, [corpus], unless_holds(FOLDER))
    with coded_io(output):
        (output / FOLDER).mkdir(parents=True, exist_ok=True)
    folders = []
    for i in range(n_folds):
        folder = place / f"{corpus.resolve().name}-fold-{i}"
        if not folder.is_dir():
            with coded_io(folder), whole_folder(folder) as new:
                chosen = parts_of_fold(fold, i, n_folds)
                write_corpus(new, {name: [docs[k] for k in at] for name, at in chosen.items()}, types)
        folders.append(folder)
    return folders


class Rounds:
    """Trials fold by fold, of ever fewer methods.

    matrix (Matrix): A plan on folds. options (TrialOptions): How trials are run.
    minutes (float): Wall-clock time that they may take. labels (List[str]): The declared types.
    say (Callable): Gets progress.
    """

    def __init__(
        self,
        matrix: Matrix,
        options: TrialOptions,
        minutes: float,
        labels: list[str],
        say: Callable[[str], None],
    ) -> None:
        self.matrix, self.options, self.say = matrix, options, say
        self.baseline, self.seconds = matrix.plan.baseline, 60 * minutes
        self.end = time.monotonic() + self.seconds
        self.keys = {(t.method.name, t.corpus): key for key, t in matrix.trials.items()}
        self.records: dict[str, TrialRecord] = {}
        self.held_out: Callable[[str], Run] = cache(  # each file once, by content key
            lambda key: read_run(trial_folder(matrix.output, key) / "test.json", labels)
        )

    def run(self) -> dict[str, TrialRecord]:
        """The records of what there was time for."""
        names = [method.name for method in self.matrix.plan.methods]
        for i, fold in enumerate(self.matrix.plan.corpora):
            keys = {self.keys[name, fold]: name for name in names}
            again = self.options.retry_failed
            missing = [keys[key] for key in self.matrix.missing(keys, retry_failed=again)]
            if i == 0:
                self._first(names, missing, fold)
            else:
                names = self._affordable(names, missing)
                if len(names) < 2:
                    self.say(f"No time for fold {i + 1}")
                    break
                self.say(f"Fold {i + 1} of {', '.join(names)}")
                self._train(names, fold)
            done = [name for name in names if name != self.baseline and self._is_done(name, fold)]
            if not done:
                break
            names = [self.baseline, *sorted(done, key=self._score, reverse=True)[: (len(done) + 1) // 2]]
        return self.records

    def _first(self, names: list[str], missing: list[str], fold: Path) -> None:
        """A fold of as many methods as half of the budget allows; all of it, until one is done."""
        ready = [name for name in names if name not in missing]
        self._train(ready, fold)  # they take no time
        for start in range(0, len(missing), workers := self.options.workers):
            is_enough = any(self._is_done(name, fold) for name in names if name != self.baseline)
            if len(ready) + start > 1 and self._left() < (1 - FIRST_PART) * self.seconds * is_enough:
                self.say(f"There is no time for {number(len(missing) - start, 'candidate')} more")
                break
            self._train(missing[start : start + workers], fold)

    def _left(self) -> float:
        return self.end - time.monotonic()

    def _train(self, names: list[str], fold: Path) -> None:
        """Run trials. No other than the baseline may take a large part of the time."""
        keys = [self.keys[name, fold] for name in names]
        limit = None if self.baseline in names else LONGEST * self.seconds / 60
        records = self.matrix.run(replace(self.options, minutes=limit), keys)
        self.records |= {key: records[key] for key in keys}
        if self.baseline in names and not self._is_done(self.baseline, fold):
            record = records[self.keys[self.baseline, fold]]
            problem = f"{record.method} could not be trained: {record.error or record.status}"
            raise ValueError(Errors.L487.format(problem=problem, fix="Add --retry-failed."))

    def _affordable(self, names: list[str], missing: list[str]) -> list[str]:
        """The baseline and the best others that fit into the time that is left together."""
        chosen: list[str] = []
        taken = [0.0]
        for name in names:
            seconds = statistics.mean(r.seconds for r in self.records.values() if r.method == name)
            new = [*taken, seconds if name in missing else 0.0]
            if max(sum(new) / self.options.workers, *new) <= self._left():
                chosen, taken = [*chosen, name], new
        return chosen if self.baseline in chosen else []

    def _is_done(self, name: str, fold: Path) -> bool:
        record = self.records.get(self.keys[name, fold])
        return record is not None and record.is_done

    def _score(self, name: str) -> float:
        """Macro F1 of what was held out so far."""
        folds = [fold for fold in self.matrix.plan.corpora if self._is_done(name, fold)]
        return macro_of({(i, 0): self.held_out(self.keys[name, f]) for i, f in enumerate(folds)})
