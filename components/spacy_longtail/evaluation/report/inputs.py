"""The files a report is made of, read and checked before anything is written."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from ...corpus.folder import PARTS
from ...errors import Errors
from ...training.provenance import DEV_SCORE
from ..significance import MentionCounts, mention_counts

STATISTICS_FILE = "stats.json"
PART_REPORTED = "test"
NOTHING = {"p": 0.0, "r": 0.0, "f": 0.0, "support": 0}  # of a type that does not occur
ROUNDING = 1e-6

# A shape is a type, [shape] for a list, {key: shape} for these keys and perhaps others, {...: shape}
# for any keys, (shape, ...) for a row that starts like this.
COUNTS = {"mentions": float, "tokens": float, "sentences": float}
PART = {"documents": float, "sentences": float, "tokens": float, "types": {...: COUNTS}}
STATISTICS = {
    "corpus": str,
    "labels": [str],
    "tail": [str],
    "parts": dict.fromkeys(PARTS, PART),
    "policies": {...: {"sentences": float, "tokens": float}},
    "unseen": dict,
}
DOCUMENT = {
    "text": str,
    "sentences": [(int, int)],
    "gold": [(int, int, str)],
    "predicted": [(int, int, str)],
}
PRF = {"p": float, "r": float, "f": float}
KINDS = ("correct", "type", "boundary", "type_and_boundary", "missed", "spurious")
SIDE = dict.fromkeys(("early", "right", "late"), float)
SEEN = {"support": float, "predicted": float}
ANALYSIS = {
    "matching": dict.fromkeys(("strict", "boundaries", "partial"), PRF),
    "confusion": {"labels": [str], "counts": list},
    "errors": {**dict.fromkeys(KINDS, float), "per_type": {...: dict.fromkeys(KINDS, float)}},
    "boundaries": {"start": SIDE, "end": SIDE, "too_long": float, "too_short": float, "shifted": float},
    "lengths": [{"bin": str, "sentences": float}],
    "buckets": {...: {"labels": [str], "support": float}},
    "seen": {"seen": SEEN, "unseen": SEEN},
    "averages": {"seqeval_phantoms": [str]},
}
# what an evaluation may lack, or hold as null
OPTIONAL = {
    "part": str,
    "checksum": str,
    "method": {},
    "run": {},
    "curve": [{"step": float}],
    "analysis": ANALYSIS,
}
EVALUATION = {
    "name": str,
    "model": str,
    "data": str,
    "labels": [str],
    "tail": [str],
    "training": dict,
    "performance": dict,
    "scores": {
        "ents_f": float,
        "ents_macro_f": float,
        "ents_weighted_f": float,
        "ents_per_type": {...: {"p": float, "r": float, "f": float, "support": float}},
    },
    "words_per_second": float,
    "documents": [DOCUMENT],
}


class Run(NamedTuple):
    """An evaluation without its documents, so that hundreds fit in memory."""

    path: Path
    name: str  # of the method
    seed: int | None  # of the training
    data: dict[str, Any]  # all but the documents
    counts: MentionCounts
    gold: str  # fingerprint of the documents and their gold entities


def metrics_files(folder: Path) -> tuple[Path, list[Path]]:
    """The statistics and the evaluations in a folder of metrics, by name.

    folder (Path): What `stats -o FOLDER/stats.json` and `evaluate -o FOLDER/NAME.json` wrote.
    RETURNS (Tuple[Path, List[Path]]): The statistics, the evaluations.
    RAISES (ValueError): L402.
    """
    if not folder.is_dir():
        fix = "Run the commands `stats` and `evaluate` with -o into that folder."
        raise ValueError(Errors.L402.format(path=folder, fix=fix))
    statistics = folder / STATISTICS_FILE
    return statistics, sorted(path for path in folder.glob("*.json") if path != statistics)


def read_statistics(path: Path) -> dict[str, Any]:
    """Read the statistics of a corpus.

    path (Path): A file that the command `stats` wrote.
    RETURNS (Dict[str, Any]): Its content.
    RAISES (ValueError): L405.
    """
    data = _read(path, STATISTICS, "stats")
    problem = "" if data["labels"] else "it names no types"
    for label in data["labels"]:
        for part in PARTS:
            if label not in data["parts"][part]["types"]:
                problem = f"parts.{part}.types lacks {label!r}"
    if problem:
        raise ValueError(Errors.L405.format(path=path, problem=problem, command="stats"))
    return data


def read_runs(paths: list[Path], statistics: dict[str, Any]) -> list[Run]:
    """Read evaluations and make sure that their scores may stand side by side.

    paths (List[Path]): Files that the command `evaluate` wrote, a method under one name for all seeds.
    statistics (Dict[str, Any]): Of the corpus that all of them were evaluated on.
    RETURNS (List[Run]): In the order given.
    RAISES (ValueError): L405, L411, L412.
    """
    found: list[Run] = []
    origin: dict[tuple[str, int | None], Path] = {}
    for path in paths:
        data = _read(path, EVALUATION, "evaluate")
        documents = data.pop("documents")
        if not documents:
            problem = "it has no annotated document"
            raise ValueError(Errors.L405.format(path=path, problem=problem, command="evaluate"))
        seed = data["training"].get("seed")
        key = (data["name"], seed)
        if key in origin:
            raise ValueError(Errors.L412.format(name=key[0], seed=seed, path=path, other=origin[key]))
        gold = json.dumps([(document["text"], document["gold"]) for document in documents])
        fingerprint = hashlib.sha256(gold.encode("utf-8", "replace")).hexdigest()
        problem = _mismatch(data, statistics)
        other = "the corpus statistics"
        if not problem and found and fingerprint != found[0].gold:
            problem, other = "their documents or gold entities differ", str(found[0].path)
        if problem:
            raise ValueError(Errors.L411.format(path=path, other=other, problem=problem))
        origin[key] = path
        counts = mention_counts(documents, statistics["labels"])
        _check_scores(path, data, counts)
        found.append(Run(path, *key, data, counts, fingerprint))
    return found


def _check_scores(path: Path, data: dict[str, Any], counts: MentionCounts) -> None:
    """Intervals come from the documents: they have to be of the scores. RAISES (ValueError): L405."""
    for label, (right, predicted, gold) in zip(counts.labels, counts.counts.sum(axis=0), strict=False):
        scores = data["scores"]["ents_per_type"].get(label, NOTHING)
        f = 2 * right / max(predicted + gold, 1)
        if scores["support"] != gold or abs(scores["f"] - f) > ROUNDING:
            problem = f"its documents give F1 {f:.4f} of {label!r}, its scores {scores['f']:.4f}"
            raise ValueError(Errors.L405.format(path=path, problem=problem, command="evaluate"))


def read_documents(run: Run) -> list[dict[str, Any]]:
    """The documents that a run left on disk. RAISES (ValueError): L405."""
    documents = _read(run.path, EVALUATION, "evaluate")["documents"]
    for row in (row for document in documents for row in document["predicted"]):
        score = row[3] if len(row) > 3 else None
        if score is not None and not (isinstance(score, (int, float)) and 0 <= score <= 1):
            problem = f"an entity score is {score!r}, not between 0 and 1"
            raise ValueError(Errors.L405.format(path=run.path, problem=problem, command="evaluate"))
    return documents


def _mismatch(evaluation: dict[str, Any], statistics: dict[str, Any]) -> str:
    if evaluation["part"] not in (None, PART_REPORTED):
        return f"it is of the part {evaluation['part']!r}, reports are of {PART_REPORTED!r}"
    for key in ("labels", "tail"):
        if set(evaluation[key]) != set(statistics[key]):
            return f"{key} are {evaluation[key]} here and {statistics[key]} there"
    return ""


def _read(path: Path, shape: Any, command: str) -> dict[str, Any]:
    if not path.is_file():
        problem = "there is no such file"
    else:
        try:
            # not srsly: it reads 0.6 as 0.6000000000000001
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            problem = f"it is not JSON ({error})"
        else:
            problem = _misfit(data, shape, "the file")
            if not problem and shape is EVALUATION:
                problem = _settle(data)
    if problem:
        raise ValueError(Errors.L405.format(path=path, problem=problem, command=command))
    return data


def _settle(data: dict[str, Any]) -> str:
    """Give an evaluation the optional parts that it lacks; what is wrong with those it has."""
    for key, shape in OPTIONAL.items():
        empty: Any = [] if isinstance(shape, list) else None if shape in (str, ANALYSIS) else {}
        if data.get(key) is None:
            data[key] = empty
        elif problem := _misfit(data[key], shape, f"the file, {key!r}"):
            return problem
    if not isinstance(data["training"].get("seed"), (int, type(None))):
        return "the file, 'training', 'seed' is not of type int"
    score = data["performance"].get(DEV_SCORE)
    return "" if score is None else _misfit(score, float, f"the file, 'performance', {DEV_SCORE!r}")


def _misfit(value: Any, shape: Any, where: str) -> str:
    """What keeps a value from having a shape; empty if it has."""
    if shape is float:  # NaN would travel through the whole page
        fits = isinstance(value, (int, float)) and math.isfinite(value)
        return "" if fits else f"{where} is not a number"
    if isinstance(shape, type):
        return "" if isinstance(value, shape) else f"{where} is not of type {shape.__name__}"
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{where} is not of type dict"
        lacking = [key for key in shape if key is not ... and key not in value]
        if lacking:
            return f"{where} lacks {lacking[0]!r}"
        keys = value if ... in shape else shape
        inner = [(value[key], shape.get(key, shape.get(...)), f"{where}, {key!r}") for key in keys]
    elif isinstance(value, list) and isinstance(shape, list) and isinstance(shape[0], tuple):
        if _are_rows(value, shape[0]):  # most of a file: looked at row by row only to name a misfit
            return ""
        inner = [(v, shape[0], f"{where}, {i}") for i, v in enumerate(value)]
    else:
        if not isinstance(value, list) or (isinstance(shape, tuple) and len(value) < len(shape)):
            return f"{where} is not a list" + (f" of {len(shape)}" if isinstance(shape, tuple) else "")
        parts = shape if isinstance(shape, tuple) else shape * len(value)
        inner = [(v, s, f"{where}, {i}") for i, (v, s) in enumerate(zip(value, parts, strict=False))]
    return next((problem for part in inner if (problem := _misfit(*part))), "")


def _are_rows(value: list[Any], types: tuple[type, ...]) -> bool:
    return all(
        isinstance(row, list) and len(row) >= len(types) and all(map(isinstance, row, types))
        for row in value
    )
