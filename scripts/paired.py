"""A paired bootstrap over documents between two models of several seeds: is the difference chance?

Documents are drawn with replacement, the same for both models and all seeds; scores are computed anew
from the counts of the drawn documents, and averaged over seeds. A test set of a few documents is drawn
by sentence.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from spacy_longtail.experiments.significance import (
    holm,
    mention_counts,
    named_metrics,
    paired_bootstrap,
    stack,
)

SHOWN = ("macro F1", "micro F1")


def main(
    folder: Annotated[Path, typer.Argument(exists=True, help="Where compare.py wrote its models.")],
    corpus: Annotated[str, typer.Argument(help="The corpus's name.")],
    baseline: Annotated[str, typer.Argument(help="The variant to compare with.")],
    others: Annotated[list[str], typer.Argument(help="Variants to hold against it.")],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    n_draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = 10_000,
) -> None:
    """Print how far each variant is ahead of the baseline on test, with 95 % intervals and p.

    Beside each p stands the p after Holm over all variants: of what is claimed of several of them.
    """
    found = {
        name: [_read(folder / f"{corpus}-{name}-{seed}" / "test.json") for seed in seeds.split(",")]
        for name in (baseline, *others)
    }
    texts = {
        name: [[document["text"] for document in e["documents"]] for e in evaluations]
        for name, evaluations in found.items()
    }
    for name, read in texts.items():
        if any(own != texts[baseline][0] for own in read):
            raise typer.BadParameter(f"{name} was evaluated on other documents than {baseline}.")
    labels = found[baseline][0]["labels"]
    counts = {name: _counts(evaluations, labels) for name, evaluations in found.items()}
    known = named_metrics(labels)
    metrics = {name: known[name] for name in SHOWN}
    differences = {  # percentiles: with them an interval and its p never contradict each other
        name: paired_bootstrap(
            counts[baseline], counts[name], metrics, n_draws=n_draws, method="percentile"
        )
        for name in others
    }
    adjusted = {metric: holm([differences[name][metric].p for name in others]) for metric in SHOWN}
    columns = " | ".join(f"{metric} | p | Holm" for metric in SHOWN)
    typer.echo(f"| against {baseline} | {columns} |\n| --- |{' --- | --- | --- |' * len(SHOWN)}")
    for row_i, name in enumerate(others):
        cells = [name]
        for metric, own in differences[name].items():
            value, low, high = (f"{100 * x:+.1f}" for x in own[:3])
            cells += [f"{value} ({low} to {high})", f"{own.p:.4f}", f"{adjusted[metric][row_i]:.4f}"]
        typer.echo(f"| {' | '.join(cells)} |")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise typer.BadParameter(f"{path} is not there: run scripts/compare.py first.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found


def _counts(evaluations: list[dict[str, Any]], labels: list[str]) -> np.ndarray:
    return stack([mention_counts(e["documents"], labels) for e in evaluations])


if __name__ == "__main__":
    typer.run(main)
