"""docs/results.md: what was measured, every table from the records in benchmarks/results."""

from pathlib import Path
from statistics import mean

from . import advice, budgets
from .figures import fill, tests
from .records import points, read, table

TEXT = Path(__file__).with_name("results.md")
SCORES = ("ents_macro_f", "ents_tail_f", "ents_f")
CROSSNER = {name: f"crossner_{name}" for name in ("AI", "literature", "music", "politics", "science")}
LARGER = {
    "Field Notes": "field_notes",
    "GMB subset": "gmb",
    "BioNLP 2013 CG": "bionlp13cg",
    "WNUT-17": "wnut17",
}
METHODS = {  # of `figures.SYSTEMS`, or of knowledge.jsonl
    "stock": "stock",
    "stock, en_core_web_sm": "ner, en_core_web_sm",
    "CRF": "crf",
    "plain transformer": "plain",
    "pretrained CNN": "cnn",
    "pretrained CNN, not mixed": "pretrained, not mixed",
    "three layers": "ours",
    "six layers": "pretrained, six layers",
}
GATED = "configs/gated_token.cfg"  # of a strategy that is not in the table


def knowledge(corpora: dict[str, str]) -> str:
    rows = []
    for name, corpus in corpora.items():
        for label, system in METHODS.items():
            if not (scores := tests(system, corpus)):
                continue
            cells = [points([test[score] for test in scores]) for score in SCORES]
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


def _means(rows: list[dict]) -> list[str]:
    """Macro, tail and micro F1 over seeds."""
    return [points([mean(r[name] for r in rows)]) for name in ("macro", "tail", "micro")]


def render() -> str:
    """The page: the text of results.md beside this module, with its tables."""
    tables = {
        "crossner": knowledge(CROSSNER),
        "larger": knowledge(LARGER),
        "advice": advice.rows(),
        "budgets": budgets.rows(),
        "mining": mining(),
    }
    text = TEXT.read_text(encoding="utf8")
    for name, found in tables.items():
        text = text.replace(f"{{{name}}}", found)
    return fill(text)
