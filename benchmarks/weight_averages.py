"""Score the mean of the weights of several seeds as one network, on dev and test.

    python benchmarks/weight_averages.py training/main_job corpus/field_notes --method pretrained

The matrix was run with --keep-models. Each single run and each group of seeds is a record in
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
from spacy_longtail.training.provenance import BEST

RESULTS = Path(__file__).parent / "results" / "weight_averages.jsonl"
PARTS = ("dev", "test")


def runs_of(matrix: Path, method: str, corpus: str) -> dict[int, Path]:
    """Return the models of the finished trials, by seed."""
    records = {file: srsly.read_json(file) for file in sorted(matrix.glob("trials/*/record.json"))}
    return {
        own["seed"]: file.parent / "model" / BEST
        for file, own in records.items()
        if (own["status"], own["method"], own["corpus"]) == ("done", method, corpus)
    }


def main(
    matrix: Annotated[Path, typer.Argument(help="Folder of a matrix run with --keep-models.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus of that matrix.")],
    method: Annotated[
        str, typer.Option(help="Method whose runs are averaged.")
    ] = "crf-pretrained-described",
    groups: Annotated[str, typer.Option(help="Groups of seeds to average.")] = "0+1,2+3,0+1+2,0+1+2+3+4",
) -> None:
    """Average the weights, score the networks, and append the records."""
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
