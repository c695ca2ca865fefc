"""A search run with Optuna: each trial is a training in a process of its own."""

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from ...errors import Errors
from ...output.writing import coded_io, in_progress
from ...training.provenance import DEV_SCORE, read_curve
from ...training.train import BEST
from ..trials.child import MODEL
from ..trials.keys import code_version
from ..trials.process import Outcome, Task, launch
from .draws import BASELINE, ERROR, VALUES, Tried, baseline_of, best_of, read_tried
from .search import MODELS, STUDY, Search

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

STARTUP = 5  # trials that come to their end before any is pruned
WARMUP = 1 / 3  # of the steps before a trial can be pruned
BEAT = 30  # seconds between signs of life, without which another run tries a trial's values again

Stop = Callable[[], str | None]
Runner = Callable[["Trial", Path, Stop], Outcome]


class Options(NamedTuple):
    """How a search is run.

    n_trials (int): How many in all. gpu_id (int): -1 is the CPU.
    minutes (Optional[float]): Time limit of a trial.
    """

    n_trials: int = 20
    gpu_id: int = -1
    minutes: float | None = None


class FailedTrialError(Exception):
    """A training failed: it counts, and the search goes on."""


def run_search(search: Search, options: Options, runner: Runner | None = None) -> list[Tried]:
    """Run trials until there are enough. Stopping it at any moment loses the running trial alone.

    search (Search): What is searched. options (Options): How.
    runner (Optional[Callable]): What runs one trial, in tests.
    RETURNS (List[Tried]): All finished trials, those of earlier runs too.
    RAISES (ValueError): L406, L432, L486.
    """
    import_optuna()
    if runner is None:
        search.check()
        runner = partial(run_trial, search, options)
    with coded_io(search.output):
        (search.output / MODELS).mkdir(parents=True, exist_ok=True)
    study = _study(search)
    if not any(BASELINE in trial.user_attrs and _is_live(trial) for trial in study.trials):
        study.enqueue_trial({}, user_attrs={BASELINE: True})
    study.optimize(
        partial(_objective, search, runner),
        n_trials=max(options.n_trials - len(tried_of(study)), 0),
        callbacks=[partial(_after, search, options.n_trials)],
        catch=(FailedTrialError,),
    )
    return tried_of(study)


def _study(search: Search) -> "Study":
    """The study of a search, made if it is not there. RAISES (ValueError): L406, L477."""
    optuna, path = import_optuna(), search.output / STUDY
    again = optuna.storages.RetryHeartbeatStaleTrialCallback()
    try:
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{path}",
            heartbeat_interval=BEAT,
            heartbeat_stale_trial_callback=again,
        )
        study: Study = optuna.create_study(
            storage=storage,
            sampler=optuna.samplers.TPESampler(seed=search.seed),
            pruner=optuna.pruners.MedianPruner(STARTUP, int(WARMUP * search.steps)),
            study_name=search.name,
            direction="maximize",
            load_if_exists=True,
        )
    except Exception as error:  # of the database
        problem = f"{error}".splitlines()[0]
        raise ValueError(Errors.L477.format(path=path, problem=problem)) from error
    return study


def tried_of(study: "Study") -> list[Tried]:
    """The finished trials of a study, in order."""
    return [tried for trial in study.trials if (tried := read_tried(trial)) is not None]


def import_optuna() -> ModuleType:
    """Optuna without its chatter. RAISES (ValueError): L406."""
    try:
        import optuna
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="optuna", extra="tune")) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _is_live(trial: "FrozenTrial") -> bool:
    """Whether a trial has finished, runs, or waits."""
    return trial.state.name in ("RUNNING", "WAITING") or read_tried(trial) is not None


def _objective(search: Search, runner: Runner, trial: "Trial") -> float:
    """Train with the values of a trial; keep its models. RETURNS (float): Macro F1 on dev."""
    is_baseline = BASELINE in trial.user_attrs
    parameters = search.space.parameters
    values = {p.name: p.suggest(trial) for p in parameters if not is_baseline or p.has(p.baseline)}
    trial.set_user_attr(VALUES, search.space.baseline() if is_baseline else values)
    with coded_io(search.output), TemporaryDirectory(prefix="work-", dir=search.output) as folder:
        work, seen = Path(folder), set[int]()
        outcome = runner(trial, work, partial(_watch, trial, work, seen, search.steps))
        if outcome.status == "stopped":
            raise import_optuna().TrialPruned(outcome.error)
        _watch(trial, work, seen, search.steps)  # what came after the last look
        if outcome.status != "done":
            trial.set_user_attr(ERROR, outcome.error)
            raise FailedTrialError(outcome.error)
        target = search.model(trial.number)
        shutil.rmtree(target, ignore_errors=True)  # of a study that was deleted
        (work / MODEL).rename(target)
        score: float = json.loads((work / "dev.json").read_text("utf8"))["scores"][DEV_SCORE]
    return score


def _watch(trial: "Trial", work: Path, seen: set[int], steps: int) -> str | None:
    """Tell the study of new evaluations, and why a training must end; null lets it go on."""
    points: dict[int, float] = {}
    target = work / MODEL
    for folder in (*in_progress(target), target):
        with suppress(FileNotFoundError):  # a training is renamed when it is done
            curve = read_curve(folder / BEST)
            points |= {int(p["step"]): p[DEV_SCORE] for p in curve if DEV_SCORE in p}
    new = [step for step in points if step not in seen]
    for step in new:
        trial.report(points[step], step)
    seen.update(new)
    # others are compared with the baseline; a finished training costs no more
    is_safe = not new or new[-1] >= steps or BASELINE in trial.user_attrs
    return None if is_safe or not trial.should_prune() else f"Pruned after step {new[-1]}."


def _after(search: Search, n_trials: int, study: "Study", trial: "FrozenTrial") -> None:
    """Print a line on a trial, delete the models that nobody needs, and stop where there are enough."""
    tried = tried_of(study)
    for ended in tried:
        if ended.number == trial.number:
            sys.stderr.write(f"{title(ended)}\n")  # stdout is for results
    kept = {own.number for own in (best_of(tried), baseline_of(tried)) if own is not None}
    for ended in tried:
        if ended.number not in kept:
            shutil.rmtree(search.model(ended.number), ignore_errors=True)
    if len(tried) >= n_trials:
        study.stop()


def title(trial: Tried) -> str:
    """A trial in a line, for people."""
    values = ", ".join(f"{name} {value}" for name, value in trial.values.items())
    score = "" if trial.score is None else f", macro F1 on dev {100 * trial.score:.1f}"
    error = f": {trial.error.splitlines()[-1]}" if trial.error else ""
    name = f"trial {trial.number}{' (baseline)' if trial.is_baseline else ''}"
    return f"{name}: {values}: {trial.status}{score}, {trial.seconds:.0f} s{error}"


def run_trial(search: Search, options: Options, trial: "Trial", work: Path, stop: Stop) -> Outcome:
    """Train in a process of its own, and score on dev alone.

    search (Search): What is searched. options (Options): How. trial (Trial): With its values.
    work (Path): An empty folder for its files. stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended. RAISES (ValueError): L432.
    """
    task = Task(
        corpus=str(search.corpus),
        name=f"trial {trial.number}",
        gpu_id=options.gpu_id,
        drawn=False,
        parts=["dev"],
        version=search.version,
        code=code_version(),
    )
    config = search.space.configure(trial.user_attrs[VALUES])
    return launch(work, config, task, options.minutes, stop)
