"""A search run: trials drawn by several workers, each a training in a process of its own."""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...output.writing import coded_io
from ...training.provenance import DEV_SCORE
from ..trials.child import MODEL
from ..trials.engine import Ended, Engine, Stop
from ..trials.keys import code_version, digest
from ..trials.ledger import read_lines
from ..trials.process import Outcome, Task, launch
from ..trials.storage import KEY, STUDY, coded_storage, open_storage
from .draws import BASELINE, VALUES, Draw, Tried, baseline_of, best_of, is_ended, read_tried
from .search import MODELS, Search
from .watch import Watch

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial

STARTUP = 5  # trials that come to their end before any is pruned
WARMUP = 1 / 3  # of the steps before a trial can be pruned

Runner = Callable[[Draw, Path, Stop], Outcome]


class Options(NamedTuple):
    """How a search is run.

    n_trials (int): How many, of all processes and machines. workers (int): Trials at a time.
    gpu_id (int): -1 is the CPU. storage (Optional[str]): A database URL that several machines share, or
    an SQLite file; null is one in the output folder. minutes (Optional[float]): Time limit of a trial.
    """

    n_trials: int = 20
    workers: int = 1
    gpu_id: int = -1
    storage: str | None = None
    minutes: float | None = None


def run_search(search: Search, options: Options, runner: Runner | None = None) -> list[Tried]:
    """Run trials until there are enough. Stopping it at any moment loses the running ones alone, and
    their values are tried again.

    search (Search): What is searched. options (Options): How.
    runner (Optional[Callable]): What runs one trial, in tests.
    RETURNS (List[Tried]): All finished trials, of all machines.
    RAISES (ValueError): L406, L432, L477, L486, L491.
    """
    if runner is None:
        search.check()
        runner = partial(run_draw, search, options)
    with coded_io(search.output):
        (search.output / MODELS).mkdir(parents=True, exist_ok=True)
    workers = Workers(search, options, runner)
    workers.work(options.n_trials, min(len(workers.tried()), options.n_trials))
    tried = workers.tried()
    known = {record["key"] for record in read_lines(search.records)}
    for trial in tried:  # of other machines, or of a run that ended before it could write
        if search.key(trial.number) not in known:
            search.write(trial)
    return tried


class Workers(Engine):
    """Draws trials and runs them, until the study has enough. A trial's key is its number in the search.

    search (Search): What is searched. options (Options): How.
    runner (Callable): What runs one trial.
    RAISES (ValueError): L406, L432, L477, L491.
    """

    def __init__(self, search: Search, options: Options, runner: Runner) -> None:
        storage = open_storage(options.storage, search.output / STUDY, search.records)
        place = str(search.output.resolve())
        super().__init__(storage, search.name, search.output, place, options.workers)
        self.study.pruner = self.optuna.pruners.MedianPruner(STARTUP, int(WARMUP * search.steps))
        self.search, self.options, self.runner = search, options, runner

    def refill(self) -> bool:
        """Put up the next trial, unless there are enough of all processes and machines."""
        for key, attempt in self.missing(map(str, range(self.options.n_trials)), is_ended):
            self.put_up(key, attempt, self.search.space.baseline() if key == BASELINE else {})
            return True
        return False

    def tried(self) -> list[Tried]:
        """The finished trials of all processes and machines, in order."""
        return [read_tried(trial) for trial in self.trials() if is_ended(trial)]

    @coded_storage()
    def draw(self, trial: "Trial") -> Draw:
        """Values for a trial. trial (Trial): That `take` returned."""
        key = trial.user_attrs[KEY]
        # a sampler of its own: the draw does not depend on who makes it, nor on a restart
        seed = int(digest([self.search.seed, int(key)]), 16) % 2**32
        with self.lock:
            self.study.sampler = self.optuna.samplers.TPESampler(seed=seed, multivariate=False)
            values = self.search.space.draw(trial, key == BASELINE)
        trial.set_user_attr(VALUES, values)
        return Draw(trial, trial.number, values, key == BASELINE)

    def objective(self, trial: "Trial", work: Path) -> Ended | None:
        """Train with the values of a trial, unless it is pruned; keep its models."""
        draw = self.draw(trial)
        watch = Watch(draw, work, self.search.steps, lambda: self.stopped)
        outcome = self.runner(draw, work, watch)
        if watch.is_pruned:
            return Ended("pruned", None, outcome.seconds)
        if outcome.status == "stopped":
            return None
        watch.report()  # what came after the last look
        if outcome.status != "done":
            return Ended(outcome.status, None, outcome.seconds, outcome.error)
        with coded_io(work):
            score = json.loads((work / "dev.json").read_text("utf8"))["scores"][DEV_SCORE]
            target = self.search.model(trial.number)
            shutil.rmtree(target, ignore_errors=True)  # of a study that was deleted
            (work / MODEL).rename(target)
        return Ended("done", score, outcome.seconds)

    def show(self, trial: "Trial") -> None:
        """Write the record of a trial, and a line on it; delete the models that nobody needs."""
        with self.lock:
            tried = self.tried()
            found = [other for other in tried if other.number == trial.number]
            for ended in found:  # none, if another machine took it for abandoned
                self.search.write(ended)
                self.bar.write(title(ended), file=sys.stderr)  # stdout is for results
            self._drop_models(tried)
            self.bar.update(min(len(tried), self.options.n_trials) - self.bar.n)

    def _drop_models(self, tried: list[Tried]) -> None:
        """Keep the models of the baseline and of the best."""
        best, first = best_of(tried), baseline_of(tried)
        kept = {trial.number for trial in (best, first) if trial is not None}
        for trial in tried:
            if trial.number not in kept:
                shutil.rmtree(self.search.model(trial.number), ignore_errors=True)


def title(trial: Tried) -> str:
    """A trial in a line, for people."""
    values = ", ".join(f"{name} {value}" for name, value in trial.values.items())
    score = "" if trial.score is None else f", macro F1 on dev {100 * trial.score:.1f}"
    error = f": {trial.error.splitlines()[-1]}" if trial.error else ""
    name = f"trial {trial.number}{' (baseline)' if trial.is_baseline else ''}"
    return f"{name}: {values}: {trial.status}{score}, {trial.seconds:.0f} s{error}"


def run_draw(search: Search, options: Options, draw: Draw, work: Path, stop: Stop) -> Outcome:
    """Run one trial in a process of its own: train, and score on dev alone.

    search (Search): What is searched. options (Options): How. draw (Draw): The trial.
    work (Path): An empty folder for its files. stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended. RAISES (ValueError): L432.
    """
    task = Task(
        corpus=str(search.corpus),
        name=f"trial {draw.number}",
        gpu_id=options.gpu_id,
        drawn=False,
        parts=["dev"],
        version=search.version,
        code=code_version(),
    )
    config = search.space.configure(draw.values)
    return launch(work, config, task, options.minutes, stop)
