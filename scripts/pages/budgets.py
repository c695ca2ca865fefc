"""A transformer on some of the sentences: a table and a picture of the records."""

from statistics import mean
from typing import NamedTuple

from curves import Panel, Point, draw

from .records import read, table

CORPORA = {"GMB": "gmb_subset", "Field Notes": "field_notes", "BioNLP": "bionlp13cg"}
SYSTEMS = ("primary", "secondary", "replace 0.01", "replace 0.03", "replace 0.1", "fill 0.1")
SHARES = {"0.01": "1 %", "0.03": "3 %", "0.1": "10 %", "1": "all"}


class System(NamedTuple):
    """Means over seeds, of test F1 and of speed as a multiple of the transformer's."""

    macro_f: float
    tail_f: float
    times: float


def rows() -> str:
    """The table: one corpus a row."""
    systems = _systems()
    found = []
    for name, corpus in CORPORA.items():
        own = [systems[corpus, system] for system in SYSTEMS]
        found.append((name, *(f"{100 * s.macro_f:.1f} / {100 * s.tail_f:.1f}" for s in own)))
    head = ("macro / tail", "CNN", "transformer", "`replace` 1 %", "3 %", "10 %", "`fill` 10 %")
    return table(head, found)


def render() -> str:
    """The picture, as SVG: from the CNN alone, the fastest, to the transformer on all sentences."""
    systems = _systems()
    panels = []
    for name, corpus in CORPORA.items():
        cnn = _point(systems[corpus, "primary"], "CNN")
        curves = [
            [cnn, *(_point(systems[corpus, f"{rule} {n}"], _said(rule, n)) for n in SHARES)]
            for rule in ("replace", "fill")
        ]
        panels.append(Panel(name, curves))
    best = systems["gmb_subset", "replace 0.1"]
    said = (
        "Macro F1 against speed. On GMB a tenth of the sentences, replaced, reaches "
        f"{100 * best.macro_f:.1f} at {best.times:.1f} times the speed of the transformer; on "
        "Field Notes and BioNLP replacing gains nothing before the transformer reads everything."
    )
    axes = ("speed, times the transformer's (logarithmic)", "macro F1 on test")
    title = "A transformer on 1 %, 3 %, 10 % and all of the sentences"
    return draw(panels, ["replace", "fill"], title, said, axes, log=True)


def _systems() -> dict[tuple[str, str], System]:
    records = read("budgets")
    slowest = {
        (r["corpus"], r["seed"]): r["words_per_second"] for r in records if r["system"] == "secondary"
    }
    own: dict[tuple[str, str], list[System]] = {}
    for r in records:
        times = r["words_per_second"] / slowest[r["corpus"], r["seed"]]
        system = System(r["test"]["macro_f"], r["test"]["tail_f"], times)
        own.setdefault((r["corpus"], r["system"]), []).append(system)
    return {key: System(*map(mean, zip(*seeds, strict=True))) for key, seeds in own.items()}


def _point(system: System, said: str) -> Point:
    return Point(system.times, 100 * system.macro_f, said)


def _said(rule: str, share: str) -> str:
    return SHARES[share] if rule == "replace" and share != "0.01" else ""  # 1 % is next to the CNN
