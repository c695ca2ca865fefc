"""Records of benchmarks/results, and tables of them."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import srsly

RECORDS = Path(__file__).parents[2] / "benchmarks" / "results"


def read(name: str) -> list[dict]:
    return list(srsly.read_jsonl(RECORDS / f"{name}.jsonl"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return rows_of([head, ["---", *["--:"] * (len(head) - 1)], *rows])


def rows_of(rows: Iterable[Sequence[str]]) -> str:
    """The rows of a table whose head stands on the page."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def points(values: Sequence[float]) -> str:
    """A mean in points of 100, and its standard deviation over seeds."""
    mean = f"{100 * statistics.mean(values):.1f}"
    return mean if len(values) < 2 else f"{mean} ± {100 * statistics.stdev(values):.1f}"
