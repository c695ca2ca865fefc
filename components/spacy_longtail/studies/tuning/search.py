"""Search over config values with Optuna. Each trial is a training in a separate process."""

import json
import random
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

from thinc.api import Config

from ...errors import Errors, Warnings
from ...extras import extra
from ...hub import check_models
from ...output.amounts import number, percent
from ...output.writing import check_folder, coded_io, in_progress, unless_holds, write_file
from ...training.provenance import DEV_SCORE, digest, read_curve, typed
from ...training.startup import check_gpu
from ...training.train import BEST, refuse_parts, warn_seen
from ...types import Overrides
from ..trials.child import MODEL
from ..trials.compose import block_of, compose, read_base
from ..trials.keys import code_version, config_content, corpus_version
from ..trials.plan import is_whole
from ..trials.process import Outcome, Stop, Task, launch
from ..trials.recipes import commented, fill

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Study, Trial
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

STUDY = "study.db"  # Optuna's database
MODELS = "models"
WORK = "work-"  # prefix of the folder of a running trial
BEST_CONFIG = "best.cfg"
LEAST_EVALUATIONS = 3
STARTUP = 5  # number of finished trials before any is pruned
WARMUP = 1 / 3  # fraction of the steps before a trial can be pruned
BASELINE, VALUES, ERROR = "baseline", "values", "error"  # attributes of a trial

Runner = Callable[["Trial", Path, Stop], Outcome]
Choice = str | float | bool | None  # a value of a categorical parameter

# settings of the length of a training and of its evaluations, which must be equal for all trials
LENGTHS = tuple(f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency"))
DIGITS = 4  # significant digits of a sampled number; more would make the config unreadable
FORM = "Write SECTION.NAME=LOW:HIGH, with :log after it for a logarithmic range, or SECTION.NAME=A,B,C."


class Parameter(NamedTuple):
    """Config value to search, with its range or choices."""

    name: str  # dotted, as in the config
    baseline: object  # the config's value
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Choice, ...] = ()  # instead of a range

    @property
    def text(self) -> str:
        """Return the range or the choices, for people."""
        if self.choices:
            return ", ".join(f"{choice}" for choice in self.choices)
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"

    def has(self, value: object) -> bool:
        """Return whether a value is in the range or among the choices."""
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.low <= value <= self.high and (not self.whole or value == int(value))

    def suggest(self, trial: "Trial") -> object:
        """Return the value for a trial."""
        if self.choices:
            return trial.suggest_categorical(self.name, list(self.choices))
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        value = trial.suggest_float(self.name, self.low, self.high, log=self.log)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


def read_parameters(config: Config, given: list[str]) -> list[Parameter]:
    """What to search of a config.

    config (Config): Complete and interpolated.
    given (List[str]): SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C, as on the command line.
    """
    parameters: dict[str, Parameter] = {}
    for text in given:
        try:
            parameter = _read(text, config)
            if parameter.name in parameters:
                raise ValueError("the value is named twice")
        except ValueError as error:
            raise cannot_search(f"--search {text}: {error}.", FORM) from error
        parameters[parameter.name] = parameter
    return list(parameters.values())


def cannot_search(problem: str, fix: str) -> ValueError:
    """Return the error for a search that cannot be run."""
    return ValueError(Errors.L483.format(problem=problem, fix=fix))


def _read(text: str, config: Config) -> Parameter:
    name, _, spec = text.partition("=")
    if name in LENGTHS:
        raise ValueError("trials are compared at equal steps")
    *sections, last = name.split(".")
    block = block_of(config, sections)
    if not spec or not sections or block is None or last not in block:
        raise ValueError("the config has no such value" if spec else "it has no range")
    baseline = block[last]
    if ":" not in spec:
        return Parameter(name, baseline, choices=_choices(spec))
    is_log = spec.endswith(":log")
    try:
        low, high = (float(end) for end in spec.removesuffix(":log").split(":"))
    except ValueError as error:
        raise ValueError(f"{spec!r} is not a range of numbers") from error
    if not (-1e300 < low < high < 1e300):  # Optuna needs a finite width
        raise ValueError("the range must go up, from one finite number to another")
    if is_log and low <= 0:
        raise ValueError("a logarithmic range starts above 0")
    is_whole = isinstance(baseline, int) or (baseline is None and low == int(low) and high == int(high))
    return Parameter(name, baseline, low, high, is_log, is_whole and not isinstance(baseline, bool))


def _choices(spec: str) -> tuple[Choice, ...]:
    choices = tuple(_value(part) for part in spec.split(","))
    is_nested = any(isinstance(value, (list, dict)) for value in choices)
    if is_nested or len(set(choices)) < max(len(choices), 2):
        raise ValueError("choices must be at least two numbers or words, each once")
    return choices


def _value(text: str) -> Choice:
    try:
        return json.loads(text)
    except ValueError:
        return text


class FailedTrialError(Exception):
    """Failed training. It counts as a trial, and the search continues."""


class Tried(NamedTuple):
    """Finished trial."""

    number: int
    values: Overrides  # by name of the parameter
    is_baseline: bool
    status: str  # done, pruned or failed
    score: float | None  # best macro F1 on dev
    curve: list[tuple[int, float]]  # step, and macro F1 on dev
    seconds: float
    error: str


class Search:
    """Search over settings of a config. All trials are trained for the same number of steps.

    config (Path): Config to start from.
    settings (Overrides): Config values by dotted name, which override those of the config.
    given (List[str]): Settings to search: SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C.
    corpus (Path): Folder of a converted corpus.
    output (Path): Folder of the results. A search in this folder is resumed.
    seed (int): Random seed of the search.
    RAISES (ValueError): If the search cannot be run (L483), or a setting is invalid.
    """

    def __init__(
        self,
        config: Path,
        settings: Overrides,
        given: list[str],
        corpus: Path,
        output: Path,
        seed: int = 0,
    ) -> None:
        import_optuna()
        refuse_parts(settings)
        for name in ("training.patience", "training.max_epochs"):
            if settings.get(name, 0) not in (0, -1):
                raise cannot_search(f"{name} would be ignored: all train equal steps.", "Use --steps.")
        filled = fill(compose(read_base(config), {}, settings), corpus, f"{config}")
        whole = filled.interpolate()
        training = whole["training"]
        steps, frequency = training["max_steps"], training["eval_frequency"]
        if not (is_whole(steps) and is_whole(frequency) and 0 < LEAST_EVALUATIONS * frequency <= steps):
            problem = f"pruning needs {LEAST_EVALUATIONS} evaluations, found {steps} steps."
            raise cannot_search(problem, "Give more --steps, or --set training.eval_frequency=N.")
        check_folder(output, [corpus], unless_holds(MODELS))
        self.corpus, self.output, self.seed = corpus, output, seed
        self.steps: int = steps
        epochs = -1 if training["max_epochs"] == -1 else 0  # -1 streams
        self.config = compose(filled, {}, {"training.patience": 0, "training.max_epochs": epochs})
        self.parameters = read_parameters(whole, given)
        data = {"corpus": corpus_version(corpus), "code": code_version(), "seed": seed}
        content = {"config": config_content(self.config), "space": self.parameters, **data}
        self.name = f"tune-{digest(content)}"

    def check(self) -> None:
        """Build the pipelines with the first and the last values of all settings.

        So mistakes show before hours of training.

        RAISES (ValueError): If a pipeline cannot be built (L480).
        """
        for i in (0, -1):
            values = {p.name: (p.choices or (p.low, p.high))[i] for p in self.parameters}
            shown = ", ".join(f"{name} = {value}" for name, value in values.items())
            with warnings.catch_warnings():  # the ends of a range may never be sampled
                warnings.simplefilter("ignore")
                fill(compose(self.config, {}, values), self.corpus, f"the config with {shown}")
        whole = self.config.interpolate()
        chosen_by = [name for name, weight in whole["training"]["score_weights"].items() if weight]
        if chosen_by != [DEV_SCORE]:
            shown = ", ".join(chosen_by) or "spaCy's own scores"
            warnings.warn(Warnings.W092.format(found=shown), stacklevel=2)
        check_models(whole)
        warn_seen(whole, self.corpus)

    def model(self, number: int) -> Path:
        """Return the folder with the models of a trial."""
        return self.output / MODELS / f"{self.name}-{number}"

    def run(
        self,
        n_trials: int,
        *,
        gpu_id: int = -1,
        minutes: float | None = None,
        runner: Runner | None = None,
    ) -> list[Tried]:
        """Run trials until there are enough. An interruption loses only the running trial.

        Only one process at a time may run a search in a folder.

        n_trials (int): Total number of trials, including those of earlier runs.
        gpu_id (int): ID of the GPU, or -1 for the CPU.
        minutes (Optional[float]): Time limit of each trial.
        runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
        RETURNS (List[Tried]): All finished trials, including those of earlier runs.
        """
        if runner is None:
            check_gpu(gpu_id)
            self.check()
            runner = partial(run_trial, self, gpu_id, minutes)
        with coded_io(self.output):
            (self.output / MODELS).mkdir(parents=True, exist_ok=True)
        for left in self.output.glob(f"{WORK}*"):  # left by a search that was killed
            shutil.rmtree(left, ignore_errors=True)
        study = self._study()
        for n in range(len(_finished(study)), n_trials):
            study.sampler = self._sampler(n)
            study.optimize(
                partial(self._objective, runner),
                n_trials=1,
                callbacks=[self._after],
                catch=(FailedTrialError,),
            )
        return _finished(study)

    def _sampler(self, n_finished: int) -> "BaseSampler":
        """Return the sampler of the next trial.

        It depends only on the seed and the finished trials, so that a resumed search samples the
        same values as an uninterrupted one.
        """
        seed = random.Random(f"{self.seed}/{n_finished}").getrandbits(32)
        return import_optuna().samplers.TPESampler(seed=seed)

    def _study(self) -> "Study":
        """Load or create the Optuna study of the search. Its first trial is the baseline."""
        optuna, path = import_optuna(), self.output / STUDY
        try:
            study: Study = optuna.create_study(
                storage=f"sqlite:///{path}",
                pruner=optuna.pruners.MedianPruner(STARTUP, int(WARMUP * self.steps)),
                study_name=self.name,
                direction="maximize",
                load_if_exists=True,
            )
        except Exception as error:  # the database raises many types of errors
            problem = f"{error}".splitlines()[0]
            raise ValueError(Errors.L477.format(path=path, problem=problem)) from error
        is_queued = any(trial.state.name == "WAITING" for trial in study.trials)
        if not (is_queued or any(trial.is_baseline for trial in _finished(study))):
            values = {p.name: p.baseline for p in self.parameters if p.has(p.baseline)}
            study.enqueue_trial(values, user_attrs={BASELINE: True})
        return study

    def _objective(self, runner: Runner, trial: "Trial") -> float:
        """Train with the values of a trial, keep its models and return macro F1 on dev."""
        is_baseline = BASELINE in trial.user_attrs
        drawn = [p for p in self.parameters if not is_baseline or p.has(p.baseline)]
        values = {p.name: p.suggest(trial) for p in drawn}
        baseline = {p.name: p.baseline for p in self.parameters}
        trial.set_user_attr(VALUES, baseline if is_baseline else values)
        with coded_io(self.output), TemporaryDirectory(prefix=WORK, dir=self.output) as folder:
            work = Path(folder)
            watch = partial(_watch, trial, work, set(), self.steps)
            outcome = runner(trial, work, watch)
            if outcome.status == "stopped":
                raise import_optuna().TrialPruned(outcome.error)
            watch()  # reports evaluations since the last check
            if outcome.status != "done":
                trial.set_user_attr(ERROR, outcome.error)
                raise FailedTrialError(outcome.error)
            target = self.model(trial.number)
            shutil.rmtree(target, ignore_errors=True)  # left by a study that was deleted
            (work / MODEL).rename(target)
            score: float = json.loads((work / "dev.json").read_text("utf8"))["scores"][DEV_SCORE]
        return score

    def _after(self, study: "Study", trial: "FrozenTrial") -> None:
        """Print a line on a trial, and delete all models except the best and the baseline."""
        tried = _finished(study)
        best = best_of(tried)
        for run in tried:
            if run.number == trial.number:
                sys.stderr.write(f"{title(run)}\n")  # stdout is for results
            if not run.is_baseline and run != best:
                shutil.rmtree(self.model(run.number), ignore_errors=True)

    def write_best(self, tried: list[Tried], best: Tried) -> Path:
        """Write the best config, which `spacy train` accepts without changes.

        tried (List[Tried]): All finished trials.
        best (Tried): The best trial.
        RETURNS (Path): The config file.
        """
        n_pruned = sum(trial.status == "pruned" for trial in tried)
        trials, steps = number(len(tried), "trial"), number(self.steps, "step")
        path = self.output / BEST_CONFIG
        head = [
            f"The best of {trials} ({n_pruned} pruned) of {steps}: {title(best)}.",
            f"It was chosen on the dev part of {self.corpus.name}, so that this score flatters it.",
            f"Train it: python -m spacy train {typed(path)} --output training/best",
        ]
        comments = {p.name: f"tuned: {p.text}; the baseline has {p.baseline}" for p in self.parameters}
        write_file(path, commented(compose(self.config, {}, best.values), head, comments))
        return path


def import_optuna() -> ModuleType:
    """Return the module optuna, with its log messages turned off."""
    with extra("optuna", "tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _finished(study: "Study") -> list[Tried]:
    return [tried for trial in study.trials if (tried := _tried(trial)) is not None]


def _tried(trial: "FrozenTrial") -> Tried | None:
    """Return a finished trial of the study, or None if it is running or was interrupted."""
    kept, curve = trial.user_attrs, sorted(trial.intermediate_values.items())
    status = {"COMPLETE": "done", "PRUNED": "pruned"}.get(trial.state.name)
    if status is None and ERROR not in kept:
        return None
    return Tried(
        number=trial.number,
        values=kept.get(VALUES, {}),
        is_baseline=BASELINE in kept,
        status=status or "failed",
        score=trial.value if status == "done" else max((f for _, f in curve), default=None),
        curve=curve,
        seconds=round(trial.duration.total_seconds(), 1) if trial.duration else 0.0,
        error=kept.get(ERROR, ""),
    )


def best_of(tried: list[Tried]) -> Tried | None:
    """Return the trial with the best macro F1 on dev, or None if none is done.

    Among equal trials the baseline is preferred, then the first.
    """
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def _watch(trial: "Trial", work: Path, seen: set[int], steps: int) -> str | None:
    """Report new evaluations to the study, and return why the training must end, or None."""
    points: dict[int, float] = {}
    target = work / MODEL
    for folder in (*in_progress(target), target):
        with suppress(FileNotFoundError):  # the folder is renamed when the training is done
            points |= {int(p["step"]): p[DEV_SCORE] for p in read_curve(folder / BEST) if DEV_SCORE in p}
    new = [step for step in points if step not in seen]
    for step in new:
        trial.report(points[step], step)
    seen.update(new)
    # the baseline is needed for comparison, and pruning a finished training saves nothing
    is_safe = not new or new[-1] >= steps or BASELINE in trial.user_attrs
    return None if is_safe or not trial.should_prune() else f"Pruned after step {new[-1]}."


def title(trial: Tried) -> str:
    """Return one line on a trial, for people."""
    values = ", ".join(f"{name} {value}" for name, value in trial.values.items())
    score = "" if trial.score is None else f", macro F1 on dev {percent(trial.score)}"
    error = f": {trial.error.splitlines()[-1]}" if trial.error else ""
    name = f"trial {trial.number}{' (baseline)' if trial.is_baseline else ''}"
    return f"{name}: {values}: {trial.status}{score}, {trial.seconds:.0f} s{error}"


def run_trial(
    search: Search, gpu_id: int, minutes: float | None, trial: "Trial", work: Path, stop: Stop
) -> Outcome:
    """Train in a separate process, and score on dev only.

    search (Search): The search.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    minutes (Optional[float]): Time limit.
    trial (optuna.Trial): Trial with its values.
    work (Path): Empty folder for its files.
    stop (Callable): Returns why the training must end, or None.
    RETURNS (Outcome): End of the process.
    """
    corpus, name = str(search.corpus), f"trial {trial.number}"
    task = Task(corpus=corpus, name=name, gpu_id=gpu_id, drawn=False, parts=["dev"])
    return launch(work, compose(search.config, {}, trial.user_attrs[VALUES]), task, minutes, stop)
