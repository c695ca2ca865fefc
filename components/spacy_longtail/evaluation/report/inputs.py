"""The files a report is made of, read and checked before anything is written."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from ...corpus.folder import PARTS
from ...corpus.statistics import Statistics
from ...corpus.statistics import read_statistics as read_file
from ...errors import Errors
from ..records import Evaluation, read_evaluation
from ..significance import MentionCounts, Unit, mention_counts

STATISTICS_FILE = "stats.json"
PART_REPORTED = "test"


class Run(NamedTuple):
    """An evaluation without its documents, so that hundreds fit in memory."""

    path: Path
    evaluation: Evaluation
    counts: MentionCounts
    gold: str  # fingerprint of the documents and their gold entities

    @property
    def name(self) -> str:
        """Of the method."""
        return self.evaluation.name

    @property
    def seed(self) -> int | None:
        """Of the training."""
        return self.evaluation.training.seed


def metrics_files(folder: Path) -> tuple[Path, list[Path]]:
    """The statistics and the evaluations in a folder of metrics, by name.

    folder (Path): What `stats -o FOLDER/stats.json` and `evaluate -o FOLDER/NAME.json` wrote.
    RETURNS (Tuple[Path, List[Path]]): The statistics, the evaluations.
    """
    if not folder.is_dir():
        fix = "Run the commands `stats` and `evaluate` with -o into that folder."
        raise ValueError(Errors.L402.format(path=folder, fix=fix))
    statistics = folder / STATISTICS_FILE
    return statistics, sorted(path for path in folder.glob("*.json") if path != statistics)


def read_statistics(path: Path) -> Statistics:
    """Read the statistics of a corpus, and make sure that they have every part and type.

    path (Path): A file that the command `stats` wrote.
    """
    stats = read_file(path)
    problem = "" if stats.labels else "it names no types"
    for part in PARTS:
        types = stats.parts[part].types if part in stats.parts else {}
        if lacking := [label for label in stats.labels if label not in types]:
            problem = f"parts.{part}.types lacks {lacking[0]!r}"
    if problem:
        raise ValueError(Errors.L405.format(path=path, problem=problem, command="stats"))
    return stats


def read_runs(paths: list[Path], statistics: Statistics) -> list[Run]:
    """Read evaluations and make sure that their scores may stand side by side.

    paths (List[Path]): Files that the command `evaluate` wrote, a method under one name for all
        seeds.
    statistics (Statistics): Of the corpus that all of them were evaluated on.
    RETURNS (List[Run]): In the order given.
    """
    runs = [read_run(path, statistics.labels) for path in paths]
    origin: dict[tuple[str, int | None], Path] = {}
    for run in runs:
        other = origin.setdefault((run.name, run.seed), run.path)
        if other is not run.path:
            problem = f"{other} is of {run.name!r} with seed {run.seed} too: each needs its own"
            raise ValueError(Errors.L405.format(path=run.path, problem=problem, command="evaluate"))
        own, problem, against = run.evaluation, "", "the corpus statistics"
        if own.part not in (None, PART_REPORTED):
            problem = f"it is of the part {own.part!r}, reports are of {PART_REPORTED!r}"
        elif set(own.labels) != set(statistics.labels):
            problem = f"labels are {own.labels} here and {statistics.labels} there"
        elif set(own.tail) != set(statistics.tail):
            problem = f"tail are {own.tail} here and {statistics.tail} there"
        elif run.gold != runs[0].gold:
            problem, against = "their documents or gold entities differ", str(runs[0].path)
        if problem:
            raise ValueError(Errors.L411.format(path=run.path, other=against, problem=problem))
    return runs


def read_run(path: Path, labels: list[str], unit: Unit | None = None) -> Run:
    """Read an evaluation, and count its mentions of some types, as `mention_counts` does."""
    evaluation = read_evaluation(path)
    documents = evaluation.documents
    if not documents:
        problem = "it has no annotated document"
        raise ValueError(Errors.L405.format(path=path, problem=problem, command="evaluate"))
    gold = json.dumps([(document.text, document.gold) for document in documents])
    fingerprint = hashlib.sha256(gold.encode("utf-8", "replace")).hexdigest()
    light = evaluation.model_copy(update={"documents": []})
    return Run(path, light, mention_counts(documents, labels, unit), fingerprint)
