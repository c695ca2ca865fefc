"""The records of a plan put together, corpus by corpus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...corpus.descriptions import CorpusTypes
from ...corpus.folder import read_types
from ...corpus.statistics import corpus_statistics, write_statistics
from ...evaluation.convergence import Rising, rising_of
from ...evaluation.report import read_report
from ...evaluation.report.comparison import Report
from ...evaluation.report.dates import written
from ...evaluation.report.plots import Heat, HeatRow
from ...evaluation.report.systems import mean, spread
from ..trials.ledger import trial_folder
from ..trials.plan import Trial
from ..trials.records import RECORD, TrialRecord
from ..trials.run import Matrix
from .by_folds import Cell, recommend_by_folds
from .curves import Curves, read_curves
from .recommendation import Recommendation, recommend

COLUMNS = {  # of the tables: where a record has the score
    "macro, dev": ("dev", "ents_macro_f"),
    "macro, test": ("test", "ents_macro_f"),
    "micro, test": ("test", "ents_f"),
    "tail, test": ("test", "ents_tail_f"),
}
FOLD_COLUMNS = {  # of folds, whose test part is what they hold out
    "macro, held out": ("test", "ents_macro_f"),
    "tail, held out": ("test", "ents_tail_f"),
    "micro, held out": ("test", "ents_f"),
    "macro, dev": ("dev", "ents_macro_f"),
}
STATISTICS = "stats.json"

Over = tuple[float | None, float | None]  # mean and standard deviation over seeds, in [0, 1]
Folds = Mapping[Path, list[Path]]  # of each corpus


class Row(NamedTuple):
    method: str
    n_seeds: int
    n_trials: int
    scores: dict[str, Over]  # by the columns of the summary
    seconds: float  # mean of a trial
    steps: float  # mean of a training
    rising: Rising | None  # where it was not trained long enough


class CorpusSummary(NamedTuple):
    corpus: str
    rows: list[Row]  # by mean macro F1 on dev, the best first
    report: Report | None  # null where trials have draws, or the baseline is not finished
    recommendation: Recommendation | None
    curves: list[Curves]
    heat: Heat | None = None  # F1 by method and type; null where trials have draws


class Summary(NamedTuple):
    schedule: str  # how long each training was
    baseline: str
    corpora: list[CorpusSummary]
    n_trials: int
    failed: list[TrialRecord]
    missing: int  # trials that have no record here
    date: str  # on which the trials ended
    columns: tuple[str, ...] = tuple(COLUMNS)


def summarize_trials(
    matrix: Matrix,
    records: Mapping[str, TrialRecord],
    folds: Folds | None = None,
) -> Summary:
    """Put the finished trials of a plan together.

    matrix (Matrix): The plan. records (Mapping[str, TrialRecord]): By content key.
    folds (Optional[Mapping[Path, List[Path]]]): Of plans on folds, those of each corpus.
    RETURNS (Summary): Scores, tests and recommendations. The latter know nothing of test.
    RAISES (ValueError): L402, L404, L405, L406, L411, L432.
    """
    by_corpus: dict[Path, dict[str, TrialRecord]] = {path: {} for path in matrix.plan.corpora}
    for key, trial in matrix.trials.items():
        if key in records and records[key].is_done:
            by_corpus[trial.corpus][key] = records[key]
    if folds is None:
        found = [_corpus(path, matrix, own) for path, own in by_corpus.items() if own]
    else:
        parts = {path: {fold: by_corpus[fold] for fold in own} for path, own in folds.items()}
        lost = [
            trial for key, trial in matrix.trials.items() if key in records and not records[key].is_done
        ]
        found = [_folded(path, matrix, own, lost) for path, own in parts.items() if any(own.values())]
    failed = [record for record in records.values() if not record.is_done]
    n_trials, plan = len(matrix.trials), matrix.plan
    missing = n_trials - len(records)
    columns = tuple(COLUMNS if folds is None else FOLD_COLUMNS)
    date = written(trial_folder(matrix.output, key) / RECORD for key in records)
    return Summary(plan.schedule, plan.baseline, found, n_trials, failed, missing, date, columns)


def _folded(
    path: Path,
    matrix: Matrix,
    records: Mapping[Path, Mapping[str, TrialRecord]],
    lost: Sequence[Trial],
) -> CorpusSummary:
    """A corpus by its folds: scores are means over folds and seeds. lost: Trials that failed."""
    every = {key: record for own in records.values() for key, record in own.items()}
    rows = _rows(every, FOLD_COLUMNS)
    held_out: dict[str, dict[Cell, Path]] = {}
    for i, own in enumerate(records.values()):
        for key, record in own.items():
            place = trial_folder(matrix.output, key) / "test.json"
            held_out.setdefault(record.method, {})[i, record.seed] = place
    choice = None
    if matrix.plan.baseline in held_out:
        labels = read_types(path).labels
        failed: dict[str, set[Cell]] = {}
        places = {fold: i for i, fold in enumerate(records)}
        for trial in lost:
            if trial.corpus in places:
                failed.setdefault(trial.method.name, set()).add((places[trial.corpus], trial.seed))
        choice = recommend_by_folds(held_out, labels, matrix.plan.baseline, len(records), failed)
    return CorpusSummary(path.name, rows, None, choice, [])


def _corpus(
    path: Path,
    matrix: Matrix,
    records: Mapping[str, TrialRecord],
) -> CorpusSummary:
    rows = _rows(records, COLUMNS)
    baseline = matrix.plan.baseline
    if matrix.plan.draws:
        # of one type the averages are the same
        kinds = ("macro", "micro") if len(read_types(path).labels) > 1 else ("macro",)
        curves = [read_curves(list(records.values()), baseline, kind) for kind in kinds]
        return CorpusSummary(path.name, rows, None, None, curves)
    if baseline not in {row.method for row in rows}:
        heat = _heat(rows, read_types(path), records, {})
        return CorpusSummary(path.name, rows, None, None, [], heat=heat)
    dev: dict[str, dict[int, Path]] = {}
    for key, record in records.items():
        dev.setdefault(record.method, {})[record.seed] = trial_folder(matrix.output, key) / "dev.json"
    choice = recommend(dev, read_types(path).labels, baseline)
    statistics = matrix.output / "report" / path.name / STATISTICS
    write_statistics(corpus_statistics(path), statistics)
    evaluations = [trial_folder(matrix.output, key) / "test.json" for key in records]
    report = read_report(statistics, evaluations, baseline)  # on the best of the others on dev
    roles = {baseline: "baseline"}
    if report.choice.baseline is not None:
        roles[report.choice.ours.name] = "ours"
    heat = _heat(rows, read_types(path), records, roles)
    return CorpusSummary(path.name, rows, report, choice, [], heat=heat)


def _heat(
    rows: list[Row], types: CorpusTypes, records: Mapping[str, TrialRecord], roles: Mapping[str, str]
) -> Heat:
    """F1 of each method on each declared type, over the trials that have one."""
    first = next(iter(records.values()))
    support = {label: int(first.of_type("test", label, "support") or 0) for label in types.labels}
    labels = sorted(types.labels, key=lambda label: -support[label])
    shown = []
    for row in rows:
        own = [record for record in records.values() if record.method == row.method]
        values = [
            mean([f for record in own if (f := record.of_type("test", label)) is not None])
            for label in labels
        ]
        macro = row.scores["macro, test"][0]
        shown.append(HeatRow(row.method, values, macro, roles.get(row.method, "")))
    return Heat(labels, [support[label] for label in labels], [t in types.tail for t in labels], shown)


def _rows(records: Mapping[str, TrialRecord], columns: Mapping[str, tuple[str, str]]) -> list[Row]:
    """A row per method, the best in the first column first."""
    by_method: dict[str, list[TrialRecord]] = {}
    for record in records.values():
        by_method.setdefault(record.method, []).append(record)
    rows = []
    for name, own in by_method.items():
        scores = {}
        for column, (part, key) in columns.items():
            values = [value for r in own if (value := r.score(part, key)) is not None]
            scores[column] = (mean(values), spread(values))
        n_seeds = len({record.seed for record in own})
        seconds = mean([record.seconds for record in own]) or 0.0
        steps = [record.steps_trained if record.curve else record.steps for record in own]
        rising = rising_of(record.data() for record in own)
        rows.append(Row(name, n_seeds, len(own), scores, seconds, mean(steps) or 0.0, rising))
    first = next(iter(columns))
    return sorted(rows, key=lambda row: -(row.scores[first][0] or 0.0))
