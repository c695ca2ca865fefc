"""Runs of several seeds as one network: the mean of their weights, scored on dev and test.

    python benchmarks/weight_averages.py training/main_job corpus/field_notes --method pretrained

The matrix has kept its models. Each run, and each group of seeds, is a record in
benchmarks/results/weight_averages.jsonl.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import srsly
import typer

from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.ensemble import build_ensemble
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.training.train import BEST

RESULTS = Path(__file__).parent / "results" / "weight_averages.jsonl"
PARTS = ("dev", "test")


def runs_of(matrix: Path, method: str, corpus: str) -> dict[int, Path]:
    """The models of the trials that are done, by seed."""
    records = {file: srsly.read_json(file) for file in sorted(matrix.glob("trials/*/record.json"))}
    return {
        own["seed"]: file.parent / "model" / BEST
        for file, own in records.items()
        if (own["status"], own["method"], own["corpus"]) == ("done", method, corpus)
    }


def main(
    matrix: Annotated[Path, typer.Argument(help="Folder of a matrix that kept its models.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus that it was run on.")],
    method: Annotated[str, typer.Option(help="Of the runs.")] = "crf-pretrained-described",
    groups: Annotated[str, typer.Option(help="Seeds that are averaged.")] = "0+1,2+3,0+1+2,0+1+2+3+4",
) -> None:
    """Average, score, and append records."""
    found, runs = ConvertedCorpus(corpus).statistics, runs_of(matrix, method, corpus.name)
    several = [tuple(map(int, group.split("+"))) for group in groups.split(",")]
    for seeds in [*((seed,) for seed in sorted(runs)), *several]:
        if not {*seeds} <= {*runs}:
            continue
        with tempfile.TemporaryDirectory(prefix="weights-") as name:
            model = runs[seeds[0]]
            if len(seeds) > 1:
                model = Path(name) / "mean"
                build_ensemble([runs[seed] for seed in seeds], model, weights=True)
            record: dict[str, object] = {"corpus": corpus.name, "seeds": list(seeds)}
            for part in PARTS:
                data = part_path(corpus, part)
                own = evaluate_model(model, data, found.labels, found.tail, part=part).scores
                record[part] = {"macro_f": own.ents_macro_f, "tail_f": own.ents_tail_f, "f": own.ents_f}
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
