"""A paired bootstrap over documents between two models of several seeds: is the difference chance?

Documents are drawn with replacement, the same for both models and all seeds; scores are computed anew
from the counts of the drawn documents, and averaged over seeds.
"""

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

CHUNK = 250  # draws at a time: draws x documents weights are in memory


class Difference(NamedTuple):
    observed: float  # second minus first, mean over seeds, in [-1, 1]
    low: float  # of the 95 % percentile interval
    high: float
    p: float  # two-sided


def document_counts(evaluations: list[dict[str, Any]], labels: list[str]) -> np.ndarray:
    """Right, predicted and gold mentions, (n_documents, n_seeds, n_types, 3)."""
    column = {label: i for i, label in enumerate(labels)}
    n_documents = len(evaluations[0]["documents"])
    counts = np.zeros((n_documents, len(evaluations), len(labels), 3))
    for seed_i, evaluation in enumerate(evaluations):
        for doc_i, document in enumerate(evaluation["documents"]):
            gold = {tuple(span[:3]) for span in document["gold"]}
            predicted = {tuple(span[:3]) for span in document["predicted"]}
            for kind, spans in enumerate((gold & predicted, predicted, gold)):
                for *_, label in spans:
                    if label in column:
                        counts[doc_i, seed_i, column[label], kind] += 1
    return counts


def scores(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Macro and micro F1 of summed counts (..., n_seeds, n_types, 3), means over seeds."""

    def f1(right: np.ndarray, both: np.ndarray) -> np.ndarray:
        return 2 * right / np.maximum(both, 1)

    macro = f1(sums[..., 0], sums[..., 1] + sums[..., 2]).mean(axis=(-2, -1))
    total = sums.sum(axis=-2)
    return macro, f1(total[..., 0], total[..., 1] + total[..., 2]).mean(axis=-1)


def compare(first: np.ndarray, second: np.ndarray, n_draws: int, seed: int) -> dict[str, Difference]:
    """Differences of two models' counts, with intervals and p."""
    rng = np.random.default_rng(seed)
    n_documents = len(first)
    drawn: list[np.ndarray] = []
    for begin in range(0, n_draws, CHUNK):
        n = min(CHUNK, n_draws - begin)
        weights = rng.multinomial(n_documents, np.full(n_documents, 1 / n_documents), size=n)
        sums = [np.tensordot(weights, counts, axes=1) for counts in (first, second)]
        drawn.append(np.stack(scores(sums[1])) - np.stack(scores(sums[0])))
    by_draw = np.concatenate(drawn, axis=1)
    observed = np.stack(scores(second.sum(axis=0))) - np.stack(scores(first.sum(axis=0)))
    found = {}
    for name, value, row in zip(("macro", "micro"), observed, by_draw, strict=True):
        fewer = min((row <= 0).sum(), (row >= 0).sum())
        p = min(1.0, 2 * (1 + fewer) / (n_draws + 1))
        low, high = np.quantile(row, [0.025, 0.975])
        found[name] = Difference(float(value), float(low), float(high), float(p))
    return found


def read(paths: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf8")) for path in paths]


def main(
    folder: Annotated[Path, typer.Argument(exists=True, help="Where compare.py wrote its models.")],
    corpus: Annotated[str, typer.Argument(help="The corpus's name.")],
    baseline: Annotated[str, typer.Argument(help="The variant to compare with.")],
    others: Annotated[list[str], typer.Argument(help="Variants to hold against it.")],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    n_draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = 10_000,
) -> None:
    """Print how far each variant is ahead of the baseline on test, with 95 % intervals and p."""

    def counts(name: str) -> np.ndarray:
        paths = [folder / f"{corpus}-{name}-{seed}" / "test.json" for seed in seeds.split(",")]
        missing = [str(path) for path in paths if not path.is_file()]
        if missing:
            raise typer.BadParameter(f"{missing[0]} is not there: run scripts/compare.py first.")
        evaluations = read(paths)
        texts.append([[d["text"] for d in e["documents"]] for e in evaluations])
        if any(own != texts[0][0] for own in texts[-1]):
            raise typer.BadParameter(f"{name} was evaluated on other documents than {baseline}.")
        return document_counts(evaluations, evaluations[0]["labels"])

    texts: list[list[list[str]]] = []
    first = counts(baseline)
    typer.echo(f"| against {baseline} | macro F1 | p | micro F1 | p |\n| --- | --- | --- | --- | --- |")
    for name in others:
        cells = [name]
        for found in compare(first, counts(name), n_draws, 0).values():
            value, low, high = (f"{100 * x:+.1f}" for x in found[:3])
            cells += [f"{value} ({low} to {high})", f"{found.p:.4f}"]
        typer.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    typer.run(main)
