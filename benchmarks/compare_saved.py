"""Compare saved evaluations with a baseline, by the package's rule of decision.

    python benchmarks/compare_saved.py CORPUS BASELINE FOLDER METHOD [METHOD ...]

reads the files METHOD.CORPUS.SEED.test.json in FOLDER, which `evaluate` wrote, and appends the
decisions on macro (the primary score), tail and micro F1 to
benchmarks/results/crossner_decisions.jsonl. Tail are the types with at most 30 training mentions
(training_mentions.jsonl).
"""

from pathlib import Path
from typing import Annotated

import srsly
import typer

from spacy_longtail.evaluation.records import read_evaluation
from spacy_longtail.evaluation.significance import compare, mention_counts, named_metrics, stack

RESULTS = Path(__file__).parent / "results"


def main(
    corpus: str,
    baseline: str,
    folder: Path,
    methods: list[str],
    seeds: Annotated[str, typer.Option(help="Separated by commas.")] = "0,1,2",
) -> None:
    """Compare each method with the baseline, over all seeds together."""
    (tail,) = (
        row["tail"]
        for row in srsly.read_jsonl(RESULTS / "training_mentions.jsonl")
        if row["corpus"] == corpus
    )

    def evaluations(name: str) -> list:
        return [read_evaluation(folder / f"{name}.{corpus}.{s}.test.json") for s in seeds.split(",")]

    by_name = {name: evaluations(name) for name in (baseline, *methods)}
    labels = by_name[baseline][0].labels
    counts = {
        name: [mention_counts(run.documents, labels) for run in runs] for name, runs in by_name.items()
    }
    known = named_metrics(labels, tail)
    metrics = {score: known[f"{score} F1"] for score in ("macro", "tail", "micro")}
    first = stack(counts[baseline])
    with (RESULTS / "crossner_decisions.jsonl").open("a", encoding="utf8") as file:
        for name in methods:
            verdicts = compare(first, stack(counts[name]), metrics, primary="macro")
            for score, verdict in verdicts.items():
                record = {
                    "corpus": corpus,
                    "method": name,
                    "baseline": baseline,
                    "score": score,
                    "seeds": [int(s) for s in seeds.split(",")],
                    "documents": len(first),
                    **{
                        key: round(getattr(verdict, key), 4)
                        for key in ("value", "low", "high", "p", "adjusted")
                    },
                    "outcome": verdict.outcome,
                }
                file.write(srsly.json_dumps(record) + "\n")
                typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
