"""Simulate comparisons of two systems, and count false alarms, power and coverage of the decisions.

A test set has documents of different length and difficulty. Three types occur throughout, three
are rare and occur in 20, 5 and 3 documents (in all documents of a smaller test set). Each document
suits one of the two systems better than the other, and each training seed shifts the skill of its
system, for all types together and for each type. The effects of seeds are those of our records
(`measure`); those of documents are larger than on Field Notes (0.1 on the logit scale for both),
whose documents are unusually alike. Differences are set in points of macro F1; "mixed" is a system
that is better in every second type, worse in the others, and equal in macro F1.

    python benchmarks/decisions.py measure BASELINE.json METHOD.json
    python benchmarks/decisions.py simulate

`simulate` appends to benchmarks/results/decisions.jsonl one record for each rule, difference and
number of documents and seeds. Rules: "decision" is the package's; "percentile" and "bayesian" are
two-level bootstraps (documents and seeds drawn, or given Dirichlet weights); "studentised" is a t
interval with the jackknife's standard error over documents and the one over seeds.
"""

import itertools
import json
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from scipy import optimize, special, stats

from spacy_longtail import __version__
from spacy_longtail.evaluation.records import read_evaluation
from spacy_longtail.evaluation.significance import (
    compare,
    intervals,
    named_metrics,
)
from spacy_longtail.evaluation.significance import decisions as rule

RESULTS = Path(__file__).parent / "results"
DOCUMENTS = (5, 10, 19, 50, 200)
SEEDS = (1, 3, 5, 6, 7, 10)
DIFFERENCES = (0.0, 2.0, 5.0, 10.0)  # points of macro F1
RARE = {"in 20": 20, "in 5": 5, "in 3": 3}  # documents that hold the type
LABELS = ("A", "B", "C", *RARE)
PER_DOCUMENT = np.array([3.0, 1.5, 0.8])  # mean mentions of A, B and C
MORE = 0.5  # mean number of further mentions of a rare type in its documents
RECALL = np.array([1.6, 1.2, 0.9, 0.4, 0.4, 0.4])  # logits, in a document of average difficulty
SPURIOUS = 0.25  # wrong predictions for each gold mention
# Standard deviations on the logit of recall.
DIFFICULTY = 0.5  # of a document, for both systems
DOCUMENT = 0.3  # of a document, for one system
SEED_SHARED, SEED_TYPE = 0.035, 0.075  # of a seed; 0.2 of it are 0.7 and 1.5 points of F1
REPEATED = ("crossner", "compare", "losses", "descriptions", "linear_field_notes", "subwords_pretrained")
METRICS = {
    name: metric
    for name, metric in named_metrics(LABELS, list(RARE)).items()
    if name in ("macro F1", "tail F1", "micro F1", "F1 of A", *(f"F1 of {label}" for label in RARE))
}

app = typer.Typer()


class Verdict(NamedTuple):
    low: float
    high: float
    is_significant: bool
    is_tested: bool = True


Rule = Callable[[np.ndarray, np.ndarray], dict[str, Verdict]]


def simulate_sets(
    rng: np.random.Generator,
    n_sets: int,
    n_documents: int,
    n_seeds: int,
    shift: np.ndarray,
    seed_scale: float = 1.0,
) -> np.ndarray:
    """Draw test sets of two systems.

    shift (np.ndarray): What the second system has more of each type, in logits.
    seed_scale (float): Factor of the spread over seeds.
    RETURNS (np.ndarray): Shape (n_sets, 2, n_documents, n_seeds, n_types + 1, 3).
    """
    n_rare, shape = len(RARE), (n_sets, 2, n_documents, n_seeds)
    length = rng.gamma(1.5, 1 / 1.5, (n_sets, n_documents, 1))
    common = rng.poisson(length * PER_DOCUMENT)
    places = rng.random((n_sets, n_documents, n_rare)).argsort(axis=1).argsort(axis=1)
    holds = places < np.array(list(RARE.values()))
    gold = np.concatenate([common, holds * (1 + rng.poisson(MORE, holds.shape))], axis=2)
    gold = gold[:, None, :, None, :]
    ease = rng.normal(0, DIFFICULTY, (n_sets, 1, n_documents, 1, 1))
    ease = ease + rng.normal(0, DOCUMENT, (n_sets, 2, n_documents, 1, 1))
    # The spread over seeds differs between corpora as in our records: 6 degrees of freedom.
    scale = seed_scale * np.sqrt(rule.SEED_SD_DF / rng.chisquare(rule.SEED_SD_DF, (n_sets, 1, 1, 1, 1)))
    ease = ease + scale * rng.normal(0, SEED_SHARED, (n_sets, 2, 1, n_seeds, 1))
    ease = ease + scale * rng.normal(0, SEED_TYPE, (n_sets, 2, 1, n_seeds, len(LABELS)))
    ease = ease + np.stack([np.zeros_like(shift), shift])[:, None, None, :]
    correct = rng.binomial(
        np.broadcast_to(gold, (*shape, len(LABELS))), 1 / (1 + np.exp(-RECALL - ease))
    )
    # Wrong predictions of a rare type are in its documents as well as in others.
    rate = np.concatenate([length * PER_DOCUMENT, _spread(holds)], axis=2)[:, None, :, None, :]
    wrong = rng.poisson(SPURIOUS * rate * np.exp(-ease / 2))
    counts = np.zeros((*shape, len(LABELS) + 1, 3))
    counts[..., :-1, 0] = correct
    counts[..., :-1, 1] = correct + wrong
    counts[..., :-1, 2] = gold
    return counts


def _spread(holds: np.ndarray) -> np.ndarray:
    """Return a rate of wrong predictions: half where a rare type is, half in all documents."""
    return (1 + MORE) * (holds + holds.mean(axis=1, keepdims=True)) / 2


def true_scores(n_documents: int, shift: np.ndarray) -> dict[str, float]:
    """Return the scores of a system on infinitely many such test sets, by metric."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = (DIFFICULTY**2 + DOCUMENT**2 + SEED_SHARED**2 + SEED_TYPE**2) ** 0.5
    ease = spread * points[:, None] + shift
    weights = weights / weights.sum()
    rare = [min(n, n_documents) / n_documents * (1 + MORE) for n in RARE.values()]
    gold = np.concatenate([PER_DOCUMENT, rare])
    sums = np.zeros((len(LABELS) + 1, 3))
    sums[:-1, 0] = gold * (weights @ (1 / (1 + np.exp(-RECALL - ease))))
    sums[:-1, 1] = sums[:-1, 0] + gold * SPURIOUS * (weights @ np.exp(-ease / 2))
    sums[:-1, 2] = gold
    return {name: float(metric(sums)) for name, metric in METRICS.items()}


def find_shift(n_documents: int, difference: float | str) -> np.ndarray:
    """Return the shift of each type that makes a difference in macro F1 of so many points."""
    ones = np.ones(len(LABELS))

    def shift(x: float) -> np.ndarray:
        return np.where(np.arange(len(LABELS)) % 2, 0.6, x) if difference == "mixed" else x * ones

    def gain(x: float) -> float:
        scores = (true_scores(n_documents, own)["macro F1"] for own in (0 * ones, shift(x)))
        return 100 * (-next(scores) + next(scores))

    goal = 0.0 if isinstance(difference, str) else difference
    return shift(optimize.brentq(lambda x: gain(x) - goal, -2.0, 3.0))


def decide(first: np.ndarray, second: np.ndarray) -> dict[str, Verdict]:
    """Apply the package's rule, without a correction for the number of scores."""
    found = {}
    for name, own in compare(first, second, METRICS, n_draws=999).items():
        is_tested = own.outcome != "too few documents to tell"
        found[name] = Verdict(own.low, own.high, is_tested and own.p <= rule.ALPHA, is_tested)
    return found


def bootstrap(first: np.ndarray, second: np.ndarray, *, bayesian: bool) -> dict[str, Verdict]:
    """Two-level bootstrap: documents, and within each system seeds."""
    rng, n_draws = np.random.default_rng(0), 999

    def weights(n: int) -> np.ndarray:
        if bayesian:
            return rng.dirichlet(np.ones(n), n_draws) * n
        return rng.multinomial(n, np.full(n, 1 / n), n_draws).astype(float)

    by_unit = weights(len(first))
    scores = []
    for side in (first, second):
        sums = np.tensordot(by_unit, side, axes=1)  # (n_draws, n_seeds, n_types + 1, 3)
        of_seeds = weights(side.shape[1])
        of_seeds /= of_seeds.sum(axis=1, keepdims=True)
        scores.append({name: (metric(sums) * of_seeds).sum(axis=1) for name, metric in METRICS.items()})
    found = {}
    for name in METRICS:
        low, high = np.quantile(scores[1][name] - scores[0][name], (0.025, 0.975))
        found[name] = Verdict(low, high, bool(low > 0 or high < 0))
    return found


def studentised(first: np.ndarray, second: np.ndarray) -> dict[str, Verdict]:
    """Use a t interval with the jackknife over documents and the spread over the seeds at hand."""
    n, found = len(first), {}
    totals = [side.sum(axis=0) for side in (first, second)]
    for name, metric in METRICS.items():
        by_seed = [metric(total) for total in totals]
        value = float(by_seed[1].mean() - by_seed[0].mean())
        without = metric(totals[1] - second).mean(axis=1) - metric(totals[0] - first).mean(axis=1)
        variance = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
        variance += sum(own.var(ddof=1) / len(own) for own in by_seed if len(own) > 1)
        half = float(stats.t.ppf(0.975, n - 1)) * variance**0.5
        found[name] = Verdict(value - half, value + half, abs(value) > half > 0)
    return found


RULES: dict[str, Rule] = {
    "decision": decide,
    "percentile": lambda first, second: bootstrap(first, second, bayesian=False),
    "bayesian": lambda first, second: bootstrap(first, second, bayesian=True),
    "studentised": studentised,
}


def measure_cells(
    name: str, n_documents: int, difference: float | str, seeds: tuple[int, ...], n_sets: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Apply a rule to simulated test sets, and count. One record for each number of seeds."""
    shift = find_shift(n_documents, difference)
    before, after = (true_scores(n_documents, own) for own in (0 * shift, shift))
    truth = {key: after[key] - before[key] for key in METRICS}
    rng = np.random.default_rng(seed)
    verdicts: dict[int, list[dict[str, Verdict]]] = {n: [] for n in seeds}
    done = 0
    while done < n_sets:
        batch = min(max(4000 // n_documents, 20), n_sets - done)
        for first, second in simulate_sets(rng, batch, n_documents, max(seeds), shift):
            for n in seeds:
                verdicts[n].append(RULES[name](first[:, :n], second[:, :n]))
        done += batch
    for n, found in verdicts.items():
        yield {
            "rule": name,
            "documents": n_documents,
            "seeds": n,
            "difference": difference,
            "scores": {key: _counted([own[key] for own in found], truth[key]) for key in METRICS},
        }


def _counted(found: list[Verdict], truth: float) -> dict[str, float]:
    return {
        "true": round(100 * float(truth), 2),
        "tested": round(float(np.mean([own.is_tested for own in found])), 4),
        "shown": round(float(np.mean([own.is_significant for own in found])), 4),
        "covered": round(float(np.mean([own.low <= truth <= own.high for own in found])), 4),
        "width": round(100 * float(np.mean([own.high - own.low for own in found])), 2),
    }


def measure_intervals(n_documents: int, n_sets: int, seed: int) -> dict[str, Any]:
    """Return how often the intervals of single scores hold the true score."""
    no_shift = np.zeros(len(LABELS))
    truth = true_scores(n_documents, no_shift)
    found: dict[str, list[bool]] = {name: [] for name in METRICS}
    rng = np.random.default_rng(seed)
    # of one model: how seeds differ is no part of its interval
    for sets in simulate_sets(rng, n_sets, n_documents, 1, no_shift, seed_scale=0.0):
        for name, own in intervals(sets[0], METRICS).items():
            if own is not None:
                found[name].append(bool(own.low <= truth[name] <= own.high))
    covered = {name: round(float(np.mean(own)), 4) for name, own in found.items()}
    return {"rule": "interval of a score", "documents": n_documents, "seeds": 1, "covered": covered}


def _stamp() -> dict[str, Any]:
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    return {**versions, "spacy_longtail": __version__}


@app.command()
def simulate(
    n_sets: Annotated[int, typer.Option(help="Number of simulated test sets in each cell.")] = 1000,
    rules: Annotated[str, typer.Option(help="Names of rules, separated by commas.")] = ",".join(RULES),
    documents: Annotated[str, typer.Option(help="Numbers of documents.")] = "5,10,19,50,200",
    differences: Annotated[str, typer.Option(help="Points of macro F1, or mixed.")] = "0,2,5,10,mixed",
    seeds: Annotated[str, typer.Option(help="Numbers of seeds.")] = "1,3,5,6,7,10",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = RESULTS / "decisions.jsonl",
) -> None:
    """Simulate all cells, and append a record of each."""
    each_n = [int(n) for n in documents.split(",")]
    each_difference = [d if d == "mixed" else float(d) for d in differences.split(",")]
    n_seeds = tuple(int(n) for n in seeds.split(","))
    with results.open("a", encoding="utf8") as file:
        for n in each_n:
            record = {**measure_intervals(n, n_sets, seed), "n_sets": n_sets, **_stamp()}
            file.write(json.dumps(record) + "\n")
            typer.echo(record)
        for name, n, difference in itertools.product(rules.split(","), each_n, each_difference):
            start = time.perf_counter()
            for record in measure_cells(name, n, difference, n_seeds, n_sets, seed):
                file.write(json.dumps({**record, "n_sets": n_sets, **_stamp()}) + "\n")
                file.flush()
            typer.echo(
                f"{name}, {n} documents, difference {difference}: {time.perf_counter() - start:.0f} s"
            )


@app.command()
def measure(
    baseline: Path,
    method: Path,
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = RESULTS / "decisions.jsonl",
) -> None:
    """Measure the effects of documents on two evaluations, and those of seeds on our records."""
    record = {"rule": "none", **_document_effects(baseline, method), **_seed_effects(), **_stamp()}
    with results.open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")
    typer.echo(json.dumps(record, indent=2))


def _document_effects(*paths: Path) -> dict[str, Any]:
    """Estimate standard deviations between documents, beyond chance in single mentions."""
    runs = [read_evaluation(path) for path in paths]
    correct_by_run = [
        [
            set(doc.gold) & {(start, end, label) for start, end, label, _ in doc.predicted}
            for doc in run.documents
        ]
        for run in runs
    ]
    gold = np.array([len(doc.gold) for doc in runs[0].documents])
    gains = np.array([len(b - a) for a, b in zip(*correct_by_run, strict=True)])
    losses = np.array([len(a - b) for a, b in zip(*correct_by_run, strict=True)])
    correct = np.array([len(a) for a in correct_by_run[0]])
    recall = correct.sum() / gold.sum()

    def logit_sd(squares: np.ndarray, by_chance: np.ndarray) -> float:
        variance = (squares - by_chance).sum() / (gold**2).sum()
        return float(np.sqrt(max(variance, 0.0)) / (recall * (1 - recall)))

    net = gains - losses - (gains - losses).sum() / gold.sum() * gold
    difficulty = logit_sd((correct - recall * gold) ** 2, gold * recall * (1 - recall))
    return {
        "effects of documents": [run.name for run in runs],
        "documents": len(gold),
        "difficulty": round(difficulty, 3),
        "for one system": round(logit_sd(net**2, gains + losses) / 2**0.5, 3),
    }


def _seed_effects() -> dict[str, Any]:
    """Estimate the standard deviation of macro F1 over seeds, and how much it differs."""
    by_method: dict[tuple[str, ...], dict[int, float]] = {}
    about = ("corpus", "method", "config", "choices", "overrides", "steps", "encoder")
    paths = [*RESULTS.glob("knowledge*.jsonl"), *(RESULTS / f"{name}.jsonl" for name in REPEATED)]
    for path in sorted(paths):
        for line in path.read_text(encoding="utf8").splitlines():
            row = json.loads(line)
            test = row.get("test") or {}
            if {"seed", "corpus"} <= row.keys() and not row.get("draw") and "ents_macro_f" in test:
                key = (path.name, *(json.dumps(row.get(name), sort_keys=True) for name in about))
                by_method.setdefault(key, {})[row["seed"]] = 100 * test["ents_macro_f"]
    spreads = np.array([np.std(list(s.values()), ddof=1) for s in by_method.values() if len(s) == 3])
    spreads = spreads[spreads > 0.01]
    excess = float(np.log(spreads**2).var(ddof=1) - special.polygamma(1, 1.0))
    df = 2 * optimize.brentq(lambda half: special.polygamma(1, half) - excess, 0.01, 1e6)
    return {
        "methods with three seeds": len(spreads),
        "pooled standard deviation over seeds": round(float(np.sqrt((spreads**2).mean())), 2),
        "degrees of freedom": round(float(df), 1),
    }


if __name__ == "__main__":
    app()
