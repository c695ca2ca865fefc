"""The runs of a report, read and checked, by method, and which method it is about."""

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from thinc.types import Ints4d

from ...corpus.folder import PARTS
from ...corpus.statistics import Statistics
from ...corpus.statistics import read_statistics as read_file
from ...errors import Errors
from ...training.provenance import DEV_SCORE
from ..convergence import rising_of
from ..records import Evaluation, read_evaluation
from ..significance import MentionCounts, mention_counts, stack

STATISTICS_FILE = "stats.json"
PART_REPORTED = "test"
AVERAGES = {  # what the page shows to the score it reads
    "macro": "ents_macro_f",
    "micro": "ents_f",
    "weighted": "ents_weighted_f",
    "tail": "ents_tail_f",
}
BASELINE = "baseline"  # what a baseline is called unless someone says otherwise


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

    def averaged(self, labels: list[str], tail: list[str]) -> "Run":
        """Return the run with the averages over the types that the corpus has now.

        A corpus gets a type, or another tail, when labels are merged into it. What was evaluated
        before stays comparable.
        """
        scores = self.evaluation.scores.averaged(labels, tail)
        now = {"labels": labels, "tail": tail, "scores": scores}
        return self._replace(evaluation=self.evaluation.model_copy(update=now))


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
    labels, tail = statistics.labels, statistics.tail
    runs = [read_run(path, labels).averaged(labels, tail) for path in paths]
    origin: dict[tuple[str, int | None], Path] = {}
    for run in runs:
        other = origin.setdefault((run.name, run.seed), run.path)
        if other is not run.path:
            problem = f"{other} is of {run.name!r} with seed {run.seed} too: each needs its own"
            raise ValueError(Errors.L405.format(path=run.path, problem=problem, command="evaluate"))
        evaluation, problem, against = run.evaluation, "", "the other evaluations"
        if evaluation.part not in (None, PART_REPORTED):
            problem = f"it is of the part {evaluation.part!r}, reports are of {PART_REPORTED!r}"
        elif run.gold != runs[0].gold:
            problem, against = "their documents or gold entities differ", str(runs[0].path)
        if problem:
            raise ValueError(Errors.L411.format(path=run.path, other=against, problem=problem))
    return runs


def read_run(path: Path, labels: list[str]) -> Run:
    """Read an evaluation, and count its mentions of some types, as `mention_counts` does."""
    evaluation = read_evaluation(path)
    documents = evaluation.documents
    if not documents:
        problem = "it has no annotated document"
        raise ValueError(Errors.L405.format(path=path, problem=problem, command="evaluate"))
    gold = json.dumps([(document.text, document.gold) for document in documents])
    fingerprint = hashlib.sha256(gold.encode("utf-8", "replace")).hexdigest()
    light = evaluation.model_copy(update={"documents": []})
    return Run(path, light, mention_counts(documents, labels), fingerprint)


class System(NamedTuple):
    """A method: its runs, one per seed."""

    name: str
    runs: list[Run]

    @property
    def seeds(self) -> list[int | None]:
        return [run.seed for run in self.runs]

    def scores(self, kind: str) -> list[float]:
        """One of AVERAGES on test, a value a seed; no tail of a corpus without rare types."""
        key = AVERAGES[kind]
        return self.values(lambda run: getattr(run.scores, key) if kind != "tail" or run.tail else None)

    def dev(self) -> list[float]:
        """Macro F1 on dev, as training left it; none if it measured none."""
        return self.values(lambda run: run.performance.get(DEV_SCORE))

    def values(self, read: Callable[[Evaluation], float | None]) -> list[float]:
        """The numbers that evaluations hold in some place, those that have one."""
        return [value for value in (read(run.evaluation) for run in self.runs) if value is not None]

    def rising(self) -> str:
        """Why its trainings ended too early; "" if they did not."""
        runs = (run.evaluation for run in self.runs)
        return rising_of({"curve": run.curve, "training": run.training.as_json()} for run in runs)

    def counts(self) -> Ints4d:
        """Mentions of all runs: (n_units, n_seeds, n_types + 1, 3)."""
        return stack([run.counts for run in self.runs])


def mean(values: Sequence[float]) -> float | None:
    return statistics.mean(values) if values else None


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation over seeds; one value has none."""
    return statistics.stdev(values) if len(values) > 1 else None


def group(runs: Sequence[Run]) -> list[System]:
    """Runs by method, in the order in which methods first come, seeds in order."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    return [System(n, sorted(runs, key=lambda run: run.seed or 0)) for n, runs in by_name.items()]


def choose(
    systems: Sequence[System], baseline: str | None = None, ours: str | None = None
) -> tuple[System | None, System, bool]:
    """The method that a report is about, and its baseline. No score on test has a say in it.

    systems (Sequence[System]): At least one.
    baseline (Optional[str]): Name of the baseline; null takes the one called "baseline".
    ours (Optional[str]): Name of ours; null takes the best macro F1 on dev, the first of equals.
    RETURNS (Tuple[Optional[System], System, bool]): The baseline, null beside one method alone;
        ours; whether its scores on dev chose it among several.
    """
    by_name = {system.name: system for system in systems}
    names = ", ".join(by_name) or "none"
    if len(systems) == 1 and baseline in (None, *by_name) and ours in (None, *by_name):
        return None, systems[0], False
    first = baseline or BASELINE
    if first not in by_name:
        raise ValueError(Errors.L410.format(role="baseline", name=first, found=names))
    others = [system for system in systems if system.name != first]
    named = [system for system in others if ours in (None, system.name)]
    if len(named) == 1:
        return by_name[first], named[0], False
    scored = [system for system in named if system.dev()]
    if not scored:
        if named:
            names += ", none with performance.ents_macro_f, the score on dev"
        raise ValueError(Errors.L410.format(role="ours", name=ours, found=names))
    return by_name[first], max(scored, key=lambda system: mean(system.dev()) or 0.0), True
