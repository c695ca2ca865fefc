"""docs/results.md: what was measured, every table from the records in benchmarks/results."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from . import budgets
from .figures import fill, tests
from .records import points, read, rows_of, table

TEXT = Path(__file__).with_name("results.md")
SCORES = ("ents_macro_f", "ents_tail_f", "ents_f")
CROSSNER = {name: f"crossner_{name}" for name in ("AI", "literature", "music", "politics", "science")}
LARGER = {
    "Field Notes": "field_notes",
    "GMB subset": "gmb",
    "BioNLP 2013 CG": "bionlp13cg",
    "WNUT-17": "wnut17",
}
METHODS = {  # of `figures.SYSTEMS`
    "stock": "stock",
    "CRF": "crf",
    "plain transformer": "plain",
    "our CNN": "cnn",
    "our CNN, not mixed": "not mixed",
    "ours, three layers": "three",
    "ours, six layers": "ours",
}
GATED = "configs/gated_token.cfg"  # of a strategy that is not in the table


def knowledge(corpora: dict[str, str]) -> str:
    rows = []
    for name, corpus in corpora.items():
        for label, system in METHODS.items():
            if not (scores := tests(system, corpus)):
                continue
            values = [[test[score] for test in scores if test[score] is not None] for score in SCORES]
            cells = [points(own) if own else "-" for own in values]
            rows.append((name if system == "stock" else "", label, str(len(scores)), *cells))
    return table(("corpus", "method", "seeds", "macro", "tail", "micro"), rows)


def mining() -> str:
    rows = [r for r in read("mining_rounds") if r["corpus"] == "gmb_full" and r["config"] != GATED]
    last = max(r["round"] for r in rows)
    found = []
    for strategy in ("mine", "entropy", "least_confidence", "random"):
        own = [r for r in rows if (r["strategy"], r["round"]) == (strategy, last)]
        mentions = ", ".join(str(r["rare_mentions"]) for r in own)
        found.append((strategy, mentions, *_means(own)))
    before = [r for r in rows if (r["strategy"], r["round"]) == ("mine", 0)]
    return table(
        ("600 labels", "rare mentions found, by seed", "macro", "tail", "micro"),
        [("(before)", "", *_means(before)), *found],
    )


CLAIMS = {
    "plain": "the shipped recipe",
    "sCR": "with sCR",
    "MoM": "with MoM",
    "gate": "with the gate and its secondary",
    "config": "`configs/config.cfg`: all three",
    "descriptions": "the shipped recipe",
    "softmax": "linear output, cross-entropy",
    "CE-2T": "two tasks, cross-entropy",
    "AUC-2T": "AUC-2T",
    "COMAUC-2T": "COMAUC-2T",
}


def claims(plan: str, sizes: Sequence[int | None]) -> str:
    """The papers' methods over the shipped encoder, as cells of macro and tail F1 by size."""
    rows = [r for r in read("claims") if r["plan"] == plan and r["corpus"] == "crossner_politics"]
    lines = []
    for method, name in CLAIMS.items():
        runs = [[r for r in rows if (r["method"], r["sentences"]) == (method, n)] for n in sizes]
        if any(runs):
            cells = [
                points([r["test"][key] / 100 for r in same])
                for same in runs
                for key in ("macro", "tail")
            ]
            lines.append((name, *cells))
    return rows_of(lines)


def _means(rows: list[dict]) -> list[str]:
    """Macro, tail and micro F1 over seeds."""
    return [points([mean(r[name] for r in rows)]) for name in ("macro", "tail", "micro")]


def render() -> str:
    """The page: the text of results.md beside this module, with its tables."""
    tables = {
        "crossner": knowledge(CROSSNER),
        "larger": knowledge(LARGER),
        "budgets": budgets.rows(),
        "mining": mining(),
        "claims": claims("claims", (None,)),
        "claims on few": claims("claims_few", (20, 50)),
    }
    text = TEXT.read_text(encoding="utf8")
    for name, found in tables.items():
        text = text.replace(f"{{{name}}}", found)
    return fill(text)
