"""A search run: trials drawn by several workers, each a training in a process of its own."""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...training.provenance import DEV_SCORE
from ...writing import coded_io
from ..trials.child import MODEL
from ..trials.claims import open_storage
from ..trials.launch import launch
from ..trials.ledger import WORK, read_lines
from ..trials.pool import Pool
from ..trials.process import Outcome
from ..trials.run import JOURNAL
from .draws import Draw, Draws, Tried, baseline_of, best_of
from .search import MODELS, Search
from .watch import Watch

Stop = Callable[[], str | None]
Runner = Callable[[Draw, Path, Stop], Outcome]


class Options(NamedTuple):
    """How a search is run.

    n_trials (int): How many, of all processes and machines. workers (int): Trials at a time.
    gpu_id (int): -1 is the CPU. storage (Optional[str]): A database URL or a journal file that several
    machines share; null is a journal in the output folder. minutes (Optional[float]): Time limit of a
    trial.
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
        for name in (MODELS, WORK):
            (search.output / name).mkdir(parents=True, exist_ok=True)
    storage = open_storage(options.storage, search.output / JOURNAL)
    place = str(search.output.resolve())
    draws = Draws(storage, search.name, place, search.space, search.seed, search.steps)
    n_done = min(len(draws.tried()), options.n_trials)
    Workers(search, draws, options, runner).work(options.n_trials, n_done)
    tried = draws.tried()
    known = {record["key"] for record in read_lines(search.records)}
    for trial in tried:  # of other machines, or of a run that ended before it could write
        if search.key(trial.number) not in known:
            search.write(trial)
    return tried


class Workers(Pool[Draw]):
    """Threads that draw trials until the study has enough."""

    def __init__(self, search: Search, draws: Draws, options: Options, runner: Runner) -> None:
        super().__init__(options.workers)
        self.search, self.draws, self.options, self.runner = search, draws, options, runner

    def take(self) -> Draw | None:
        """New values to try, unless there are enough."""
        return self.draws.draw(self.options.n_trials)

    def is_waiting(self) -> bool:
        """Whether a trial is run, here or elsewhere."""
        return self.draws.n_running() > 0

    def reap(self) -> bool:
        """Draw again what others have abandoned."""
        found = self.draws.reap()
        for claim in found:
            shutil.rmtree(self.search.work(claim.number), ignore_errors=True)
        return bool(found)

    def do(self, draw: Draw) -> None:
        """Run a trial and close it."""
        work = self.search.work(draw.claim.number)
        try:
            with self.draws.alive(draw.claim):
                found = self._train(draw, work)
            if found is None:
                self.draws.give_back(draw.claim)
            else:
                self.draws.close(draw, *found)
        except BaseException:
            self.draws.give_back(draw.claim)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if found is not None:
            self._show(draw.claim.number)

    def _train(self, draw: Draw, work: Path) -> tuple[str, float | None, float, str] | None:
        """Status, score on dev, seconds and error of a trial; null if it was stopped."""
        with coded_io(work):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
        watch = Watch(draw, work, self.search.steps, lambda: self.stopped)
        outcome = self.runner(draw, work, watch)
        if watch.is_pruned:
            return "pruned", None, outcome.seconds, ""
        if outcome.status == "stopped":
            return None
        watch.report()  # what came after the last look
        if outcome.status != "done":
            return outcome.status, None, outcome.seconds, outcome.error
        with coded_io(work):
            score = json.loads((work / "dev.json").read_text("utf8"))["scores"][DEV_SCORE]
            target = self.search.model(draw.claim.number)
            shutil.rmtree(target, ignore_errors=True)  # of a study that was deleted
            (work / MODEL).rename(target)
        return "done", score, outcome.seconds, ""

    def _show(self, number: int) -> None:
        """Write the record of a trial, and a line on it; delete the models that nobody needs."""
        with self.lock:
            tried = self.draws.tried()
            found = [trial for trial in tried if trial.number == number]
            for trial in found:  # none, if another machine took it for abandoned
                self.search.write(trial)
                self.bar.write(title(trial), file=sys.stderr)  # stdout is for results
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
    task = {
        "corpus": str(search.corpus),
        "name": f"trial {draw.claim.number}",
        "gpu_id": options.gpu_id,
        "drawn": False,
        "parts": ["dev"],
        "version": search.version,
    }
    config = search.space.configure(draw.values)
    return launch(work, config, task, options.minutes, stop)
