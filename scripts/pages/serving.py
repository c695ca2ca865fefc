"""docs/serving.md: what pipelines cost in production, from the records of benchmarks/serving.py."""

from pathlib import Path

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
    return TEXT.read_text(encoding="utf8").format(
        systems=_rows(systems), limits=_rows(limits), words=first["words"], cores=first["cores"], f1=""
    )


def _rows(rows: list[tuple[str, ...]]) -> str:
    return table((), rows).split("\n", 2)[2]
