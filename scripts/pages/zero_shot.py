"""Tables of docs/zero_shot.md, from the records of the broad encoders."""

from collections.abc import Iterator
from statistics import mean

from .records import read, rows_of

WAYS = {
    "plain": "neither",
    "lld.8": "`layer_decay` 0.8 (default of the config)",
    "all.25": "all donors in a quarter of the loss",
}
DATA = {
    "8 donors with 36 types": "the 8 donors of the first encoder, 36 types",
    "71 donors, no open types": "71 donors",
    "71 donors, 3,000 open sentences": "71 donors and 3,000 sentences with free-text types",
    "71 donors, 11,523 open sentences": "71 donors and 11,523 sentences with free-text types",
    "71 donors, 11,523 open sentences and assets/open_types": "the last and `assets/open_types`",
    "assets/open_types alone": "`assets/open_types` alone",
}
CURVES = {
    "six layers, a second": "six layers, 63 million subwords",
    "three layers, a second": "three layers, with a teacher, 47 million",
    "CNN, width 96": "CNN, width 96, with a teacher, 53 million words",
    "CNN, width 128": "CNN, width 128 (not shipped)",
}


def parts() -> Iterator[tuple[str, str]]:
    """The rows of the tables, by name."""
    rows = read("broad_encoder")
    yield "zero.ways", rows_of([(name, *_of_way(rows, way)) for way, name in WAYS.items()])
    by_data = {r["data"]: r for r in rows if r["kind"].startswith("curve: ")}
    yield (
        "zero.donors",
        rows_of([(name, _scores(by_data[data])) for data, name in DATA.items()]),
    )
    curves = [r for r in rows if r["kind"].startswith("curve of steps") and r["steps"]]
    yield (
        "zero.curves",
        rows_of(
            [
                (name, ", ".join(f"{r['macro']}" for r in curves if r["what"].startswith(what)))
                for what, name in CURVES.items()
            ]
        ),
    )


def _of_way(rows: list[dict], way: str) -> list[str]:
    """Means over the five CrossNER corpora: dev, test, and both with mixed weights."""
    own = [
        r
        for r in rows
        if (r["kind"], r.get("way"), r.get("seed"), r.get("encoder")) == ("fine-tuning", way, 0, "six_b")
        and r["corpus"].startswith("crossner")
    ]
    mixed = [mean(r["mix"]["0.8"][i] for r in own) for i in range(4)]
    return [
        f"{mean(r['dev'] for r in own):.1f}",
        _scores({key: mean(r[key] for r in own) for key in ("macro", "tail", "micro")}),
        f"{mixed[0]:.1f}",
        " / ".join(f"{score:.1f}" for score in mixed[1:]),
    ]


def _scores(row: dict) -> str:
    return " / ".join(f"{row[key]:.1f}" for key in ("macro", "tail", "micro"))
