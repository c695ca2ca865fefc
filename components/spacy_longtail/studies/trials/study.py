"""Study of a plan: runs its trials, several at a time, each in a separate process."""

import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tqdm import tqdm

from ...errors import Errors, Warnings
from ...faults import is_coded, message_of
from ...hub import check_models
from ...output.console import number
from ...output.targets import check_folder, unless_holds
from ...training.filling import load_with_corpus_values
from ...training.pretrained import warn_seen
from ...training.startup import check_gpu
from ...training.train import check_trainable
from .key import corpus_version, trial_key
from .plan import Plan
from .plan_file import invalid_plan
from .process import MODEL
from .record import SCORED, TrialRecord
from .running import TrialRunner, TrialStoppedError, run_and_store, run_trial
from .store import FOLDER, TrialStore
from .trial import Trial


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """Options of a run, none of which changes a score."""

    workers: int = 1  # number of trials that run at the same time
    gpu_id: int = -1  # -1 for the CPU
    minutes: float | None = None  # time limit of each trial
    keep_models: bool = False  # whether to keep model-best and model-last
    retry_failed: bool = False  # whether to repeat trials that failed or exceeded their time limit
    limits: Mapping[str, float | None] = field(default_factory=dict)  # replace `minutes`, by method

    def limit_of(self, method: str) -> float | None:
        """Return the time limit of a method's trials.

        method (str): Name of the method.
        RETURNS (Optional[float]): Minutes, or None if there is no limit.
        """
        return self.limits.get(method, self.minutes)

    def must_run(self, record: TrialRecord | None) -> bool:
        """Return whether to run a trial: it is new, or failed, or had a shorter time limit.

        A failed trial is repeated only with `retry_failed`.

        record (Optional[TrialRecord]): Record of the trial, or None if it has not been run.
        """
        if record is None:
            return True
        limit, before = self.limit_of(record.method), record.time_limit
        has_more = before is not None and (limit is None or limit > before)
        return (record.status == "timeout" and has_more) or (
            self.retry_failed and record.status in ("failed", "timeout")
        )


@dataclass(frozen=True)
class Study:
    """Trials of a plan, and the store of their results.

    plan (Plan): The plan.
    store (TrialStore): Store of the finished trials.
    trials (Mapping[str, Trial]): All trials of the plan, by content key.
    test_name (str): What messages call the test part.
    """

    plan: Plan
    store: TrialStore
    trials: Mapping[str, Trial]
    test_name: str = "test"

    def check(self, keys: Iterable[str]) -> None:
        """Build the pipeline of every method once, so that mistakes show before hours of training.

        keys (Iterable[str]): Content keys of the trials.
        RAISES (ValueError): If a method cannot be trained. The error names it.
        """
        trials = (self.trials[key] for key in keys)
        kinds = {(t.method.name, t.corpus, t.draw is None): t for t in trials}
        for (name, corpus, _), trial in kinds.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "config.cfg"
                trial.make_config().to_disk(path, interpolate=False)
                try:
                    filled = load_with_corpus_values(path, corpus)
                    interpolated = filled.interpolate()
                    check_trainable(filled, path)
                    check_models(interpolated)
                except ValueError as error:
                    raise _name_method(error, name, path) from error
            warn_seen(interpolated, corpus)

    def list_trials(self, options: TrialOptions) -> list[dict[str, object]]:
        """Return the trials as JSON data, checked as before a run. Nothing is written.

        options (TrialOptions): Options of the run. Trials that it would repeat are open.
        """
        records = self.store.records()
        missing = self.list_missing(self.trials, options, records)
        self.check(missing)
        finished = {key: record for key, record in records.items() if key not in missing}
        return [
            {
                "key": key,
                "title": trial.title,
                "corpus": trial.corpus.name,
                "method": trial.method.name,
                "seed": trial.seed,
                "status": finished[key].status if key in finished else "open",
            }
            for key, trial in self.trials.items()
        ]

    def list_missing(
        self,
        keys: Iterable[str],
        options: TrialOptions,
        records: Mapping[str, TrialRecord] | None = None,
    ) -> list[str]:
        """Return the trials that have to be run.

        keys (Iterable[str]): Content keys of trials.
        options (TrialOptions): Options of the run.
        records (Optional[Mapping[str, TrialRecord]]): Records of the store, if they were read.
        RETURNS (List[str]): Content keys of trials without a record, or that are repeated.
        """
        records = self.store.records() if records is None else records
        return [key for key in keys if options.must_run(records.get(key))]

    def run(
        self, options: TrialOptions, keys: Iterable[str] | None = None, runner: TrialRunner | None = None
    ) -> dict[str, TrialRecord]:
        """Run the unfinished trials. An interruption loses only the running ones.

        options (TrialOptions): Options of the run.
        keys (Optional[Iterable[str]]): Content keys of the trials to run. By default all.
        runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
        RETURNS (Dict[str, TrialRecord]): Records of the plan's finished trials, by content key.
        """
        among = list(self.trials if keys is None else keys)
        records = self.store.records()
        missing = self.list_missing(among, options, records)
        if options.keep_models:
            done = {key for key, record in records.items() if record.is_done}
            bare = [k for k in among if k in done and not (self.store.place(k) / MODEL).is_dir()]
            if bare:
                warnings.warn(Warnings.W212.format(n=number(len(bare), "trial")), stacklevel=2)
        if missing:
            self.store.create()
            if runner is None:
                check_gpu(options.gpu_id)
                self.check(missing)
            self._run(missing, len(among), options, runner)
            records = self.store.records()
        return {key: record for key, record in records.items() if key in self.trials}

    def _run(
        self, keys: list[str], total: int, options: TrialOptions, runner: TrialRunner | None
    ) -> None:
        """Run trials, several at a time, with a progress bar."""
        stopped: list[str] = []

        def train(key: str) -> TrialRecord | None:
            trial = self.trials[key]
            minutes = options.limit_of(trial.method.name)
            run = runner or partial(
                run_trial, target=self.store.place(key), gpu_id=options.gpu_id, minutes=minutes
            )
            training = trial.method.config["training"]  # the recipe of an encoder may have its own
            try:
                if stopped:
                    return None
                return run_and_store(
                    self.store,
                    key,
                    trial,
                    lambda work: run(trial, work, lambda: next(iter(stopped), None)),
                    steps=training["max_steps"],
                    patience=training["patience"],
                    minutes=minutes,
                    keep_model=options.keep_models,
                )
            except TrialStoppedError:
                return None
            except BaseException as error:  # such as a full disk, which stops all trials
                stopped.append(str(error))
                raise

        with (
            tqdm(total=total, initial=total - len(keys), unit="trial", smoothing=0) as bar,
            ThreadPoolExecutor(options.workers) as pool,
        ):
            try:
                for future in as_completed([pool.submit(train, key) for key in keys]):
                    if (record := future.result()) is not None:
                        # stdout may be for JSON
                        bar.write(_describe_record(record, self.test_name), file=sys.stderr)
                        bar.update()
            except BaseException:  # Ctrl-C as well
                stopped.append("Interrupted.")
                raise


def create_study(
    plan: Plan, output: Path, inputs: Sequence[Path] | None = None, test_name: str = "test"
) -> Study:
    """Create the study of a plan. Trials that the output folder has already are not repeated.

    plan (Plan): The plan.
    output (Path): Folder of the results.
    inputs (Optional[Sequence[Path]]): Folders that the output folder must not contain. By default
        the plan's corpora.
    test_name (str): What messages call the test part.
    RETURNS (Study): The study.
    RAISES (ValueError): If the plan has no corpus, or two trials are the same training.
    """
    if not plan.corpora:
        raise invalid_plan("The plan", "it has no corpus: name folders that `convert` wrote.")
    check_folder(output, plan.corpora if inputs is None else inputs, unless_holds(FOLDER))
    versions = {corpus: corpus_version(corpus) for corpus in plan.corpora}
    trials: dict[str, Trial] = {}
    for trial in plan.trials():
        key = trial_key(trial.make_config(), versions[trial.corpus])
        same = trials.setdefault(key, trial)
        if same is not trial:
            raise invalid_plan("The plan", f"{same.title!r} and {trial.title!r} are the same training.")
    store = TrialStore(output)
    store.warn_outdated(trials, {trial.title for trial in trials.values()})
    return Study(plan, store, trials, test_name)


def _name_method(error: ValueError, method: str, path: Path) -> ValueError:
    """Return an error of a method's config with the name of the method instead of the file."""
    text = str(error)
    if not is_coded(text):
        text = Errors.L438.format(path=path, problem=message_of(error))
    elif str(path) not in text:
        text += f" This concerns the method {method!r}."
    return ValueError(text.replace(str(path), f"the method {method!r}"))


def _describe_record(record: TrialRecord, test_name: str) -> str:
    """Return one line on the end of a trial. test_name (str): What it calls the test part."""
    if record.is_done:
        dev, test = (f"{100 * (record.score(part) or 0):.1f}" for part in SCORED)
        return f"{record.title}: macro F1 {dev} on dev, {test} on {test_name}, {record.seconds:.0f} s"
    return f"{record.title}: {record.status}: {''.join(record.error.strip().splitlines()[-1:])}"
