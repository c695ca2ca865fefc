"""Is the advice right? `recommend` on each corpus, then fresh trainings of its choice and stock.

    python benchmarks/advice.py corpus/gmb_subset corpus/wnut17 --output training/advice

On each corpus: `recommend` within its minutes; then the methods with three fresh seeds each, until
they are no better on dev, scored on test. Regret is what the best of them is ahead of the advice in
macro F1 (with --every of all candidates, else of those that `recommend` compared to the end).
Resumed where it was stopped; a record per corpus is appended to the results.
"""

import statistics
from pathlib import Path
from typing import Annotated

import numpy as np
import srsly
import typer

from spacy_longtail.corpus.folder import read_types
from spacy_longtail.evaluation.report.systems import read_run
from spacy_longtail.evaluation.significance import judge, named_metrics, stack
from spacy_longtail.studies.matrix.advice import Advice, advise, find_pretrained, planned
from spacy_longtail.studies.trials.records import trial_folder
from spacy_longtail.studies.trials.run import Matrix, TrialOptions

RESULTS = Path(__file__).parent / "results" / "advice.jsonl"
SEEDS = [11, 12, 13]  # that no fold had
METRICS = {"macro": "macro F1", "tail": "tail F1", "micro": "micro F1"}


def trained(
    corpus: Path, found: Advice, output: Path, every: bool, workers: int, pretrained: list[Path]
) -> dict:
    """Test evaluations by method, of fresh trainings to the end."""
    rows = found.summary.corpora[0].rows
    most = max(row.n_trials for row in rows)
    wanted = {row.method for row in rows if row.n_trials == most} | {found.summary.baseline}
    _, plan = planned(corpus, pretrained=pretrained)
    plan = plan._replace(seeds=SEEDS)
    if not every:
        plan = plan._replace(methods=[method for method in plan.methods if method.name in wanted])
    matrix = Matrix(plan, output)
    paths: dict[str, dict[int, Path]] = {}
    for key, record in matrix.run(TrialOptions(workers)).items():
        if record.is_done:
            paths.setdefault(record.method, {})[record.seed] = trial_folder(output, key) / "test.json"
    return paths


def rounded(values: np.ndarray) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def main(
    corpora: Annotated[list[Path], typer.Argument(help="Folders that `convert` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of all trainings.")] = Path(
        "training/advice"
    ),
    minutes: Annotated[float, typer.Option(help="Of each `recommend`.")] = 20,
    workers: Annotated[int, typer.Option(help="Trials at a time.")] = 1,
    every: Annotated[bool, typer.Option("--every", help="Train all candidates to the end.")] = False,
) -> None:
    """Compare advice with stock spaCy on test."""
    known = (
        {(r["corpus"], r["minutes"]) for r in srsly.read_jsonl(RESULTS)} if RESULTS.exists() else set()
    )
    for corpus in corpora:
        if (corpus.name, minutes) in known:
            continue
        types = read_types(corpus)
        place = output / corpus.name
        pretrained = find_pretrained(corpus)
        config = place / "recommend" / "recommended.cfg"
        candidates, plan = planned(corpus, pretrained=pretrained)
        options = TrialOptions(workers)
        found = advise(candidates, plan, config.parent, config, minutes=minutes, options=options)
        choice = found.recommendation
        paths = trained(corpus, found, place / "trained", every, workers, pretrained)
        metrics = named_metrics(types.labels, types.tail)
        metrics = {key: metrics[name] for key, name in METRICS.items() if name in metrics}
        runs = {
            method: [read_run(own[seed], types.labels) for seed in SEEDS if seed in own]
            for method, own in paths.items()
        }
        sums = {method: stack([run.counts for run in own]) for method, own in runs.items()}
        scores = {
            method: {key: rounded(metric(own.sum(axis=0))) for key, metric in metrics.items()}
            for method, own in sums.items()
        }
        means = {method: statistics.mean(own["macro"]) for method, own in scores.items()}
        best = max(means, key=lambda name: means[name])
        unit = runs[choice.method][0].counts.unit
        record = {
            "corpus": corpus.name,
            "minutes": minutes,
            "workers": workers,
            "advice": choice.method,
            "guess": choice.best,
            "pretrained": [str(path) for path in pretrained],
            "text": choice.text,
            "folds": max(row.n_trials for row in found.summary.corpora[0].rows),
            "seeds": SEEDS,
            "scores": scores,
            "best": best,
            "regret": round(means[best] - means[choice.method], 4),
            "gain": round(means[choice.method] - means[found.summary.baseline], 4),
        }
        if choice.method != found.summary.baseline:
            tested = judge(
                sums[found.summary.baseline], sums[choice.method], metrics, unit, is_paired=False
            )
            record["tests"] = {
                key: {name: round(getattr(own, name), 4) for name in ("value", "low", "high", "p")}
                for key, own in tested.items()
            }
        RESULTS.parent.mkdir(exist_ok=True)
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
