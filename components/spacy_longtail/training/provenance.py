"""Where a figure comes from: the command, the data's checksum, the settings and the versions."""

import platform
import shlex
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import srsly
from pydantic import Field, JsonValue, ValidationError
from spacy.language import Language

from ..about import __version__
from ..errors import Errors
from ..pipes.scores.thresholding import CALIBRATION
from ..records import Record, problem_of
from ..types import Overrides

RUN_FILE = "run.json"  # beside model-best, or in an ensemble: how it was made
DEV_SCORE = "ents_macro_f"  # what checkpoints and methods are chosen by, on dev
CURVE_FILE = "curve.jsonl"  # beside model-best: spaCy's log, one line per evaluation
PACKAGES = ("spacy", "thinc", "numpy", "torch", "spacy-transformers", "transformers")
# of a pipe: what methods differ in
DETAILS = ("factory", "head", "include", "loss", "merge",
           "scheme", "threshold", "thresholds", "rare_labels")  # fmt: skip

Block = dict[str, JsonValue]  # settings


class RunRecord(Record):
    """How a model was made; nothing is known of one that neither `train` nor `ensemble` made."""

    command: str = ""
    corpus: str = ""
    checksums: dict[str, str] = Field(default_factory=dict)  # of the files of each part
    versions: dict[str, str] = Field(default_factory=dict)
    seconds: float | None = None


class Method(Record):
    """What makes a pipeline's method. Absolute paths are shortened."""

    reader: Block = Field(default_factory=dict)  # of the training data
    pipes: dict[str, Block] = Field(default_factory=dict)  # settings by name


def versions() -> dict[str, str]:
    """Python and the packages that figures depend on, those that are installed."""
    found = {"python": platform.python_version(), "spacy-longtail": __version__}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def short(path: str | Path) -> str:
    """The last two names of a path: the folders above it are private."""
    return "/".join(str(path).replace("\\", "/").rstrip("/").split("/")[-2:])


def shortened(value: Any) -> Any:
    """A setting with every absolute path in it shortened, in lists and blocks too."""
    if isinstance(value, Mapping):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(inner) for inner in value]
    if isinstance(value, (str, Path)):
        is_absolute = any(kind(value).is_absolute() for kind in (PurePosixPath, PureWindowsPath))
        return short(value) or str(value) if is_absolute else str(value)
    return value


def command(name: str, paths: list[Path], options: Overrides) -> str:
    """A command as it can be typed again, folders shortened.

    name (str): Of the command. paths (List[Path]): Its arguments.
    options (Overrides): By name, without the dashes.
    """
    words = ["python", "-m", "spacy_longtail", name, *map(short, paths)]
    for option, value in options.items():
        is_path = option.startswith("paths.") and isinstance(value, (str, Path))
        given = short(value) if is_path else shortened(value)
        words += [f"--{option}", given if isinstance(given, str) else srsly.json_dumps(given)]
    return shlex.join(words)


def write_run(folder: Path, record: RunRecord) -> None:
    """folder (Path): Of the models, or an ensemble's. record (RunRecord): How they were made."""
    srsly.write_json(folder / RUN_FILE, record.model_dump())


def read_run(model: Path) -> RunRecord:
    """How a model was made: `ensemble` left it in the model, or `train` beside it; else nothing.

    model (Path): A pipeline folder.
    """
    own = model / RUN_FILE
    path = own if own.is_file() else model.parent / RUN_FILE
    if not path.is_file():
        return RunRecord()
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(Errors.L417.format(path=path, problem=problem_of(error))) from error


def read_curve(model: Path) -> list[dict[str, float]]:
    """The scores of a model's training, one entry per evaluation: step, and scores in [0, 1].

    model (Path): A pipeline folder; the log is looked for beside it.
    RETURNS (List[Dict[str, float]]): Without null scores, and evaluations without any other.
    """
    path = model.parent / CURVE_FILE
    if not path.is_file():
        return []
    points = []
    try:
        for line in srsly.read_jsonl(path, skip=True):  # the last one is cut where training was killed
            scores = {k: v / 100 for k, v in line["scores"].items() if k != "speed" and v is not None}
            if scores:
                points.append({"step": int(line["step"]), **scores})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"its entry {len(points) + 1} has no step or no scores"
        raise ValueError(Errors.L417.format(path=path, problem=problem)) from error
    return points


def method(nlp: Language) -> Method:
    """What makes the method of a trained pipeline."""
    config = nlp.config.interpolate()
    pipes: dict[str, Block] = {}
    for name in nlp.pipe_names:
        block = config["components"][name]
        pipes[name] = {key: block[key] for key in DETAILS if block.get(key) is not None}
        if members := block.get("members"):  # of an ensemble
            pipes[name]["members"] = len(members)
        if getattr(nlp.get_pipe(name), "cfg", {}).get(CALIBRATION):
            pipes[name]["calibrated"] = True
    reader = config.get("corpora", {}).get("train", {})
    return Method(reader=shortened(reader), pipes=shortened(pipes))
