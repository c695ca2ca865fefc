"""Records of benchmarks/results, and tables of them."""

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import srsly

RECORDS = Path(__file__).parents[2] / "benchmarks" / "results"
NUMBERS = re.compile(r"[\d.,+±−%/*\\ -]*")  # what a cell of a column of numbers consists of


def read(name: str) -> list[dict]:
    return list(srsly.read_jsonl(RECORDS / f"{name}.jsonl"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, in which columns of numbers are aligned at the right."""
    columns = zip(*rows, strict=True)
    align = ["--:" if all(NUMBERS.fullmatch(cell) for cell in column) else "---" for column in columns]
    return rows_of([head, align, *rows])


def rows_of(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of a table whose head is in the template."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def points(values: Sequence[float]) -> str:
    """A mean in points of 100, and its standard deviation over seeds."""
    mean = f"{100 * statistics.mean(values):.1f}"
    return mean if len(values) < 2 else f"{mean} ± {100 * statistics.stdev(values):.1f}"
