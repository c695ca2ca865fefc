"""A plan run: what is not finished yet, by several workers, each trial in a process of its own."""

import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Errors, Warnings
from ...hub import check_models
from ...output.writing import coded_io
from ...training.contamination import warn_seen
from ...training.provenance import DEV_SCORE, read_curve, short
from ...training.train import check_trainable, load_filled
from .child import MODEL, SCORED
from .engine import PLACE, Ended, Engine, Stop
from .keys import CorpusVersion, code_version, corpus_version, digest, trial_key
from .ledger import FOLDER, Ledger, check_output, read_finished
from .plan import Plan, Trial
from .process import Outcome, Task, launch
from .records import TrialRecord
from .storage import KEY, STUDY, open_storage

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial as Running
    from optuna.trial import FrozenTrial

NEWLINE = "\n"

Runner = Callable[[Trial, Path, Stop], Outcome]


@dataclass(frozen=True)
class Options:
    """How a plan is run; none of it changes a figure.

    workers (int): Trials at a time. gpu_id (int): -1 is the CPU. storage (Optional[str]): A database URL
    that several machines share, or an SQLite file; null is one in the output folder.
    minutes (Optional[float]): Time limit of a trial. keep_models (bool): Keep model-best and model-last.
    retry_failed (bool): Run failed trials again, and those that ran out of time.
    """

    workers: int = 1
    gpu_id: int = -1
    storage: str | None = None
    minutes: float | None = None
    keep_models: bool = False
    retry_failed: bool = False


class Matrix:
    """A plan and its output folder.

    plan (Plan): The plan. output (Path): The folder.
    inputs (Optional[Sequence[Path]]): What the folder must not hold; null is the plan's corpora.
    RAISES (ValueError): L402, L404, L430, L432, L434, L436, L475, L476, L479, L490, L531, L532, L533.
    """

    def __init__(self, plan: Plan, output: Path, inputs: Sequence[Path] | None = None) -> None:
        if not plan.corpora:
            raise ValueError(Errors.L479)
        check_output(output, plan.corpora if inputs is None else inputs, FOLDER)
        self.plan, self.output = plan, output
        self.versions = {corpus: corpus_version(corpus) for corpus in plan.corpora}
        self.trials: dict[str, Trial] = {}
        for trial in plan.trials():
            same = self.trials.setdefault(trial_key(trial, self.versions[trial.corpus]), trial)
            if same is not trial:
                raise ValueError(Errors.L490.format(first=same.title, second=trial.title))

    def check(self, keys: Iterable[str]) -> None:
        """Build the pipeline of every method once, so that mistakes show before hours of training.

        RAISES (ValueError): L480.
        """
        seen = set()
        for key in keys:
            trial = self.trials[key]
            if (trial.method.name, trial.corpus, trial.draw is None) in seen:
                continue
            seen.add((trial.method.name, trial.corpus, trial.draw is None))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "config.cfg"
                trial.config().to_disk(path, interpolate=False)
                try:
                    filled = load_filled(path, trial.corpus)
                    check_trainable(filled, Path(path.name))
                    check_models(filled.interpolate())
                except ValueError as error:
                    message = Errors.L480.format(method=trial.method.name, problem=str(error).strip())
                    raise ValueError(message) from error
            warn_seen(filled.interpolate(), trial.corpus)

    def wanted(
        self, records: Mapping[str, TrialRecord], options: Options, keys: Iterable[str]
    ) -> list[str]:
        """Those of the trials that are not finished.

        records (Mapping[str, TrialRecord]): Of the output folder. options (Options): How it is run.
        keys (Iterable[str]): Of the trials.
        """
        final = {"done"} if options.retry_failed else {"done", "failed", "timeout"}
        return [key for key in keys if key not in records or records[key].status not in final]

    def missing(self, keys: Iterable[str], *, retry_failed: bool = False) -> list[str]:
        """Those of the trials without a record here, or one of success. RAISES (ValueError): L432."""
        records = read_finished(self.output)
        return [k for k in keys if k not in records or (retry_failed and not records[k].is_done)]

    def run(
        self, options: Options, keys: Iterable[str] | None = None, runner: Runner | None = None
    ) -> dict[str, TrialRecord]:
        """Run what is not finished. Stopping it at any moment loses the running trials alone.

        options (Options): How. keys (Optional[Iterable[str]]): Of the trials to run; null is all.
        runner (Optional[Callable]): What runs one trial, if not a process of its own.
        RETURNS (Dict[str, TrialRecord]): The records of the plan's finished trials, by content key.
        RAISES (ValueError): L406, L432, L477, L480, L491.
        """
        ledger = Ledger(self.output)
        records = ledger.records()
        among = list(self.trials if keys is None else keys)
        wanted = self.wanted(records, options, among)
        if wanted:
            if runner is None:
                self.check(wanted)
                runner = partial(run_trial, self.versions, options)
            Workers(self, ledger, records, options, runner).run(wanted, len(among) - len(wanted))
        records = {key: r for key, r in ledger.records().items() if key in self.trials}
        if elsewhere := [key for key in among if key not in records]:
            warnings.warn(Warnings.W091.format(n=len(elsewhere)), stacklevel=2)
        return records


class Workers(Engine):
    """Runs the trials of a plan.

    matrix (Matrix): The plan. ledger (Ledger): Where records are kept.
    before (Mapping[str, TrialRecord]): The records when the trials were chosen.
    options (Options): How. runner (Callable): What runs one trial.
    RAISES (ValueError): L406, L432, L477, L491.
    """

    def __init__(
        self,
        matrix: Matrix,
        ledger: Ledger,
        before: Mapping[str, TrialRecord],
        options: Options,
        runner: Runner,
    ) -> None:
        storage = open_storage(options.storage, matrix.output / STUDY)
        # a study in the folder is the folder's own, wherever that has been moved
        place = "" if options.storage is None else str(matrix.output.resolve())
        name = f"matrix-{digest(sorted(matrix.trials))}"
        super().__init__(storage, name, matrix.output, place, options.workers)
        self.matrix, self.ledger, self.before, self.runner = matrix, ledger, before, runner

    def run(self, keys: list[str], n_done: int = 0) -> None:
        """Run trials until all are finished, here or elsewhere.

        keys (List[str]): Those to run. n_done (int): Others that were finished before.
        """
        n_elsewhere = sum(self._is_elsewhere(t) and t.user_attrs[KEY] in keys for t in self.trials())
        for key, attempt in self.missing(keys, self._is_elsewhere):
            self.put_up(key, attempt)
        self.work(n_done + len(keys), n_done + n_elsewhere)

    def _is_elsewhere(self, trial: "FrozenTrial") -> bool:
        return trial.state == self.states.COMPLETE and trial.user_attrs[PLACE] != self.place

    def objective(self, trial: "Running", work: Path) -> Ended | None:
        """Run a trial and keep its record."""
        key = trial.user_attrs[KEY]
        record = self.ledger.record(key)
        if record is None or (not record.is_done and record == self.before.get(key)):
            planned = self.matrix.trials[key]
            with coded_io(work):
                outcome = self.runner(planned, work, lambda: self.stopped)
            if outcome.status == "stopped":
                return None
            record = make_record(key, planned, self.matrix, outcome, work)
            self.ledger.finish(work, record)
        # else another process has finished it meanwhile, or died before it could say so
        return Ended(record.status, record.dev_score, record.seconds)

    def show(self, trial: "Running") -> None:
        """A line on a trial."""
        key = trial.user_attrs[KEY]
        if (record := self.ledger.record(key)) is None:
            return
        if record.is_done:
            dev, test = (f"{100 * (record.score(p, DEV_SCORE) or 0):.1f}" for p in SCORED)
            text = f"macro F1 {dev} on dev, {test} on test, {record.seconds:.0f} s"
        else:
            text = f"{record.status}: {record.error.strip().rpartition(NEWLINE)[2]}"
        with self.lock:
            # stdout may be for JSON
            self.bar.write(f"{self.matrix.trials[key].title}: {text}", file=sys.stderr)
            self.bar.update()


def run_trial(
    versions: Mapping[Path, CorpusVersion], options: Options, trial: Trial, work: Path, stop: Stop
) -> Outcome:
    """Run one trial in a process of its own.

    versions (Mapping[Path, CorpusVersion]): Of each corpus, as `corpus_version` returned.
    options (Options): How. trial (Trial): The trial. work (Path): An empty folder for its files.
    stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended. RAISES (ValueError): L432.
    """
    task = Task(
        corpus=str(trial.corpus),
        name=trial.method.name,
        gpu_id=options.gpu_id,
        drawn=trial.draw is not None,
        version=versions[trial.corpus],
        code=code_version(),
    )
    outcome = launch(work, trial.config(), task, options.minutes, stop)
    for name in ("run.json", "curve.jsonl"):
        if (work / MODEL / name).is_file():
            shutil.copy(work / MODEL / name, work / name)
    if not options.keep_models:
        shutil.rmtree(work / MODEL, ignore_errors=True)
    return outcome


def make_record(key: str, trial: Trial, matrix: Matrix, outcome: Outcome, work: Path) -> TrialRecord:
    """What is kept of a trial.

    key (str): Its content key. trial (Trial): The trial. matrix (Matrix): What it is of.
    outcome (Outcome): How it ended. work (Path): Its files; dev.json and test.json if it ended well.
    """
    scores, points = {}, []
    if outcome.status == "done":
        for part in SCORED:
            evaluation = json.loads((work / f"{part}.json").read_text(encoding="utf8"))
            scores[part] = evaluation["scores"]
        points = read_curve(work / MODEL)
    return TrialRecord.model_validate(
        {
            "key": key,
            "corpus": trial.corpus.name,
            "method": trial.method.name,
            "choices": trial.method.choices,
            "seed": trial.seed,
            "draw": trial.draw,
            "steps": matrix.plan.steps,
            "training": {"patience": matrix.plan.patience},
            "curve": [{k: p[k] for k in ("step", DEV_SCORE)} for p in points if DEV_SCORE in p],
            "code": code_version(),
            "status": outcome.status,
            "seconds": round(outcome.seconds, 1),
            "error": outcome.error.replace(str(matrix.output), short(matrix.output)),
            **scores,
        }
    )
