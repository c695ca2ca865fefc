"""Search over config values with Optuna. Each trial is a training in a separate process."""

import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from thinc.api import Config

from ...errors import Warnings
from ...hub import check_models
from ...output.console import number, percent
from ...output.targets import check_file, check_folder, unless_holds
from ...output.writing import write_file
from ...settings import is_whole
from ...training.pretrained import warn_seen
from ...training.provenance import DEV_SCORE, shell_path
from ...training.startup import check_gpu
from ...types import Overrides
from ..configs.commented import format_config
from ..configs.compose import compose, read_base
from ..configs.recipes import with_corpus_and_defaults
from ..trials.key import CorpusVersion, corpus_version, trial_key
from ..trials.process import MODEL, ProcessEnd
from ..trials.record import TrialRecord
from ..trials.running import TrialRunner, read_points, run_and_store, run_trial
from ..trials.store import FOLDER, TrialStore
from ..trials.study import TrialOptions
from ..trials.trial import Trial, TrialMethod
from .optuna_adapter import (
    FinishedTrial,
    ProposedTrial,
    ask_trial,
    import_optuna,
    report_scores,
    start_study,
)
from .parameters import Parameter, cannot_search, read_parameters, refuse_owned

if TYPE_CHECKING:  # Optuna is an extra
    import optuna

BEST_CONFIG = "best.cfg"
MIN_EVALUATIONS = 3  # of a training, so that some lie between the warm-up and the end
TRIAL = "trial "  # and its number: the name of a trial's method


@dataclass(frozen=True)
class Search:
    """Search over settings of a config. All trials are trained for the same number of steps.

    config (Config): Complete config of the baseline, not interpolated.
    parameters (Sequence[Parameter]): The settings to search.
    corpus (Path): Folder of a converted corpus.
    version (CorpusVersion): Result of `corpus_version` for this corpus.
    store (TrialStore): Store of the finished trials.
    steps (int): Number of steps of each training.
    seed (int): Random seed of the search.
    """

    config: Config
    parameters: Sequence[Parameter]
    corpus: Path
    version: CorpusVersion
    store: TrialStore
    steps: int
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """Return a checksum of all that defines the search, which is in the keys of its trials."""
        return trial_key(self.config, self.version, space=self.parameters, seed=self.seed)

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
        self, n_trials: int, options: TrialOptions | None = None, runner: TrialRunner | None = None
    ) -> list[FinishedTrial]:
        """Run trials until there are enough. An interruption loses only the running trial.

        The search is replayed from its first trial: a trial that is in the store is not run again.
        Only one process at a time may run a search in a folder.

        n_trials (int): Total number of trials, including those of earlier runs.
        options (Optional[TrialOptions]): GPU, time limit of each trial, and whether to repeat
            failed ones. The trials after a repeated one may then have other values.
        runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
        RETURNS (List[FinishedTrial]): All finished trials, including those of earlier runs.
        """
        options = options or TrialOptions()
        if runner is None:
            check_gpu(options.gpu_id)
            self.check()
        self.store.create()
        before = self.store.records()
        stored = {key: record for key, record in before.items() if not options.must_run(record)}
        former = self._replay(before) if len(stored) < len(before) else []
        records, tried = dict(stored), list[FinishedTrial]()
        last = _last_number(stored.values())
        for n, proposed in enumerate(self._propose_trials()):
            key, trial = proposed.key, proposed.trial
            if n == 0:
                self.store.warn_outdated([key], [trial.title])
            if n >= n_trials and (key not in stored or n > last):  # all trials of earlier runs count
                break
            is_known = key in stored and stored[key].method == trial.method.name
            if key not in records:
                records[key] = self._train(proposed, options, runner)
            tried.append(proposed.tell(records[key]))
            if not is_known:
                sys.stderr.write(f"{describe_trial(tried[-1])}\n")  # stdout is for results
                self._delete_models(tried)
        self._delete_models(tried, former)  # at the end, because a former trial may be the best again
        return tried

    def _propose_trials(self) -> Iterator[ProposedTrial]:
        """Yield the trials of the search in order. There is always another one.

        The values of a trial depend on the results of those before it, so each has to be told
        before the next one is asked for.
        """
        study = start_study(self.parameters, self.steps)
        for n in count():
            optuna_trial, values = ask_trial(study, self.parameters, f"{self.seed}/{n}")
            config = compose(self.config, {}, values)
            method = TrialMethod(f"{TRIAL}{n}", {}, config)
            trial = Trial(self.corpus, method, config.interpolate()["system"]["seed"], None)
            key = trial_key(trial.make_config(), self.version, search=self.key)
            yield ProposedTrial(optuna_trial, values, trial, key)

    def _replay(self, records: Mapping[str, TrialRecord]) -> list[FinishedTrial]:
        """Return the trials of the search so far, before any of them is repeated."""
        n_stored = _last_number(records.values()) + 1
        known = takewhile(lambda own: own.key in records, islice(self._propose_trials(), n_stored))
        return [proposed.tell(records[proposed.key]) for proposed in known]

    def _delete_models(self, tried: list[FinishedTrial], former: Iterable[FinishedTrial] = ()) -> None:
        """Delete the pipelines of all trials except the baseline and the best one.

        tried (List[FinishedTrial]): The trials of the search.
        former (Iterable[FinishedTrial]): Trials from before others were repeated, whose values may
            no longer be tried.
        """
        kept = {tried[0].key, getattr(best_of(tried), "key", "")}
        for other in {own.key for own in (*tried, *former)} - kept:
            shutil.rmtree(self.store.place(other) / MODEL, ignore_errors=True)

    def _train(
        self, proposed: ProposedTrial, options: TrialOptions, runner: TrialRunner | None
    ) -> TrialRecord:
        """Run a trial, which ends early if Optuna prunes it."""
        key, trial, minutes = proposed.key, proposed.trial, options.minutes
        run = runner or partial(
            run_trial,
            parts=["dev"],
            target=self.store.place(key),
            gpu_id=options.gpu_id,
            minutes=minutes,
        )

        def start(work: Path) -> ProcessEnd:
            end = run(trial, work, partial(self._prune, proposed.optuna_trial, work))
            return end._replace(status="pruned") if end.status == "stopped" else end

        return run_and_store(
            self.store, key, trial, start, steps=self.steps, minutes=minutes, keep_model=True
        )

    def _prune(self, optuna_trial: "optuna.Trial", work: Path) -> str | None:
        """Return why the training in a working folder must end, or None."""
        new = report_scores(optuna_trial, read_points(work))
        # the baseline is needed for comparison, and pruning a finished training saves nothing
        must_continue = not new or new[-1] >= self.steps or optuna_trial.number == 0
        if must_continue or not optuna_trial.should_prune():
            return None
        return f"Pruned after step {new[-1]}."

    def write_best(self, tried: list[FinishedTrial], best: FinishedTrial) -> Path:
        """Write the best config, which `spacy train` accepts without changes.

        tried (List[FinishedTrial]): All finished trials.
        best (FinishedTrial): The best trial.
        RETURNS (Path): The config file.
        """
        n_pruned = sum(trial.status == "pruned" for trial in tried)
        trials, steps = number(len(tried), "trial"), number(self.steps, "step")
        path = self.store.output / BEST_CONFIG
        head = [
            f"The best of {trials} ({n_pruned} pruned) of {steps}: {describe_trial(best)}.",
            f"It was chosen on the dev part of {self.corpus.name}, so that this score flatters it.",
            f"Train it: python -m spacy train {shell_path(path)} --output training/best",
        ]
        comments = {p.name: f"tuned: {p.text}; the baseline has {p.baseline}" for p in self.parameters}
        write_file(path, format_config(compose(self.config, {}, best.values), head, comments))
        return path


def create_search(
    config: Path, settings: Overrides, given: list[str], corpus: Path, output: Path, seed: int = 0
) -> Search:
    """Create a search. It resumes an earlier one in the same output folder.

    config (Path): Config to start from.
    settings (Overrides): Config values by dotted name, which override those of the config.
    given (List[str]): Settings to search: SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C.
    corpus (Path): Folder of a converted corpus.
    output (Path): Folder of the results.
    seed (int): Random seed of the search.
    RETURNS (Search): The search.
    RAISES (ValueError): If the search cannot be run (L483), or a setting is invalid.
    """
    import_optuna()
    refuse_owned([*settings, *(text.partition("=")[0] for text in given)])
    for name in ("training.patience", "training.max_epochs"):
        if settings.get(name, 0) not in (0, -1):
            raise cannot_search(f"{name} would be ignored: all train equal steps.", "Use --steps.")
    complete = with_corpus_and_defaults(compose(read_base(config), {}, settings), corpus, f"{config}")
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
    epochs = -1 if training["max_epochs"] == -1 else 0  # -1 streams
    return Search(
        config=compose(complete, {}, {"training.patience": 0, "training.max_epochs": epochs}),
        parameters=read_parameters(whole, given),
        corpus=corpus,
        version=corpus_version(corpus),
        store=TrialStore(output),
        steps=int(steps),
        seed=seed,
    )


def _last_number(records: Iterable[TrialRecord]) -> int:
    """Return the largest number of a stored trial, or -1 if there is none."""
    numbers = (record.method.removeprefix(TRIAL) for record in records)
    return max(map(int, filter(str.isdigit, numbers)), default=-1)


def best_of(tried: list[FinishedTrial]) -> FinishedTrial | None:
    """Return the trial with the best macro F1 on dev, or None if none is done.

    Among equal trials the baseline is preferred, then the first.

    tried (List[FinishedTrial]): The trials of a search.
    """
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def describe_trial(trial: FinishedTrial) -> str:
    """Return one line on a trial, for people.

    trial (FinishedTrial): The trial.
    """
    values = ", ".join(f"{name} {value}" for name, value in trial.values.items())
    score = "" if trial.score is None else f", macro F1 on dev {percent(trial.score)}"
    error = f": {trial.error.splitlines()[-1]}" if trial.error else ""
    name = f"trial {trial.number}{' (baseline)' if trial.is_baseline else ''}"
    return f"{name}: {values}: {trial.status}{score}, {trial.seconds:.0f} s{error}"
