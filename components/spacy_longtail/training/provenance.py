"""Provenance of a model: its command, checksums of its data, settings, versions and curve."""

import hashlib
import json
import os
import platform
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

import srsly
from pydantic import Field, JsonValue, ValidationError
from spacy.cli._util import _parse_override as from_override
from spacy.language import Language
from spacy.util import get_package_version, registry

from ..about import __version__
from ..corpus.parts import checksum
from ..encoders import located
from ..errors import Errors
from ..output.targets import home_folder
from ..pipes.scores.thresholding import CALIBRATION
from ..records import Record, problem_of
from ..types import Overrides
from .startup import imported_code

BEST = "model-best"  # in the folder of a training
MODELS = (BEST, "model-last")
RUN_FILE = "run.json"  # beside model-best, or in the folder of an ensemble
DEV_SCORE = "ents_macro_f"  # score on dev by which checkpoints and methods are chosen
CURVE_FILE = "curve.jsonl"  # beside model-best, with a line for each evaluation
CURVE_LOGGER = "longtail.CurveLogger.v1"  # during a training; no saved config has it
DIGITS = 16  # number of digits of a short checksum
PACKAGES = ("spacy", "thinc", "numpy", "torch", "spacy-transformers", "transformers")
# settings of a pipe in which methods differ
DETAILS = (
    "budget",
    "factory",
    "head",
    "include",
    "loss",
    "merge",
    "scheme",
    "threshold",
    "thresholds",
    "rare_labels",
)

Block = dict[str, JsonValue]  # settings


class RunRecord(Record):
    """Record of a training or an ensemble. It is empty for models that other programs made."""

    command: str = ""
    corpus: str = ""
    checksums: dict[str, str] = Field(default_factory=dict)  # of the parts and of the lists of names
    versions: dict[str, str] = Field(default_factory=dict)
    seconds: float | None = None

    def write(self, folder: Path) -> None:
        """Write the record to run.json in a folder."""
        srsly.write_json(folder / RUN_FILE, self.model_dump())


class Method(Record):
    """Settings that make the method of a pipeline. Absolute paths are shortened."""

    reader: Block = Field(default_factory=dict)  # of the training data
    pipes: dict[str, Block] = Field(default_factory=dict)  # settings by name of the pipe


def json_checksum(value: object) -> str:
    """Return a short checksum of JSON data."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf8", "replace")).hexdigest()[:DIGITS]


def file_content(path: str) -> str:
    """Return a checksum of a file or of all files of a folder, or "" if there is neither.

    path (str): The path, or the name of an installed package or of a model on a hub.
    """
    root = located(path)
    # unlike the methods of Path, these accept a text that is too long for a path
    if os.path.isfile(root):
        files = [root]
    elif os.path.isdir(root):  # without hidden files, such as the cached counts of a corpus
        files = sorted(p for p in root.rglob("*") if p.is_file() and p.name[0] != ".")
    else:
        return ""
    return json_checksum([(file.relative_to(root).as_posix(), checksum(file)) for file in files])


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages on which scores depend."""
    installed = {"python": platform.python_version(), "spacy-longtail": __version__}
    found = {name: get_package_version(name) for name in PACKAGES}
    return installed | {name: version for name, version in found.items() if version is not None}


def short_path(path: str | Path) -> str:
    """Return the last two names of a path, because the folders above may be private."""
    return "/".join(str(path).replace("\\", "/").rstrip("/").split("/")[-2:])


def with_short_paths(value: Any) -> Any:
    """Return a setting in which all absolute paths are shortened, also in lists and blocks."""
    if isinstance(value, Mapping):
        return {key: with_short_paths(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_short_paths(inner) for inner in value]
    if isinstance(value, (str, Path)):
        is_absolute = any(kind(value).is_absolute() for kind in (PurePosixPath, PureWindowsPath))
        return short_path(value) or str(value) if is_absolute else str(value)
    return value


def shell_path(path: str | Path) -> str:
    """Return a path as it can be typed in a shell in the working folder.

    An absolute path becomes relative to the working folder or to the home folder (~), so that a
    shared report does not name its author.
    """
    path = Path(path)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    home = home_folder()
    if home is not None and path.is_absolute() and path.is_relative_to(home):
        return f"~/{shlex.quote(path.relative_to(home).as_posix())}"
    return shlex.quote(f"./{path}" if f"{path}".startswith("-") else f"{path}")


def shell_command(name: str, paths: list[Path], options: Overrides) -> str:
    """Return a command as it can be typed again in the same folder, in a POSIX shell.

    name (str): Name of the command.
    paths (List[Path]): Its arguments.
    options (Overrides): Its options by name, without the dashes. --code is added.
    RETURNS (str): The command.
    """
    words = ["python", "-m", "spacy_longtail", name, *map(shell_path, paths)]
    code = [("code", path) for path in imported_code()]
    for option, value in [*code, *options.items()]:
        if isinstance(value, Path) or (isinstance(value, str) and Path(value).is_absolute()):
            given = shell_path(value)
        else:
            given = shlex.quote(_as_override(value))
        words += [f"--{option}", given]
    return " ".join(words)


def _as_override(value: object) -> str:
    """Return a config value as spaCy parses it in overrides: as JSON or as text."""
    is_text = isinstance(value, str) and not value.startswith("--") and from_override(value) is value
    return str(value) if is_text else srsly.json_dumps(value)


def read_run(model: Path) -> RunRecord:
    """Read the record of a training or ensemble, which is empty if there is none.

    model (Path): Folder of the pipeline.
    RAISES (ValueError): If run.json is invalid (L417).
    """
    inside = model / RUN_FILE
    path = inside if inside.is_file() else model.parent / RUN_FILE
    if not path.is_file():
        return RunRecord()
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(Errors.L417.format(path=path, problem=problem_of(error))) from error


def log_curve(nlp: Language, path: Path) -> None:
    """Make the next training of a pipeline write a line of JSON for each evaluation.

    nlp (Language): The pipeline, whose config is changed until the training starts.
    path (Path): The file.
    """
    training = nlp.config["training"]
    training["logger"] = {"@loggers": CURVE_LOGGER, "logger": training["logger"], "path": str(path)}


@registry.loggers(CURVE_LOGGER)
def curve_logger(logger: Callable, path: str) -> Callable:
    """Create a logger that also writes each evaluation to a file.

    When the training starts, the config gets its own logger back, so that saved configs have it.

    logger (Callable): Logger of the config.
    path (str): The file.
    """

    def setup(nlp: Language, stdout: IO[str], stderr: IO[str]) -> tuple:
        training = nlp.config["training"]
        training["logger"] = training["logger"]["logger"]
        show, finalize = logger(nlp, stdout, stderr)
        shown = [name for name, weight in training["score_weights"].items() if weight is not None]
        Path(path).write_bytes(b"")

        def log(info: dict[str, Any] | None) -> None:
            show(info)
            if info is not None:
                scores = {name: float(info["other_scores"].get(name, 0.0)) for name in shown}
                line = {
                    "epoch": info["epoch"],
                    "step": info["step"],
                    "losses": {name: float(loss) for name, loss in info["losses"].items()},
                    "scores": {name: v if name == "speed" else 100 * v for name, v in scores.items()},
                    "score": float(info["score"]),
                }
                srsly.write_jsonl(path, [line], append=True, append_new_line=False)

        return log, finalize

    return setup


def read_curve(model: Path) -> list[dict[str, float]]:
    """Read the scores of all evaluations of a training.

    model (Path): Folder of the pipeline, beside which the file is.
    RETURNS (List[Dict[str, float]]): Step and scores in [0, 1] of each evaluation with scores, or
        nothing if there is no file.
    RAISES (ValueError): If an entry has no step or no scores (L417).
    """
    path = model.parent / CURVE_FILE
    if not path.is_file():
        return []
    points = []
    try:
        # the last line is cut off if the training was killed
        for line in srsly.read_jsonl(path, skip=True):
            scores = {k: v / 100 for k, v in line["scores"].items() if k != "speed" and v is not None}
            if scores:
                points.append({"step": int(line["step"]), **scores})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            Errors.L417.format(
                path=path, problem=f"its entry {len(points) + 1} has no step or no scores"
            )
        ) from error
    return points


def method_of(nlp: Language) -> Method:
    """Return the settings that make the method of a trained pipeline."""
    config = nlp.config.interpolate()
    pipes: dict[str, Block] = {}
    for name in nlp.pipe_names:
        block = config["components"][name]
        pipes[name] = {key: block[key] for key in DETAILS if block.get(key) is not None}
        if members := block.get("members"):  # of an ensemble
            pipes[name]["members"] = len(members)
        if getattr(nlp.get_pipe(name), "cfg", {}).get(CALIBRATION):
            pipes[name]["calibrated"] = True
    return Method(
        reader=with_short_paths(config.get("corpora", {}).get("train", {})),
        pipes=with_short_paths(pipes),
    )
