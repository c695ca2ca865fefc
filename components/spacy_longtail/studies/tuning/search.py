"""Search over config values with Optuna. Each trial is a training in a separate process."""

import math
import random
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from thinc.api import Config

from ...errors import Errors, Warnings
from ...extras import extra
from ...hub import check_models
from ...output.console import number, percent
from ...output.targets import check_file, check_folder, unless_holds
from ...output.writing import write_file
from ...training.pretrained import warn_seen
from ...training.provenance import DEV_SCORE, from_override, shell_path
from ...training.startup import check_gpu
from ...types import Overrides
from ..configs.commented import commented
from ..configs.compose import block_of, compose, read_base
from ..configs.recipes import with_corpus_and_defaults
from ..trials.plan import Trial, TrialMethod, is_whole, owner_of
from ..trials.process import MODEL, ProcessEnd
from ..trials.run import Runner, TrialOptions, run_trial
from ..trials.store import (
    FOLDER,
    TrialRecord,
    TrialStore,
    corpus_version,
    read_points,
    trial_key,
)

if TYPE_CHECKING:  # Optuna is an extra
    import optuna

BEST_CONFIG = "best.cfg"
MIN_EVALUATIONS = 3  # of a training, so that some lie between the warm-up and the end
TRIAL = "trial "  # and its number: the name of a trial's method
STARTUP = 5  # number of finished trials before any is pruned
WARMUP = 1 / 3  # fraction of the steps before a trial can be pruned
Choice = str | float | bool | None  # a value of a categorical parameter

# settings of the length of a training and of its evaluations, which must be equal for all trials
LENGTH_SETTINGS = tuple(
    f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency")
)
DIGITS = 4  # significant digits of a sampled number; more would make the config unreadable


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
        kinds = ", ".join(["whole"] * self.whole + ["log"] * self.log)
        return f"{self.low:g} to {self.high:g}{f' ({kinds})' if kinds else ''}"

    def has(self, value: object) -> bool:
        """Return whether a value is in the range or among the choices."""
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.low <= value <= self.high and (not self.whole or value == int(value))

    def suggest(self, trial: "optuna.Trial") -> object:
        """Return the value for a trial."""
        if self.choices:
            return trial.suggest_categorical(self.name, list(self.choices))
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        value = trial.suggest_float(self.name, self.low, self.high, log=self.log)
        # a range far narrower than its ends needs more digits to have values between them
        ratio = max(abs(self.low), abs(self.high)) / (self.high - self.low)
        digits = max(DIGITS, DIGITS - 1 + math.floor(math.log10(ratio)))
        return min(max(float(f"{value:.{digits}g}"), self.low), self.high)


def read_parameters(config: Config, given: list[str]) -> list[Parameter]:
    """Return the settings to search, with their ranges or choices.

    config (Config): The complete config, interpolated.
    given (List[str]): SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C, as on the command line.
    RETURNS (List[Parameter]): The settings in the given order.
    RAISES (ValueError): If a setting is not in the config, or its range is invalid (L483).
    """
    parameters: dict[str, Parameter] = {}
    for text in given:
        try:
            parameter = _read(text, config)
            if parameter.name in parameters:
                raise ValueError("the value is named twice")
        except ValueError as error:
            raise cannot_search(
                f"--search {text}: {error}.",
                "Write SECTION.NAME=LOW:HIGH, with :log after it for a logarithmic range, "
                "or SECTION.NAME=A,B,C.",
            ) from error
        parameters[parameter.name] = parameter
    return list(parameters.values())


def cannot_search(problem: str, fix: str) -> ValueError:
    """Return the error for a search that cannot be run."""
    return ValueError(Errors.L483.format(problem=problem, fix=fix))


def refuse_owned(names: Iterable[str]) -> None:
    """Refuse config values that the corpus sets, because any others would be ignored."""
    for name in names:
        if owner_of(name) == "corpora":
            raise cannot_search(f"{name} cannot be set, because the corpus sets it.", "Omit it.")


def _read(text: str, config: Config) -> Parameter:
    name, _, spec = text.partition("=")
    if name in LENGTH_SETTINGS:
        raise ValueError("trials are compared at equal steps")
    block, key = block_of(config, name)
    if not spec or "." not in name or block is None or key not in block:
        raise ValueError("the config has no such value" if spec else "it has no range")
    baseline = block[key]
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
    # a setting that also takes fractions may be written without a decimal point in the config
    is_typed_whole = low == int(low) and high == int(high) and "." not in spec
    is_range_whole = is_typed_whole and (baseline is None or is_whole(baseline))
    if is_range_whole:
        low, high = int(low), int(high)
    return Parameter(name, baseline, low, high, is_log, is_range_whole)


def _choices(spec: str) -> tuple[Choice, ...]:
    choices = tuple(map(from_override, spec.split(",")))
    is_nested = any(isinstance(value, (list, dict)) for value in choices)
    if is_nested or len(set(choices)) < max(len(choices), 2):
        raise ValueError("choices must be at least two numbers or words, each once")
    return choices


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
    key: str  # of its folder among the trials


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


def tell_result(trial: "optuna.Trial", values: Overrides, record: TrialRecord) -> Tried:
    """Tell Optuna the result of a trial, and return it.

    trial (optuna.Trial): The trial.
    values (Overrides): Its values by name of the parameter.
    record (TrialRecord): Its record.
    """
    points = {int(point["step"]): float(point[DEV_SCORE]) for point in record.curve}
    report_scores(trial, points)
    score = record.score("dev") if record.is_done else None
    status = record.status if record.status in ("done", "pruned") else "failed"
    states = import_optuna().trial.TrialState
    lost = states.PRUNED if status == "pruned" else states.FAIL
    trial.study.tell(trial, score, state=lost if score is None else None)
    return Tried(
        number=trial.number,
        values=values,
        is_baseline=trial.number == 0,
        status=status,
        score=max(points.values(), default=None) if score is None else score,
        curve=sorted(points.items()),
        seconds=record.seconds,
        error=record.error,
        key=record.key,
    )


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
        refuse_owned([*settings, *(text.partition("=")[0] for text in given)])
        for name in ("training.patience", "training.max_epochs"):
            if settings.get(name, 0) not in (0, -1):
                raise cannot_search(f"{name} would be ignored: all train equal steps.", "Use --steps.")
        complete = with_corpus_and_defaults(
            compose(read_base(config), {}, settings), corpus, f"{config}"
        )
        whole = complete.interpolate()
        training = whole["training"]
        steps, frequency = training["max_steps"], training["eval_frequency"]
        if not (is_whole(steps) and is_whole(frequency) and 0 < MIN_EVALUATIONS * frequency <= steps):
            raise cannot_search(
                f"pruning needs {MIN_EVALUATIONS} evaluations, found {steps} steps with one every "
                f"{frequency}.",
                "Give more --steps, or --set training.eval_frequency=N.",
            )
        check_folder(output, [corpus], unless_holds(FOLDER))
        check_file(output / BEST_CONFIG, [config])
        self.corpus, self.output, self.seed = corpus, output, seed
        self.store, self.steps = TrialStore(output), int(steps)
        epochs = -1 if training["max_epochs"] == -1 else 0  # -1 streams
        self.config = compose(complete, {}, {"training.patience": 0, "training.max_epochs": epochs})
        self.parameters = read_parameters(whole, given)
        self.data = corpus_version(corpus)
        self.name = trial_key(self.config, self.data, space=self.parameters, seed=seed)

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
                tried = compose(self.config, {}, values)
                with_corpus_and_defaults(tried, self.corpus, f"the config with {shown}")
        whole = self.config.interpolate()
        chosen_by = [name for name, weight in whole["training"]["score_weights"].items() if weight]
        if chosen_by != [DEV_SCORE]:
            warnings.warn(
                Warnings.W092.format(found=", ".join(chosen_by) or "spaCy's own scores"), stacklevel=2
            )
        check_models(whole)
        warn_seen(whole, self.corpus)

    def run(
        self, n_trials: int, options: TrialOptions | None = None, runner: Runner | None = None
    ) -> list[Tried]:
        """Run trials until there are enough. An interruption loses only the running trial.

        The search is replayed from its first trial: a trial that is in the store is not run again.
        Only one process at a time may run a search in a folder.

        n_trials (int): Total number of trials, including those of earlier runs.
        options (Optional[TrialOptions]): GPU, time limit of each trial, and whether to repeat
            failed ones. The trials after a repeated one may then have other values.
        runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
        RETURNS (List[Tried]): All finished trials, including those of earlier runs.
        """
        options = options or TrialOptions()
        if runner is None:
            check_gpu(options.gpu_id)
            self.check()
        self.store.create()
        before = self.store.records()
        stored = {key: record for key, record in before.items() if not options.repeats(record)}
        former = self._replayed(before) if len(stored) < len(before) else []
        records, study, tried = dict(stored), self._study(), list[Tried]()
        last = _last_number(stored.values())
        for n in count():
            optuna_trial, values, trial, key = self._proposed(study, n)
            if n == 0:
                self.store.warn_outdated([key], [trial.title])
            if n >= n_trials and (key not in stored or n > last):
                break
            is_known = key in stored and stored[key].method == trial.method.name
            if key not in records:
                records[key] = self._train(key, trial, optuna_trial, options, runner)
            tried.append(tell_result(optuna_trial, values, records[key]))
            if not is_known:
                sys.stderr.write(f"{describe_trial(tried[-1])}\n")  # stdout is for results
                self._delete_models(tried)
        self._delete_models(tried, former)  # at the end, because a former trial may be the best again
        return tried

    def _proposed(self, study: "optuna.Study", n: int) -> "tuple[optuna.Trial, Overrides, Trial, str]":
        """Return the n-th trial of a search: that of Optuna, its values, the trial and its key."""
        # depends only on the seed and the finished trials, so that a resumed search samples the
        # same values as an uninterrupted one
        sampler_seed = random.Random(f"{self.seed}/{n}").getrandbits(32)
        study.sampler = import_optuna().samplers.TPESampler(seed=sampler_seed)
        values = self._values(optuna_trial := study.ask())
        config = compose(self.config, {}, values)
        method = TrialMethod(f"{TRIAL}{n}", {}, config)
        trial = Trial(self.corpus, method, config.interpolate()["system"]["seed"], None)
        return optuna_trial, values, trial, trial_key(trial.config(), self.data, search=self.name)

    def _replayed(self, records: Mapping[str, TrialRecord]) -> list[Tried]:
        """Return the trials of the search so far, before any of them is repeated."""
        study, tried = self._study(), list[Tried]()
        for n in range(_last_number(records.values()) + 1):
            optuna_trial, values, _, key = self._proposed(study, n)
            if key not in records:
                break
            tried.append(tell_result(optuna_trial, values, records[key]))
        return tried

    def _delete_models(self, tried: list[Tried], former: Iterable[Tried] = ()) -> None:
        """Delete the pipelines of all trials except the baseline and the best one.

        tried (List[Tried]): The trials of the search.
        former (Iterable[Tried]): Trials from before others were repeated, whose values may no
            longer be tried.
        """
        kept = {tried[0].key, getattr(best_of(tried), "key", "")}
        for other in {own.key for own in (*tried, *former)} - kept:
            shutil.rmtree(self.store.place(other) / MODEL, ignore_errors=True)

    def _train(
        self,
        key: str,
        trial: Trial,
        optuna_trial: "optuna.Trial",
        options: TrialOptions,
        runner: Runner | None,
    ) -> TrialRecord:
        """Run a trial, which ends early if Optuna prunes it."""
        run = runner or partial(run_trial, options, ["dev"], self.store.place(key))

        def start(work: Path) -> ProcessEnd:
            end = run(trial, work, partial(self._prune, optuna_trial, work))
            return end._replace(status="pruned") if end.status == "stopped" else end

        return self.store.train(
            key, trial, start, steps=self.steps, minutes=options.minutes, keep_model=True
        )

    def _values(self, optuna_trial: "optuna.Trial") -> Overrides:
        """Return the values of a trial. The first trial has the values of the baseline."""
        # Optuna learns only those values of the baseline that are in its ranges
        known = [p for p in self.parameters if optuna_trial.number or p.has(p.baseline)]
        suggested = {p.name: p.suggest(optuna_trial) for p in known}
        return suggested if optuna_trial.number else {p.name: p.baseline for p in self.parameters}

    def _prune(self, optuna_trial: "optuna.Trial", work: Path) -> str | None:
        """Return why the training in a working folder must end, or None."""
        new = report_scores(optuna_trial, read_points(work))
        # the baseline is needed for comparison, and pruning a finished training saves nothing
        must_continue = not new or new[-1] >= self.steps or optuna_trial.number == 0
        if must_continue or not optuna_trial.should_prune():
            return None
        return f"Pruned after step {new[-1]}."

    def _study(self) -> "optuna.Study":
        """Return an empty study in memory, whose first trial will be the baseline."""
        module = import_optuna()
        study: optuna.Study = module.create_study(
            pruner=module.pruners.MedianPruner(STARTUP, int(WARMUP * self.steps)), direction="maximize"
        )
        study.enqueue_trial({p.name: p.baseline for p in self.parameters if p.has(p.baseline)})
        return study

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
            f"The best of {trials} ({n_pruned} pruned) of {steps}: {describe_trial(best)}.",
            f"It was chosen on the dev part of {self.corpus.name}, so that this score flatters it.",
            f"Train it: python -m spacy train {shell_path(path)} --output training/best",
        ]
        comments = {p.name: f"tuned: {p.text}; the baseline has {p.baseline}" for p in self.parameters}
        write_file(path, commented(compose(self.config, {}, best.values), head, comments))
        return path


def _last_number(records: Iterable[TrialRecord]) -> int:
    """Return the largest number of a stored trial, or -1 if there is none."""
    numbers = (record.method.removeprefix(TRIAL) for record in records)
    return max(map(int, filter(str.isdigit, numbers)), default=-1)


def import_optuna() -> ModuleType:
    """Return the module optuna, with its log messages turned off."""
    with extra("optuna", "tune"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def best_of(tried: list[Tried]) -> Tried | None:
    """Return the trial with the best macro F1 on dev, or None if none is done.

    Among equal trials the baseline is preferred, then the first.
    """
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def describe_trial(trial: Tried) -> str:
    """Return one line on a trial, for people."""
    values = ", ".join(f"{name} {value}" for name, value in trial.values.items())
    score = "" if trial.score is None else f", macro F1 on dev {percent(trial.score)}"
    error = f": {trial.error.splitlines()[-1]}" if trial.error else ""
    name = f"trial {trial.number}{' (baseline)' if trial.is_baseline else ''}"
    return f"{name}: {values}: {trial.status}{score}, {trial.seconds:.0f} s{error}"
