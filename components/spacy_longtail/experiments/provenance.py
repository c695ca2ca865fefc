"""Where a figure comes from: the command, the data's checksum, the settings and the versions."""

import hashlib
import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language

from ..about import __version__

RUN_FILE = "run.json"  # beside model-best: how it was trained
CURVE_FILE = "curve.jsonl"  # beside model-best: spaCy's log, a line an evaluation
PACKAGES = ("spacy", "thinc", "numpy", "torch", "spacy-transformers", "transformers")
CHUNK = 1 << 20
# of a pipe: what methods differ in
DETAILS = ("head", "include", "loss", "merge", "scheme", "threshold", "thresholds", "weak_labels")


def versions() -> dict[str, str]:
    """Python and the packages that figures depend on, those that are installed."""
    found = {"python": platform.python_version(), "spacy-longtail": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of the .spacy files of a folder one after the other, as hexadecimal."""
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*.spacy")) if path.is_dir() else [path]:
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def short(path: str | Path) -> str:
    """The last two names of a path: the folders above say where it lies, which is nobody's business."""
    return "/".join(str(path).replace("\\", "/").rstrip("/").split("/")[-2:])


def command(name: str, paths: list[Path], options: Mapping[str, Any]) -> str:
    """A command as it can be typed again, folders shortened.

    name (str): Of the command. paths (List[Path]): Its arguments.
    options (Mapping[str, Any]): By name, without the dashes.
    """
    words = ["python", "-m", "spacy_longtail", name, *map(short, paths)]
    for option, value in options.items():
        is_path = option.startswith("paths.") and isinstance(value, (str, Path))
        words += [f"--{option}", short(value) if is_path else _as_text(value)]
    return shlex.join(words)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else srsly.json_dumps(value)


def write_run(
    output: Path,
    config: Path,
    corpus: Path,
    parts: Mapping[str, Path],
    overrides: Mapping[str, Any],
    seconds: float,
) -> None:
    """Write how a model was trained beside it.

    output (Path): The folder of model-best. config (Path): The config. corpus (Path): The corpus.
    parts (Mapping[str, Path]): The files of the training and development parts, by name.
    overrides (Mapping[str, Any]): What was set on the command line, by dotted name.
    seconds (float): Wall-clock time of the training.
    """
    record = {
        "command": command("train", [config, corpus, output], overrides),
        "corpus": corpus.name,
        "checksums": {name: checksum(path) for name, path in parts.items()},
        "versions": versions(),
        "seconds": round(seconds, 1),
    }
    srsly.write_json(output / RUN_FILE, record)


def read_run(model: Path) -> dict[str, Any]:
    """How a model was trained, where `write_run` left it beside the model; else nothing."""
    path = model.parent / RUN_FILE
    found = srsly.read_json(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def read_curve(model: Path) -> list[dict[str, float]]:
    """The scores of a model's training, an entry an evaluation: step, and scores in [0, 1].

    model (Path): A pipeline folder; the log is looked for beside it.
    """
    path = model.parent / CURVE_FILE
    lines = srsly.read_jsonl(path, skip=True) if path.is_file() else ()
    return [
        {"step": line["step"], **{k: v / 100 for k, v in line["scores"].items() if k != "speed"}}
        for line in lines
    ]


def method(nlp: Language) -> dict[str, Any]:
    """What makes a pipeline's method: its pipes' settings, and the training reader.

    nlp (Language): A trained pipeline.
    RETURNS (Dict[str, Any]): JSON data: reader (a config block), pipes (settings by name).
    """
    config = nlp.config.interpolate()
    pipes = {}
    for name in nlp.pipe_names:
        block = config["components"][name]
        pipes[name] = {
            "factory": block.get("factory", ""),
            **{key: block[key] for key in DETAILS if block.get(key) is not None},
        }
    return {"reader": config.get("corpora", {}).get("train", {}), "pipes": pipes}
