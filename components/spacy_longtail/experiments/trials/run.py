"""A plan run: what is not finished yet, by several workers, each trial in a process of its own."""

import json
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from spacy.util import load_model_from_config
from tqdm import tqdm

from ...errors import Errors, Warnings
from ...parts import coded_io
from ..provenance import short
from ..training import load_filled
from .child import MODEL, SCORED
from .claims import Claim, Claims, open_storage
from .keys import code_version, corpus_version, digest, trial_key
from .ledger import WORK, Ledger, check_output, is_finished
from .plan import Plan, Trial
from .process import Outcome, run_process

JOURNAL = "study.journal"
WAIT = 1.0  # seconds until a worker looks again whether another has given up a trial
DEV_SCORE = "ents_macro_f"

Runner = Callable[[Trial, Path, Callable[[], str | None]], Outcome]


@dataclass(frozen=True)
class Options:
    """How a plan is run; none of it changes a figure.

    workers (int): Trials at a time. gpu_id (int): -1 is the CPU. storage (Optional[str]): A database URL
    or a journal file that several machines share; null is a journal in the output folder.
    minutes (Optional[float]): Time limit of a trial. keep_models (bool): Keep model-best and model-last. retry_failed (bool): Run failed trials again.
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
    RAISES (ValueError): L402, L430, L432, L434, L476.
    """

    def __init__(self, plan: Plan, output: Path) -> None:
        check_output(output)
        if not plan.corpora:
            raise ValueError(Errors.L479)
        self.plan, self.output = plan, output
        self.versions = {corpus: corpus_version(corpus) for corpus in plan.corpora}
        self.trials = {trial_key(t, self.versions[t.corpus]): t for t in plan.trials()}

    def check(self, keys: Mapping[str, Any] | list[str]) -> None:
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
                    load_model_from_config(load_filled(path, trial.corpus), auto_fill=True)
                except (ValueError, ImportError, OSError, KeyError, TypeError) as error:
                    message = Errors.L480.format(method=trial.method.name, problem=str(error).strip())
                    raise ValueError(message) from error

    def run(self, options: Options, runner: Runner | None = None) -> dict[str, dict[str, Any]]:
        """Run what is not finished. Stopping it at any moment loses the running trials alone.

        options (Options): How. runner (Optional[Callable]): What runs one trial, in tests.
        RETURNS (Dict[str, Dict[str, Any]]): The records of the plan's finished trials, by content key.
        RAISES (ValueError): L406, L432, L477, L480.
        """
        ledger = Ledger(self.output)
        records = ledger.records()
        final = {"done"} if options.retry_failed else {"done", "failed", "timeout"}
        wanted = [k for k in self.trials if records.get(k, {}).get("status") not in final]
        if wanted:
            if runner is None:
                self.check(wanted)
                runner = partial(run_trial, self.versions, options)
            name = f"matrix-{digest(sorted(self.trials))}"
            storage = open_storage(options.storage, self.output / JOURNAL)
            claims = Claims(storage, name, str(self.output.resolve()))
            elsewhere = claims.fill(wanted)
            if elsewhere:
                warnings.warn(Warnings.W091.format(n=len(elsewhere)), stacklevel=2)
            Workers(self, ledger, claims, options, runner).work(len(wanted) - len(elsewhere))
        return {key: r for key, r in ledger.records().items() if key in self.trials}


@dataclass
class Workers:
    """Threads that take trials of a study until there are none."""

    matrix: Matrix
    ledger: Ledger
    claims: Claims
    options: Options
    runner: Runner
    stopped: str | None = None  # why all must end
    lock: threading.Lock = field(default_factory=threading.Lock)
    error: Exception | None = None

    def work(self, n_trials: int) -> None:
        """Run until every trial is finished, here or elsewhere."""
        with tqdm(total=n_trials, unit="trial", smoothing=0) as self.bar:
            with ThreadPoolExecutor(self.options.workers) as pool:
                futures = [pool.submit(self._work) for _ in range(self.options.workers)]
                try:
                    for future in futures:
                        future.result()
                except BaseException:
                    self.stopped = self.stopped or "Interrupted."
                    raise
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            while self.stopped is None:
                claim = self.claims.claim()
                if claim is not None:
                    self._run(claim)
                elif self.claims.n_running():
                    if not self.claims.reap():
                        time.sleep(WAIT)
                else:
                    return
        except Exception as error:  # a full disk, a lost database: every worker would meet it
            self.stopped, self.error = str(error), self.error or error

    def _run(self, claim: Claim) -> None:
        trial = self.matrix.trials[claim.key]
        if is_finished(self.ledger.folder(claim.key)):  # its owner died before it could say so
            record = self.ledger.records()[claim.key]
            self.claims.finish(claim, record["dev"][DEV_SCORE])
            return self._show(trial, record)
        with coded_io(self.matrix.output):
            work = Path(tempfile.mkdtemp(prefix=f"{claim.key}-", dir=self.matrix.output / WORK))
        try:
            with self.claims.alive(claim):
                outcome = self.runner(trial, work, lambda: self.stopped)
            if outcome.status == "stopped":
                return self.claims.give_back(claim)
            record = make_record(claim.key, trial, self.matrix, outcome, work)
            self.ledger.finish(work, record)
        except BaseException:
            self.claims.give_back(claim)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
        self.claims.finish(claim, record["dev"][DEV_SCORE] if record["status"] == "done" else None)
        self._show(trial, record)

    def _show(self, trial: Trial, record: Mapping[str, Any]) -> None:
        text = record["status"]
        if text == "done":
            dev, test = (f"{100 * record[part][DEV_SCORE]:.1f}" for part in SCORED)
            text = f"macro F1 {dev} on dev, {test} on test, {record['seconds']:.0f} s"
        else:
            text = f"{text}: {record['error'].splitlines()[-1]}"
        with self.lock:
            self.bar.write(f"{trial.title}: {text}")
            self.bar.update()


def run_trial(
    versions: Mapping[Path, Mapping[str, Any]],
    options: Options,
    trial: Trial,
    work: Path,
    stop: Callable[[], str | None],
) -> Outcome:
    """Run one trial in a process of its own.

    versions (Mapping[Path, Mapping[str, Any]]): Of each corpus, as `corpus_version` returned.
    options (Options): How. trial (Trial): The trial. work (Path): An empty folder for its files.
    stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended. RAISES (ValueError): L432.
    """
    with coded_io(work):
        trial.config().to_disk(work / "config.cfg", interpolate=False)
        task = {
            "corpus": str(trial.corpus),
            "name": trial.method.name,
            "gpu_id": options.gpu_id,
            "drawn": trial.draw is not None,
            "checksums": {part: versions[trial.corpus][part] for part in ("train", *SCORED)},
        }
        (work / "task.json").write_text(json.dumps(task), encoding="utf8")
    command = [sys.executable, "-m", "spacy_longtail.experiments.trials.child", str(work)]
    seconds = None if options.minutes is None else 60 * options.minutes
    outcome = run_process(command, work / "log.txt", seconds, stop)
    for name in ("run.json", "curve.jsonl"):
        if (work / MODEL / name).is_file():
            shutil.copy(work / MODEL / name, work / name)
    if not options.keep_models:
        shutil.rmtree(work / MODEL, ignore_errors=True)
    return outcome


def make_record(key: str, trial: Trial, matrix: Matrix, outcome: Outcome, work: Path) -> dict[str, Any]:
    """What is kept of a trial: JSON data, scores in [0, 1].

    key (str): Its content key. trial (Trial): The trial. matrix (Matrix): What it is of.
    outcome (Outcome): How it ended. work (Path): Its files; dev.json and test.json if it ended well.
    """
    scores = {}
    if outcome.status == "done":
        for part in SCORED:
            evaluation = json.loads((work / f"{part}.json").read_text(encoding="utf8"))
            scores[part] = evaluation["scores"]
    return {
        "key": key,
        "corpus": trial.corpus.name,
        "method": trial.method.name,
        "choices": trial.method.choices,
        "seed": trial.seed,
        "draw": None if trial.draw is None else trial.draw._asdict(),
        "steps": matrix.plan.steps,
        "code": code_version(),
        "status": outcome.status,
        "seconds": round(outcome.seconds, 1),
        "error": outcome.error.replace(str(matrix.output), short(matrix.output)),
        **scores,
    }
