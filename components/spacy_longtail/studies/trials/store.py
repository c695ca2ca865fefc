"""Store of trials: a folder with each finished trial, found again by the key of its content.

The commands `matrix`, `recommend` and `tune` keep their trials in such folders.
"""

import itertools
import json
import os
import platform
import shutil
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue
from thinc.api import Config

from ...corpus.folder import PARTS, read_types
from ...corpus.names import NAMES
from ...corpus.parts import checksum, checksums, part_path
from ...errors import Errors, Warnings
from ...output.console import number
from ...output.writing import STOPPED, coded_io, in_progress, write_file
from ...training.provenance import (
    BEST,
    CURVE_FILE,
    DEV_SCORE,
    RUN_FILE,
    file_content,
    installed_versions,
    json_checksum,
    read_curve,
    short_path,
    with_short_paths,
)
from ...training.startup import imported_code
from .process import MODEL, ProcessEnd
from .trial import Draw, Trial, title_of

RECORD = "record.json"
FOLDER = "trials"
WORK = "work"  # folder of running trials
SCORED = ("dev", "test")  # parts that can be scored

CorpusVersion = Mapping[str, object]  # JSON data, equal for corpora that can share trials

content_of = cache(file_content)  # so that a command reads each file once


class TrialStoppedError(Exception):
    """Stop of a trial before its end, because the run was interrupted or another trial failed."""


class TrialRecord(BaseModel):
    """Record of a finished trial."""

    model_config = ConfigDict(extra="allow", frozen=True)  # later versions may add fields

    key: str
    corpus: str
    method: str
    choices: dict[str, str]  # by axis
    seed: int
    draw: Draw | None
    steps: int
    training: dict[str, int]  # patience: steps without improvement that end a training, or 0
    curve: list[dict[str, int | float]]  # step, and macro F1 on dev in [0, 1]
    code: str  # result of `code_version`
    status: Literal["done", "failed", "timeout", "pruned"]
    seconds: float
    time_limit: float | None = None  # minutes; null if it had none, or in records of early versions
    error: str
    dev: dict[str, JsonValue] = {}  # scores in [0, 1]; empty if it is not done
    test: dict[str, JsonValue] = {}

    @property
    def title(self) -> str:
        """Return corpus, method, sample and seed, for people."""
        return title_of(self.corpus, self.method, self.draw, self.seed)

    @property
    def reason(self) -> str:
        """Return why the trial failed, without a full stop."""
        return (self.error or self.status).strip().rstrip(".")

    @property
    def is_done(self) -> bool:
        """Return whether the trial was trained and scored."""
        return self.status == "done"

    def score(self, part: str, name: str = DEV_SCORE) -> float | None:
        """Return a score on "dev" or "test" in [0, 1], or None if there is no such score."""
        value = (self.dev if part == "dev" else self.test).get(name)
        return value if isinstance(value, (int, float)) else None

    @property
    def ending(self) -> tuple[list[dict[str, int | float]], int]:
        """Return curve and patience of the training, by which `rising_of` judges its length."""
        return self.curve, self.training.get("patience", 0)

    @property
    def steps_trained(self) -> int:
        """Return the steps until the last evaluation, or those of the plan if there was none."""
        return int(self.curve[-1]["step"]) if self.curve else self.steps

    def data(self) -> dict[str, JsonValue]:
        """Return the record as JSON data."""
        return self.model_dump(exclude=set() if self.is_done else set(SCORED))


@cache
def code_version() -> str:
    """Return a checksum of the installed versions and of the files given by --code."""
    return json_checksum(
        {"versions": installed_versions(), "code": [checksum(path) for path in imported_code()]}
    )


def corpus_version(corpus: Path) -> CorpusVersion:
    """Return the data of a corpus on which a trial depends.

    corpus (Path): Folder of a converted corpus.
    RETURNS (CorpusVersion): Types, language and checksums of the parts and of the lists of names.
    RAISES (ValueError): If train, dev or test is missing.
    """
    for path in (part_path(corpus, part) for part in PARTS):
        if not path.exists():
            raise ValueError(Errors.L402.format(path=path, fix="Trials need train, dev and test."))
    return {**read_types(corpus)._asdict(), **content_of_parts(corpus, PARTS)}


def content_of_parts(corpus: Path, parts: Iterable[str]) -> dict[str, str]:
    """Return checksums of parts of a corpus and, if it has any, of its lists of names.

    corpus (Path): Folder of a converted corpus.
    parts (Iterable[str]): Names of the parts, which must exist.
    """
    return checksums({**{part: part_path(corpus, part) for part in parts}, NAMES: corpus / NAMES})


def config_content(config: Config) -> dict[str, object]:
    """Return the data of a config on which a trial depends: all except the path of its corpus.

    config (Config): The config, not interpolated.
    RETURNS (Dict[str, object]): JSON data. Other paths of files and folders are replaced by
        checksums of their content, so that it does not matter how a path is written.
    """
    paths = {k: v for k, v in config.get("paths", {}).items() if k not in ("train", "dev")}
    # without "files" all keys of earlier trials would change
    return {**with_short_paths(_by_content({**config, "paths": paths})), "files": {}}


def _by_content(value: object, section: str = "") -> object:
    """Return a config value with checksums instead of paths that exist. section (str): Its own."""
    if isinstance(value, Mapping):
        return {key: _by_content(inner, section or key) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_content(inner, section) for inner in value]
    text = str(value)
    may_be_file = section == "paths" or "/" in text or Path(text).suffix
    return (content_of(text) if may_be_file else "") or value


def trial_key(config: Config, corpus: CorpusVersion, **more: object) -> str:
    """Return the content key of a trial, which does not depend on the path of the corpus.

    config (Config): Complete config of the training, not interpolated.
    corpus (CorpusVersion): Result of `corpus_version`.
    **more (object): Other JSON data on which the trial depends.
    RETURNS (str): The key.
    """
    return json_checksum(
        {"config": config_content(config), "corpus": corpus, "code": code_version(), **more}
    )


def _training_folders(work: Path) -> list[Path]:
    """Return the folders where the files of a running, finished or failed training may be."""
    return [*in_progress(work / MODEL), work / MODEL, *sorted(work.glob(f"{MODEL}{STOPPED}*"))]


def read_points(work: Path) -> dict[int, float]:
    """Return macro F1 on dev by step, of a training that may still be running.

    work (Path): Working folder of the trial.
    RETURNS (Dict[int, float]): Scores in [0, 1] of all evaluations so far.
    """
    points: dict[int, float] = {}
    for folder in _training_folders(work):
        with suppress(FileNotFoundError):  # the folder is renamed when the training is done
            points |= {int(p["step"]): p[DEV_SCORE] for p in read_curve(folder / BEST) if DEV_SCORE in p}
    return points


@dataclass(frozen=True)
class TrialStore:
    """Store of finished trials in an output folder.

    output (Path): The folder, which need not exist.
    """

    output: Path

    def place(self, key: str) -> Path:
        """Return the folder of a finished trial."""
        return self.output / FOLDER / key

    def records(self) -> dict[str, TrialRecord]:
        """Return the records by content key. Invalid ones are ignored with a warning."""
        records = {}
        for path in sorted((self.output / FOLDER).glob(f"*/{RECORD}")):
            record = _read(path)
            if record is not None and record.key == path.parent.name:
                records[record.key] = record
            else:
                warnings.warn(Warnings.W097.format(path=path), stacklevel=2)
        return records

    def warn_outdated(self, keys: Collection[str], titles: Collection[str]) -> None:
        """Warn of trials that were run by other versions, so that they are run again.

        keys (Collection[str]): Keys of the trials to run.
        titles (Collection[str]): Titles of the trials to run.
        """
        others = [r for key, r in self.records().items() if key not in keys and r.title in titles]
        if n := sum(record.code != code_version() for record in others):
            warnings.warn(
                Warnings.W208.format(n=number(n, "trial"), path=self.output / FOLDER), stacklevel=3
            )

    def create(self) -> None:
        """Create the folder by which an output folder is recognised when a run is resumed."""
        with coded_io(self.output):
            (self.output / FOLDER).mkdir(parents=True, exist_ok=True)

    def train(
        self,
        key: str,
        trial: Trial,
        start: Callable[[Path], ProcessEnd],
        *,
        steps: int,
        patience: int = 0,
        minutes: float | None = None,
        keep_model: bool = False,
    ) -> TrialRecord:
        """Run a trial in a working folder and store it.

        key (str): Content key of the trial.
        trial (Trial): The trial.
        start (Callable): Trains and scores in the given empty folder, and returns how it ended.
        steps (int): Number of steps of the training; with a patience, the maximum.
        patience (int): Steps without improvement on dev that end the training, or 0.
        minutes (Optional[float]): Time limit of the trial, for the record.
        keep_model (bool): Whether to keep model-best and model-last if the trial succeeds.
        RETURNS (TrialRecord): The record.
        RAISES (TrialStoppedError): If the trial was stopped. Nothing is stored then.
        """
        work = self._work(key)
        try:
            with coded_io(work):
                work.mkdir(parents=True)
                end = start(work)
                curve = [{"step": step, DEV_SCORE: f} for step, f in read_points(work).items()]
                for folder, name in itertools.product(_training_folders(work), (RUN_FILE, CURVE_FILE)):
                    with suppress(FileNotFoundError):
                        shutil.copy(folder / name, work / name)
                kept = MODEL if keep_model and end.status == "done" else ""
                for folder in (path for path in work.iterdir() if path.is_dir() and path.name != kept):
                    shutil.rmtree(folder, ignore_errors=True)  # also of a training that was killed
            if end.status == "stopped":
                raise TrialStoppedError(end.error)
            parts = [work / f"{part}.json" for part in SCORED if end.status == "done"]
            record = TrialRecord.model_validate(
                {
                    "key": key,
                    "corpus": trial.corpus.name,
                    "method": trial.method.name,
                    "choices": trial.method.choices,
                    "seed": trial.seed or 0,  # a searched config may have none
                    "draw": trial.draw,
                    "steps": steps,
                    "training": {"patience": patience},
                    "curve": curve,
                    "code": code_version(),
                    "status": end.status,
                    "seconds": round(end.seconds, 1),
                    "time_limit": minutes,
                    "error": end.error.replace(str(self.output), short_path(self.output)),
                    **{
                        path.stem: json.loads(path.read_text("utf8"))["scores"]
                        for path in parts
                        if path.is_file()
                    },
                }
            )
            self.finish(work, record)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return record

    def _work(self, key: str) -> Path:
        """Return a working folder for this process, and delete the folders of killed processes."""
        prefix = f"{key}-{json_checksum(platform.node())[:6]}-"  # of this machine
        for left in (self.output / WORK).glob(f"{prefix}*"):
            if not _is_another_process(int(left.name.removeprefix(prefix))):
                shutil.rmtree(left, ignore_errors=True)
        return self.output / WORK / f"{prefix}{os.getpid()}"

    def finish(self, work: Path, record: TrialRecord) -> None:
        """Move the working folder of a trial to its final place, unless it is done already.

        The move is a single rename, so that an interrupted one leaves nothing half-written.

        work (Path): Working folder of the trial.
        record (TrialRecord): Record of the trial.
        """
        target = self.place(record.key)
        write_file(work / RECORD, json.dumps(record.data(), indent=1))
        with coded_io(work):
            target.parent.mkdir(exist_ok=True)
            before = _read(target / RECORD)
            if before is None or not before.is_done:  # another process may have been faster
                shutil.rmtree(target, ignore_errors=True)  # an earlier failure
                try:
                    os.rename(work, target)
                except OSError:
                    other = _read(target / RECORD)  # of a process that has just finished the trial
                    if other in (None, before) or (record.is_done and not other.is_done):
                        raise


def _is_another_process(pid: int) -> bool:
    """Return whether another process of this machine has an ID, as far as the system can tell."""
    if pid == os.getpid() or os.name != "posix":  # on Windows, os.kill would end the process
        return pid != os.getpid()
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # it belongs to another user
    return True


def _read(path: Path) -> TrialRecord | None:
    """Read a record, or return None if there is none or it is invalid."""
    with coded_io(path):
        text = path.read_bytes() if path.is_file() else b""
    try:
        return TrialRecord.model_validate_json(text)
    except ValueError:
        return None
