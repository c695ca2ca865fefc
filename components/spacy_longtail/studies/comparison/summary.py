"""Summary of a plan's finished trials, by corpus."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...corpus.converted import ConvertedCorpus
from ...corpus.folder import read_types
from ...evaluation.convergence import rising_of
from ...evaluation.report import read_report
from ...evaluation.report.comparison import Report
from ...evaluation.report.systems import MeanAndStd, mean, over_seeds, read_run
from ..trials.record import TrialRecord
from ..trials.study import Study
from .curves import Curves, read_curves
from .folds import FoldsByCorpus
from .recommendation import Cell, Recommendation, recommend, recommend_by_folds

COLUMNS = {  # part and score of a record, by column of the tables
    "macro, dev": ("dev", "ents_macro_f"),
    "macro, test": ("test", "ents_macro_f"),
    "micro, test": ("test", "ents_f"),
    "tail, test": ("test", "ents_tail_f"),
}
FOLD_COLUMNS = {  # of plans on folds, whose test part is the held-out fold
    "macro, held out": ("test", "ents_macro_f"),
    "tail, held out": ("test", "ents_tail_f"),
    "micro, held out": ("test", "ents_f"),
    "macro, dev": ("dev", "ents_macro_f"),
}


class MethodRow(NamedTuple):
    """Scores and costs of one method on one corpus."""

    method: str
    n_seeds: int
    n_trials: int
    scores: dict[str, MeanAndStd]  # by column of the summary
    seconds: float  # mean of the trials
    steps: float  # mean of the trials
    rising: str  # why most trials were not trained long enough, or ""


class CorpusSummary(NamedTuple):
    """Results of the trials on one corpus."""

    corpus: str
    rows: list[MethodRow]  # by mean score of the first column, the best first
    report: Report | None = None  # null for learning curves, or if the baseline is not finished
    recommendation: Recommendation | None = None
    curves: Sequence[Curves] = ()


class Summary(NamedTuple):
    """Results of all trials of a plan."""

    schedule: str  # length of each training, in words
    baseline: str
    corpora: list[CorpusSummary]
    n_trials: int
    failed: list[TrialRecord]
    missing: int  # number of trials without a record
    columns: tuple[str, ...] = tuple(COLUMNS)
    on_folds: bool = False  # whether the test parts are held-out folds of train and dev


def summarize_trials(
    study: Study,
    records: Mapping[str, TrialRecord],
    folds: FoldsByCorpus | None = None,
    dropped: Collection[str] = (),
) -> Summary:
    """Summarize the finished trials of a plan.

    study (Study): Trials of the plan.
    records (Mapping[str, TrialRecord]): Records of trials by content key.
    folds (Optional[Mapping[Path, List[Path]]]): Folds of each corpus, for a plan on folds.
    dropped (Collection[str]): Methods that were dropped after a fold, which are not recommended.
    RETURNS (Summary): Scores, tests and recommendations. The latter do not use the test part.
    """
    ended = {
        key: trial for key, trial in study.trials.items() if key in records and records[key].is_done
    }
    done = {
        path: {key: records[key] for key, trial in ended.items() if trial.corpus == path}
        for path in study.plan.corpora
    }
    if folds is None:
        corpora = [_summarize_corpus(path, study, own) for path, own in done.items() if own]
    else:
        parts = {path: {fold: done[fold] for fold in keys} for path, keys in folds.items()}
        corpora = [
            _summarize_folds(path, study, by, dropped) for path, by in parts.items() if any(by.values())
        ]
    return Summary(
        schedule=study.plan.schedule,
        baseline=study.plan.baseline,
        corpora=corpora,
        n_trials=len(study.trials),
        failed=[record for record in records.values() if not record.is_done],
        missing=len(study.trials) - len(records),
        columns=tuple(COLUMNS if folds is None else FOLD_COLUMNS),
        on_folds=folds is not None,
    )


def _summarize_folds(
    path: Path,
    study: Study,
    records: Mapping[Path, Mapping[str, TrialRecord]],
    dropped: Collection[str],
) -> CorpusSummary:
    """Summarize the trials on the folds of a corpus. Scores are means over folds and seeds.

    path (Path): Folder of the corpus.
    study (Study): Trials of the plan.
    records (Mapping[Path, Mapping[str, TrialRecord]]): Finished trials by fold and content key.
    dropped (Collection[str]): Methods that were dropped after a fold.
    """
    rows = _make_rows([r for group in records.values() for r in group.values()], FOLD_COLUMNS)
    places = {fold: i for i, fold in enumerate(records)}
    held_out: defaultdict[str, dict[Cell, Path]] = defaultdict(dict)
    for fold, group in records.items():
        for key, record in group.items():
            held_out[record.method][places[fold], record.seed] = study.store.place(key) / "test.json"
    if study.plan.baseline not in held_out:
        return CorpusSummary(path.name, rows)
    labels, baseline = read_types(path).labels, study.plan.baseline
    return CorpusSummary(
        path.name,
        rows,
        recommendation=recommend_by_folds(held_out, labels, baseline, len(records), dropped),
    )


def _summarize_corpus(path: Path, study: Study, records: Mapping[str, TrialRecord]) -> CorpusSummary:
    """Summarize the trials on one corpus: with samples their learning curves, else a report.

    path (Path): Folder of the corpus.
    study (Study): Trials of the plan.
    records (Mapping[str, TrialRecord]): Finished trials by content key.
    """
    rows, labels = _make_rows(list(records.values()), COLUMNS), read_types(path).labels
    baseline = study.plan.baseline
    if study.plan.draws:
        counts = {key: read_run(study.store.place(key) / "test.json", labels).counts for key in records}
        kinds = ("macro", "micro") if len(labels) > 1 else ("macro",)  # equal for a single type
        curves = [
            read_curves([*records.values()], baseline, lambda r: counts[r.key], kind) for kind in kinds
        ]
        return CorpusSummary(path.name, rows, curves=curves)
    if baseline not in {row.method for row in rows}:
        return CorpusSummary(path.name, rows)
    dev: defaultdict[str, dict[int, Path]] = defaultdict(dict)
    for key, record in records.items():
        dev[record.method][record.seed] = study.store.place(key) / "dev.json"
    statistics = ConvertedCorpus(path).statistics
    evaluations = [study.store.place(key) / "test.json" for key in records]
    return CorpusSummary(
        path.name,
        rows,
        report=read_report(statistics, evaluations, baseline),  # compares the best method on dev
        recommendation=recommend(dev, labels, baseline),
    )


def _make_rows(records: list[TrialRecord], columns: Mapping[str, tuple[str, str]]) -> list[MethodRow]:
    """Return a row for each method, sorted by the first column in descending order."""
    by_method: defaultdict[str, list[TrialRecord]] = defaultdict(list)
    for record in records:
        by_method[record.method].append(record)
    rows = [
        MethodRow(
            method=name,
            n_seeds=len({record.seed for record in runs}),
            n_trials=len(runs),
            scores={
                column: over_seeds(record.score(*score) for record in runs)
                for column, score in columns.items()
            },
            seconds=mean([record.seconds for record in runs]) or 0.0,
            steps=mean([record.steps_trained for record in runs]) or 0.0,
            rising=rising_of(record.ending for record in runs),
        )
        for name, runs in by_method.items()
    ]
    first = next(iter(columns))
    return sorted(rows, key=lambda row: -(row.scores[first][0] or 0.0))
