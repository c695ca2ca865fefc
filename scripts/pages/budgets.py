"""A transformer on some of the sentences: a table and a picture of the records."""

from curves import Panel, Point, draw

from .records import read, table

CORPORA = {"GMB": "gmb", "Field Notes": "field_notes", "BioNLP": "bionlp13cg"}
SYSTEMS = ("primary", "secondary", "replace 0.01", "replace 0.03", "replace 0.1", "fill 0.1")
SHARES = {"0.01": "1 %", "0.03": "3 %", "0.1": "10 %", "1": "all"}


def rows() -> str:
    """The table: one corpus a row."""
    systems = _systems()
    found = []
    for name, corpus in CORPORA.items():
        tests = [systems[corpus, system]["test"] for system in SYSTEMS]
        found.append((name, *(f"{100 * t['macro_f']:.1f} / {100 * t['tail_f']:.1f}" for t in tests)))
    head = ("macro / tail", "CNN", "transformer", "`replace` 1 %", "3 %", "10 %", "`fill` 10 %")
    return table(head, found)


def render() -> str:
    """The picture, as SVG: from the CNN alone, the fastest, to the transformer on all sentences."""
    systems = _systems()
    panels = []
    for name, corpus in CORPORA.items():
        slowest = systems[corpus, "secondary"]["words_per_second"]
        cnn = _point(systems[corpus, "primary"], slowest, "CNN")
        curves = [
            [cnn, *(_point(systems[corpus, f"{rule} {n}"], slowest, _said(rule, n)) for n in SHARES)]
            for rule in ("replace", "fill")
        ]
        panels.append(Panel(name, curves))
    best = systems["gmb", "replace 0.1"]
    times = best["words_per_second"] / systems["gmb", "secondary"]["words_per_second"]
    said = (
        "Macro F1 against speed. On GMB a tenth of the sentences, replaced, reaches "
        f"{100 * best['test']['macro_f']:.1f} at {times:.1f} times the speed of the transformer; on "
        "Field Notes and BioNLP replacing gains nothing before the transformer reads everything."
    )
    axes = ("speed, times the transformer's (logarithmic)", "macro F1 on test")
    title = "A transformer on 1 %, 3 %, 10 % and all of the sentences"
    return draw(panels, ["replace", "fill"], title, said, axes, log=True)


def _systems() -> dict[tuple[str, str], dict]:
    return {(r["corpus"], r["system"]): r for r in read("budgets")}


def _point(system: dict, slowest: float, said: str) -> Point:
    return Point(system["words_per_second"] / slowest, 100 * system["test"]["macro_f"], said)


def _said(rule: str, share: str) -> str:
    return SHARES[share] if rule == "replace" and share != "0.01" else ""  # 1 % is next to the CNN
