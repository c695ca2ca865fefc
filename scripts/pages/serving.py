"""What pipelines cost in production, from the records of benchmarks/serving.py."""

from collections.abc import Iterator
from statistics import mean
from typing import Any

from .records import read, rows_of

PLAIN, LIMIT = "plain transformers", "limit"


def parts() -> Iterator[tuple[str, str]]:
    """The tables and figures, by name."""
    rows = read("serving")
    speeds = {(r["name"], r["threads"]): r for r in rows if "threads" in r}
    systems = [
        (
            r["name"],
            *(f"{speeds[r['name'], n]['words_per_second']:,}" for n in (1, 2)),
            f"{speeds[r['name'], 2]['times_stock']:.2f}",
            f"{r['p50_ms']} / {r['p95_ms']}",
            f"{r['peak_mib']:,}",
            f"{r['load_s']:.2f}",
        )
        for r in rows
        if r.get("part") == "serving"
    ]
    limits = [
        (name, f"{r['words_per_second']:,}")
        for (name, n), r in speeds.items()
        if n == 1 and name.startswith((PLAIN, LIMIT))
    ]
    yield "serving systems", rows_of(systems)
    user = {(r["way"], r["name"]): r["times_stock"] for r in rows if r.get("part") == "user"}
    names = ("our CNN", "stock CNN ner, NumPy's BLAS", "our CNN, NumPy's BLAS")
    ways = list(dict.fromkeys(way for way, _ in user))
    yield "user.rows", rows_of((way, *(f"{user[way, name]:.2f}" for name in names)) for way in ways)
    for way in ways:
        yield f"user.{way}", f"{user[way, 'our CNN']:.2f}"
    yield "serving limits", rows_of(limits)
    yield "serving.words", f"{next(iter(speeds.values()))['words']:,}"
    moved = {part: _differences(part) for part in ("dev", "test")}
    for part, values in moved.items():
        yield f"int8.{part}", f"{mean(values):+.1f}"
        yield f"int8.seven.{part}", f"{mean(_differences(part, 7)):+.1f}"
    yield "int8.n", str(len(moved["dev"]))
    yield "large data", rows_of(_large_data())
    mutants = read("mutation")
    yield "mutants", f"{sum(r['status'] != 'survived' for r in mutants)} of {len(mutants)}"
    yield "int8.most", f"{max(abs(d) for values in moved.values() for d in values):.1f}"


def _large_data() -> Iterator[tuple[str, ...]]:
    """Each pipeline with each engine: a million documents with one worker and with two."""
    names = {"cnn": "our CNN", "three_int8": "three layers int8", "six_int8": "six layers int8"}
    runs: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for r in read("large_data"):
        runs.setdefault((r["pipeline"], r["engine"]), {})[r["workers"]] = r
    for (pipeline, engine), by in runs.items():
        cells = (f"{by[n]['minutes_a_million']:.0f}" for n in (1, 2))
        yield names[pipeline], engine, *cells, f"{by[2]['peak_mib']:,}"


def _differences(part: str, bits: int = 8) -> list[float]:
    """Macro F1 in int8 less that in full precision, of each pipeline. bits (int): Of words."""
    scores: dict[tuple[str, str, str], dict[bool, float]] = {}
    for r in read("int8"):
        if r["part"] == part and (not r["int8"] or r.get("bits", 8) == bits):
            scores.setdefault((r["name"], r["corpus"], r["seed"]), {})[r["int8"]] = r["ents_macro_f"]
    return [own[True] - own[False] for own in scores.values()]
