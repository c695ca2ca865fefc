"""docs/serving.md: what pipelines cost in production, from the records of benchmarks/serving.py."""

from pathlib import Path
from statistics import mean

from .records import read, table

TEXT = Path(__file__).with_name("serving.md")
PLAIN, LIMIT = "plain transformers", "limit"


def render() -> str:
    rows = read("serving")
    speeds = {(r["name"], r["threads"]): r for r in rows if "threads" in r}
    serving = [r for r in rows if r.get("part") == "serving"]
    systems = [
        (
            r["name"],
            *(f"{speeds[r['name'], n]['words_per_second']:,}" for n in (1, 2)),
            f"{speeds[r['name'], 2]['times_stock']:.2f}",
            f"{r['p50_ms']} / {r['p95_ms']}",
            f"{r['peak_mib']:,}",
            str(r["load_s"]),
        )
        for r in serving
    ]
    limits = [
        (name, f"{r['words_per_second']:,}")
        for (name, n), r in speeds.items()
        if n == 1 and name.startswith((PLAIN, LIMIT))
    ]
    first = next(iter(speeds.values()))
    moved = {part: _differences(part) for part in ("dev", "test")}
    return TEXT.read_text(encoding="utf8").format(
        systems=_rows(systems),
        limits=_rows(limits),
        words=first["words"],
        cores=first["cores"],
        n=len(moved["dev"]),
        most=max(abs(d) for own in moved.values() for d in own),
        **{part: mean(own) for part, own in moved.items()},
    )


def _differences(part: str) -> list[float]:
    """Macro F1 in int8 less that in full precision, of each pipeline."""
    scores: dict[tuple[str, str], dict[bool, float]] = {}
    for r in read("int8"):
        if r["part"] == part:
            scores.setdefault((r["corpus"], r["seed"]), {})[r["int8"]] = r["ents_macro_f"]
    return [own[True] - own[False] for own in scores.values()]


def _rows(rows: list[tuple[str, ...]]) -> str:
    return table((), rows).split("\n", 2)[2]
