"""Runs of a report: reads and checks them, groups them by method and chooses our method."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from thinc.types import Ints4d

from ...corpus.folder import PARTS
from ...corpus.statistics import Statistics
from ...errors import Errors
from ...records import read_record
from ...training.provenance import DEV_SCORE, json_checksum
from ..convergence import rising_of
from ..records import Evaluation, read_evaluation
from ..significance import MentionCounts, mention_counts, stack

STATISTICS_FILE = "stats.json"
PART_REPORTED = "test"
AVERAGES = {  # score of an evaluation, by the name that reports show
    "macro": "ents_macro_f",
    "micro": "ents_f",
    "weighted": "ents_weighted_f",
    "tail": "ents_tail_f",
}
BASELINE = "baseline"  # default name of the baseline

MeanAndStd = tuple[float | None, float | None]  # mean and standard deviation of scores in [0, 1]


class Run(NamedTuple):
    """Evaluation without its documents, so that hundreds fit in memory."""

    path: Path
    evaluation: Evaluation
    counts: MentionCounts
    gold: str  # fingerprint of the documents, their groups and their gold entities

    @property
    def name(self) -> str:
        """Return the name of the method."""
        return self.evaluation.name

    @property
    def seed(self) -> int | None:
        """Return the random seed of the training."""
        return self.evaluation.training.seed

    def averaged(self, labels: list[str], tail: list[str]) -> "Run":
        """Return the run with the averages over the types that the corpus has now.

        Merging labels into a corpus may add types or change which are rare. Earlier evaluations
        stay comparable in this way.

        labels (List[str]): The declared types.
        tail (List[str]): The rare types.
        RETURNS (Run): A copy with other averages.
        """
        scores = self.evaluation.scores.averaged(labels, tail)
        changed = {"labels": labels, "tail": tail, "scores": scores}
        return self._replace(evaluation=self.evaluation.model_copy(update=changed))


def metrics_files(folder: Path) -> tuple[Statistics, list[Path]]:
    """Return the statistics and the evaluation files of a folder.

    folder (Path): Folder with stats.json of `stats` and NAME.json of `evaluate`.
    RETURNS (Tuple[Statistics, List[Path]]): The statistics, and the evaluations sorted by name.
    RAISES (ValueError): If there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(
            Errors.L402.format(
                path=folder, fix="Run the commands `stats` and `evaluate` with -o into that folder."
            )
        )
    statistics = folder / STATISTICS_FILE
    return read_statistics(statistics), sorted(
        path for path in folder.glob("*.json") if path != statistics
    )


def read_statistics(path: Path) -> Statistics:
    """Read the statistics of a corpus, and check that they have every part and type.

    path (Path): A file that the command `stats` wrote.
    RETURNS (Statistics): The statistics.
    RAISES (ValueError): If the file is missing or wrong, or lacks a part or type (L405).
    """
    stats = read_record(Statistics, path, "stats")
    problems = [] if stats.labels else ["it names no types"]
    problems += [
        f"parts.{part}.types lacks {label!r}"
        for part in PARTS
        for label in stats.labels
        if part not in stats.parts or label not in stats.parts[part].types
    ]
    if problems:
        raise ValueError(Errors.L405.format(path=path, problem=problems[0], command="stats"))
    return stats


def read_runs(paths: list[Path], statistics: Statistics) -> list[Run]:
    """Read evaluations, and check that their scores are comparable.

    paths (List[Path]): Files that the command `evaluate` wrote. Runs of a method with different
        seeds have the same name.
    statistics (Statistics): Statistics of the corpus on which all were evaluated.
    RETURNS (List[Run]): The runs in the given order.
    RAISES (ValueError): If two have the same name and seed, or if they were evaluated on different
        data or on another part than test.
    """
    labels, tail = statistics.labels, statistics.tail
    runs = [read_run(path, labels).averaged(labels, tail) for path in paths]
    origin: dict[tuple[str, int | None], Path] = {}
    for run in runs:
        other = origin.setdefault((run.name, run.seed), run.path)
        if other is not run.path:
            raise ValueError(
                Errors.L405.format(
                    path=run.path,
                    problem=f"{other} is of {run.name!r} with seed {run.seed} too, "
                    "but seeds must differ",
                    command="evaluate",
                )
            )
        if run.evaluation.part not in (None, PART_REPORTED):
            raise ValueError(
                Errors.L411.format(
                    path=run.path,
                    other="the other evaluations",
                    problem=f"it is of the part {run.evaluation.part!r}, "
                    f"reports are of {PART_REPORTED!r}",
                )
            )
        if run.gold != runs[0].gold:
            raise ValueError(
                Errors.L411.format(
                    path=run.path,
                    other=runs[0].path,
                    problem="their documents, gold entities or groups differ",
                )
            )
    return runs


def read_run(path: Path, labels: list[str]) -> Run:
    """Read an evaluation and count its mentions.

    path (Path): A file that the command `evaluate` wrote.
    labels (List[str]): The declared types.
    RETURNS (Run): The evaluation without its documents.
    RAISES (ValueError): If no document is annotated.
    """
    evaluation = read_evaluation(path)
    documents = evaluation.documents
    if not documents:
        raise ValueError(
            Errors.L405.format(path=path, problem="it has no annotated document", command="evaluate")
        )
    return Run(
        path=path,
        evaluation=evaluation.model_copy(update={"documents": []}),
        counts=mention_counts(documents, labels),
        gold=json_checksum([(doc.text, doc.group, doc.gold) for doc in documents]),
    )


class System(NamedTuple):
    """Method with its runs, one for each seed."""

    name: str
    runs: list[Run]

    def scores(self, kind: str) -> list[float | None]:
        """Return one of AVERAGES on test for each seed. A corpus without rare types has no tail."""
        return [getattr(run.evaluation.scores, AVERAGES[kind]) for run in self.runs]

    def dev(self) -> list[float]:
        """Return macro F1 on dev for each seed that has it, as measured during training."""
        scores = (run.evaluation.performance.get(DEV_SCORE) for run in self.runs)
        return [score for score in scores if score is not None]

    def rising(self) -> str:
        """Return why most trainings ended too early, or "" if they did not."""
        return rising_of(
            (run.evaluation.curve, run.evaluation.training.patience or 0) for run in self.runs
        )

    def counts(self) -> Ints4d:
        """Return the mention counts of all runs, shape (n_units, n_seeds, n_types + 1, 3)."""
        return stack([run.counts for run in self.runs])


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None without values."""
    return statistics.mean(values) if values else None


def over_seeds(scores: Iterable[float | None]) -> MeanAndStd:
    """Return mean and standard deviation of the scores that are there, or None for too few."""
    values = [score for score in scores if score is not None]
    return mean(values), statistics.stdev(values) if len(values) > 1 else None


def group(runs: Sequence[Run]) -> list[System]:
    """Group runs by method, in the order of each method's first run, sorted by seed."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    return [System(n, sorted(runs, key=lambda run: run.seed or 0)) for n, runs in by_name.items()]


def choose(
    systems: Sequence[System], baseline: str | None = None, ours: str | None = None
) -> tuple[System | None, System, bool]:
    """Choose the baseline and our method, without regard to scores on test.

    systems (Sequence[System]): At least one system.
    baseline (Optional[str]): Name of the baseline. By default "baseline".
    ours (Optional[str]): Name of our method. By default the first with the best macro F1 on dev.
    RETURNS (Tuple[Optional[System], System, bool]): The baseline, or None if there is only one
        system; our method; and whether it was chosen among several by its scores on dev.
    RAISES (ValueError): If there is no such system, or none with scores on dev.
    """
    by_name = {system.name: system for system in systems}
    names = ", ".join(by_name) or "none"
    if len(systems) == 1 and baseline in (None, *by_name) and ours in (None, *by_name):
        return None, systems[0], False
    first = baseline or BASELINE
    if first not in by_name:
        raise ValueError(Errors.L410.format(role="baseline", name=first, found=names))
    named = [system for system in systems if system.name != first and ours in (None, system.name)]
    if len(named) == 1:
        return by_name[first], named[0], False
    scored = [system for system in named if system.dev()]
    if not scored and named and ours is None:
        raise ValueError(
            Errors.L487.format(
                problem=f"none of {', '.join(s.name for s in named)} has performance.ents_macro_f, "
                "its score on dev.",
                fix="Name one with --ours.",
            )
        )
    if not scored:
        raise ValueError(Errors.L410.format(role="method to compare", name=ours, found=names))
    return by_name[first], max(scored, key=lambda system: mean(system.dev()) or 0.0), True
