"""A transformer on some of the sentences: a table of the records."""

from statistics import mean

from .records import read, table

CORPORA = {"GMB": "gmb_subset", "Field Notes": "field_notes", "BioNLP": "bionlp13cg"}
SYSTEMS = ("primary", "secondary", "replace 0.01", "replace 0.03", "replace 0.1", "fill 0.1")


def rows() -> str:
    """Means over seeds, one corpus a row."""
    records = read("budgets")
    found = []
    for name, corpus in CORPORA.items():
        cells = []
        for system in SYSTEMS:
            tests = [r["test"] for r in records if (r["corpus"], r["system"]) == (corpus, system)]
            scores = (mean(test[key] for test in tests) for key in ("macro_f", "tail_f"))
            cells.append(" / ".join(f"{100 * score:.1f}" for score in scores))
        found.append((name, *cells))
    head = ("macro / tail", "CNN", "transformer", "`replace` 1 %", "3 %", "10 %", "`fill` 10 %")
    return table(head, found)
