"""Compare an ensemble of several trainings, and one student distilled from it, with one training.

    python benchmarks/ensembles.py training/averaging corpus/crossner_ai pool \\
        --pretrained en_longtail_cnn

The matrix was run with --keep-models and has one model of a method per seed. The first k of them
are combined, and the largest ensemble labels the pool for a student of the same config. Scores on
test and the decision against a single training (with scores averaged over its seeds) are appended
to benchmarks/results/ensembles.jsonl.
"""

from pathlib import Path
from typing import Annotated, Any

import srsly
import typer

from spacy_longtail.cli.options import read_settings
from spacy_longtail.corpus.folder import read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.ensemble import build_ensemble
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.evaluation.records import write_evaluation
from spacy_longtail.evaluation.report.systems import read_run
from spacy_longtail.evaluation.significance import compare, named_metrics, stack
from spacy_longtail.training.provenance import BEST
from spacy_longtail.unlabelled.distil import STUDENT, DistilRequest, distil

RESULTS = Path(__file__).parent / "results" / "ensembles.jsonl"
METRICS = {"macro": "macro F1", "tail": "tail F1", "micro": "micro F1"}


def trials_of(matrix: Path, corpus: str, method: str) -> dict[int, Path]:
    """Return the folders of the finished trials, by seed."""
    records = {file.parent: srsly.read_json(file) for file in matrix.glob("trials/*/record.json")}
    found = {
        record["seed"]: folder
        for folder, record in records.items()
        if (record["corpus"], record["method"], record["status"]) == (corpus, method, "done")
    }
    return dict(sorted(found.items()))


def main(
    matrix: Annotated[Path, typer.Argument(help="Folder of a matrix run with --keep-models.")],
    corpus: Annotated[Path, typer.Argument(help="A converted corpus of that matrix.")],
    pool: Annotated[
        Path, typer.Argument(help="Unlabelled text for the student, in a format of `distil`.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder.")] = Path(
        "training/ensembles"
    ),
    method: Annotated[str, typer.Option(help="Method whose models are combined.")] = "averaged",
    sizes: Annotated[str, typer.Option(help="Numbers of models in the ensembles.")] = "3,5",
    config: Annotated[Path, typer.Option(help="Config of the student.")] = Path(
        "configs/pretrained_cnn.cfg"
    ),
    gold_copies: Annotated[
        int | None, typer.Option(help="Copies of the gold sentences; set by `distil` by default.")
    ] = None,
    pretrained: Annotated[Path | None, typer.Option(help="Value of paths.pretrained.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the student; repeatable.")
    ] = None,
) -> None:
    """Combine models, distil a student, score and compare both, and append a record."""
    types = read_types(corpus)
    trials = trials_of(matrix, corpus.name, method)
    models = [folder / "model" / BEST for folder in trials.values()]
    place = output / corpus.name
    built: dict[str, Path] = {}
    for size in map(int, sizes.split(",")):
        built[f"{size} behind one pipe"] = place / f"ensemble-{size}"
        build_ensemble(models[:size], built[f"{size} behind one pipe"])
    overrides = read_settings(settings)
    if pretrained is not None:
        overrides["paths.pretrained"] = str(pretrained)
    teacher = place / "teacher"
    build_ensemble(models, teacher)
    asked = DistilRequest(
        teacher,
        pool,
        config,
        corpus,
        gold_copies=gold_copies,
        compare=False,
        overrides=overrides,
    )
    distilled, _ = distil(asked, place / "distilled", typer.echo)
    built["distilled"] = place / "distilled" / STUDENT / BEST
    runs = {"single": [read_run(folder / "test.json", types.labels) for folder in trials.values()]}
    for name, path in built.items():
        found = evaluate_model(path, part_path(corpus, "test"), types.labels, types.tail, part="test")
        written = place / f"{name}.json"
        write_evaluation(found, written)
        runs[name] = [read_run(written, types.labels)]
    metrics = named_metrics(types.labels, types.tail)
    metrics = {key: metrics[name] for key, name in METRICS.items()}
    sums = {name: stack([run.counts for run in own]) for name, own in runs.items()}
    record: dict[str, Any] = {
        "corpus": corpus.name,
        "method": method,
        "seeds": list(trials),
        "silver": distilled.pseudo_labels.kept,
        "gold_copies": gold_copies,
        "mentions": distilled.pseudo_labels.mentions,
        "settings": {name: value for name, value in overrides.items() if name != "paths.pretrained"},
        "scores": {
            name: {key: metric(own.sum(axis=0)).round(4).tolist() for key, metric in metrics.items()}
            for name, own in sums.items()
        },
        "tests": {
            name: {
                key: {
                    field: round(getattr(own, field), 4)
                    for field in ("value", "low", "high", "adjusted")
                }
                for key, own in compare(sums["single"], sums[name], metrics, primary="macro").items()
            }
            for name in built
        },
        "speeds": {
            system.name: {"words_per_second": system.words_per_second, "ratio": system.speed_ratio}
            for system in distilled.systems
        },
    }
    srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
    typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
