"""Simulate test sets, and count how often the intervals hold the true score and the tests cry wolf.

Documents differ: in length, and in how hard their mentions are, for all types and both systems at
once. The true score is that of a great many documents. Under the null two systems have the same
true score; on a test set they differ by chance in each mention, and besides because a training went
well or badly (seeds), or because documents suit one system whatever its seed (documents). Appends
two JSON records per run to benchmarks/results/coverage.jsonl.
"""

import json
import platform
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy
import typer

from spacy_longtail import __version__
from spacy_longtail.evaluation.significance import (
    intervals,
    judge,
    named_metrics,
    paired_permutation,
    paired_t,
)

ROOT = Path(__file__).parents[1]
LABELS = ("A", "B", "C", "D", "E", "RARE")
PER_DOCUMENT = np.array([3.0, 1.5, 0.8, 0.4, 0.15, 0.05])  # mean gold mentions: RARE has 10 in 200
RECALL = np.array([2.2, 1.7, 1.4, 1.0, 0.6, 0.2])  # logits, at a document of no special difficulty
SPURIOUS = np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5])  # wrong predictions for each gold mention
SHOWN = ("micro F1", "macro F1", "F1 of RARE")
METRICS = {name: metric for name, metric in named_metrics(LABELS).items() if name in SHOWN}
SEEDS = (1, 3, 6)  # a test over seeds is for the last


Alarms = dict[str, dict[str, dict[int, list[bool]]]]  # by score, test and number of seeds


class Spread(NamedTuple):
    """Standard deviations on the logit of recall, and on the logarithm of the false alarms."""

    seed: float = 0.0  # of each system and seed
    document: float = 0.0  # of each system and document, whatever the seed


CAUSES = {
    "chance": Spread(),
    "seeds": Spread(seed=0.1),  # about a point of micro F1
    "documents": Spread(document=0.5),
}


def simulate(
    rng: np.random.Generator, n_documents: int, n_seeds: int, n_systems: int, spread: Spread
) -> np.ndarray:
    """Counts of systems, documents alike: (n_systems, n_documents, n_seeds, n_types + 1, 3)."""
    length = rng.gamma(1.5, 1 / 1.5, (n_documents, 1))
    gold = rng.poisson(length * PER_DOCUMENT)  # (n_documents, n_types)
    ease = rng.normal(0, 1, (n_documents, 1, 1))
    ease = ease + rng.normal(0, spread.document, (n_systems, n_documents, 1, 1))
    ease = ease + rng.normal(0, spread.seed, (n_systems, 1, n_seeds, 1))
    counts = np.zeros((*ease.shape[:3], len(LABELS) + 1, 3), dtype="int64")
    right = rng.binomial(gold[:, None], 1 / (1 + np.exp(-RECALL - ease)))
    wrong = rng.poisson(length[:, None] * PER_DOCUMENT * SPURIOUS * np.exp(-ease / 2))
    counts[..., :-1, 0] = right
    counts[..., :-1, 1] = right + wrong
    counts[..., :-1, 2] = gold[:, None]
    return counts


def true_scores(n_documents: int, seed: int) -> dict[str, float]:
    """Scores of so many documents that what is left of chance does not matter."""
    rng, step = np.random.default_rng(seed), 100_000
    sums = sum(
        simulate(rng, step, 1, 1, Spread())[0].sum(axis=(0, 1)) for _ in range(n_documents // step)
    )
    return {name: float(metric(np.asarray(sums))) for name, metric in METRICS.items()}


def measure_coverage(n_sets: int, n_documents: int, n_draws: int, seed: int) -> dict[str, Any]:
    """The share of 95 % intervals that hold the true score, and where the others lie."""
    truth = true_scores(4_000_000, seed)
    found: dict[str, Any] = {name: {"true": round(truth[name], 4)} for name in METRICS}
    rng = np.random.default_rng(seed + 1)
    sets = [simulate(rng, n_documents, 1, 1, Spread())[0] for _ in range(n_sets)]
    drawn = [intervals(own, METRICS, n_draws=n_draws, seed=i) for i, own in enumerate(sets)]
    for name, true in truth.items():
        below = np.array([own[name].high < true for own in drawn])
        above = np.array([own[name].low > true for own in drawn])
        found[name]["bca"] = {
            "covered": round(float(1 - (below | above).mean()), 4),
            "below": round(float(below.mean()), 4),
            "above": round(float(above.mean()), 4),
            "width": round(float(np.mean([own[name].high - own[name].low for own in drawn])), 4),
        }
    return found


def measure_false_alarms(
    spread: Spread, n_sets: int, n_documents: int, n_draws: int, seed: int
) -> dict[str, Any]:
    """The share of pairs of equal systems that each test, at 0.05, calls different, by seeds."""
    rng = np.random.default_rng(seed)
    alarms: Alarms = {name: defaultdict(lambda: defaultdict(list)) for name in METRICS}
    for i in range(n_sets):
        first, second = simulate(rng, n_documents, SEEDS[-1], 2, spread)
        for n_seeds in SEEDS:
            for name, test, is_alarm in alarms_of(first[:, :n_seeds], second[:, :n_seeds], n_draws, i):
                alarms[name][test][n_seeds].append(is_alarm)
    return {
        name: {
            test: {n_seeds: round(float(np.mean(own)), 4) for n_seeds, own in by_seeds.items()}
            for test, by_seeds in tests.items()
        }
        for name, tests in alarms.items()
    }


def alarms_of(
    first: np.ndarray, second: np.ndarray, n_draws: int, seed: int
) -> Iterator[tuple[str, str, bool]]:
    """Score, test, and whether it calls the two systems different."""
    verdicts = judge(first, second, METRICS, "document", n_draws=n_draws, seed=seed)
    for name, metric in METRICS.items():
        verdict = verdicts[name]
        yield name, "bootstrap", verdict.p <= 0.05
        yield name, "verdict", verdict.outcome != "no difference shown"
        if first.shape[1] == SEEDS[-1]:
            scores = [metric(own.sum(axis=0)) for own in (first, second)]
            t = paired_t(*scores)
            yield name, "permutation", paired_permutation(*scores) <= 0.05
            yield name, "t", t is not None and t.p <= 0.05


def main(
    n_sets: Annotated[int, typer.Option(help="Simulated test sets.")] = 1000,
    n_documents: Annotated[int, typer.Option(help="Documents of each.")] = 200,
    n_draws: Annotated[int, typer.Option(help="Bootstrap draws of each.")] = 1000,
    seed: Annotated[int, typer.Option(help="Fixes every draw.")] = 0,
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = ROOT
    / "benchmarks/results/coverage.jsonl",
) -> None:
    """Measure coverage and false alarms, and append a record of each."""
    settings = {"n_sets": n_sets, "n_documents": n_documents, "n_draws": n_draws, "seed": seed}
    measured = {
        "coverage": lambda: measure_coverage(**settings),
        "false_alarms": lambda: {
            cause: {"spread": spread._asdict(), **measure_false_alarms(spread, **settings)}
            for cause, spread in CAUSES.items()
        },
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    for name, measure in measured.items():
        start = time.perf_counter()
        record = {
            "name": name,
            **settings,
            "found": measure(),
            # of a share of 0.05, from one set of simulations to another
            "standard_error": round((0.05 * 0.95 / n_sets) ** 0.5, 4),
            "seconds": round(time.perf_counter() - start),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "spacy_longtail": __version__,
        }
        with results.open("a", encoding="utf8") as file:
            file.write(json.dumps(record) + "\n")
        typer.echo(json.dumps(record, indent=2))


if __name__ == "__main__":
    typer.run(main)
