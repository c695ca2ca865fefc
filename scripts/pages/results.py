"""docs/results.md: what was measured, every table from the records in benchmarks/results."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from . import advice, budgets
from .figures import fill
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
METHODS = {
    "stock": "ner",
    "CRF": "crf",
    "clusters": "crf-clusters",
    "pretrained": "pretrained",
    "pretrained, not mixed": "pretrained, not mixed",
    "three layers": "pretrained, three layers",
}
ON_TRANSFORMER = {
    "softmax": "softmax",
    "label descriptions": "described",
    "pretrained, label descriptions": "pretrained-described",
}
ENSEMBLES = {
    "one training": "single",
    "ensemble of 5": "5 behind one pipe",
    "one student of the five": "distilled",
}
GATED = "configs/gated_token.cfg"  # of a strategy that is not in the table
COPIES = 20  # of gold, of the student that the table has
MAIN_JOB = {
    "stock": "ner",
    "clusters and senses": "crf-senses",
    "pretrained before": "pretrained",
    "ensemble of both": "crf-senses + pretrained",
}
TODAY = "net of pieces, shipped"  # of subwords_pretrained.jsonl


def trials(rows: Sequence[dict], corpus: str, method: str) -> list[dict]:
    return [r["test"] for r in rows if (r["corpus"].lower(), r["method"]) == (corpus.lower(), method)]


def knowledge(corpora: dict[str, str]) -> str:
    rows = read("knowledge")
    found = []
    for name, corpus in corpora.items():
        for label, method in METHODS.items():
            if not (tests := trials(rows, corpus, method)):
                continue
            cells = [points([t[score] for t in tests]) for score in SCORES]
            found.append((name if method == "ner" else "", label, str(len(tests)), *cells))
    return table(("corpus", "method", "seeds", "macro", "tail", "micro"), found)


def transformer() -> str:
    """At 150 steps, the seeds that all methods have."""
    rows = [r for r in read("knowledge_transformer") if r["steps"] == 150]
    found = []
    for name, corpus in CROSSNER.items():
        seeds = [
            {r["seed"] for r in rows if (r["corpus"].lower(), r["method"]) == (corpus.lower(), method)}
            for method in ON_TRANSFORMER.values()
        ]
        shared = set.intersection(*seeds)
        own = [r for r in rows if r["seed"] in shared]
        cells = []
        for method in ON_TRANSFORMER.values():
            tests = trials(own, corpus, method)
            cells.append(" / ".join(points([t[score] for t in tests]) for score in SCORES[:2]))
        found.append((name, str(len(shared)), *cells))
    return table(("corpus", "seeds", *ON_TRANSFORMER), found)


def averaging() -> str:
    """One training, several behind one pipe, and the student of the largest; tests by sentences."""
    own = {r["corpus"]: r for r in read("ensembles") if r["gold_copies"] == COPIES}
    found = []
    for label, system in ENSEMBLES.items():
        cells, every = [], []
        for corpus in CROSSNER.values():
            r = own[corpus.lower()]
            every.append(mean(r["scores"][system]["macro"]))
            p = r["tests"].get(system, {"macro": {"p": 1.0}})["macro"]["p"]
            cells.append(points(every[-1:]) + ("\\*" if p < 0.05 else ""))
        found.append((label, *cells, points([mean(every)])))
    return table(("macro F1 on test", *CROSSNER, "mean"), found)


def main_job() -> str:
    """Light recipes on Field Notes over seeds."""
    short = ("macro_f", "tail_f", "f")  # as these records name the scores
    rows = [(label, _of_main_job(method), short) for label, method in MAIN_JOB.items()]
    today = [r for r in read("subwords_pretrained") if r["method"] == TODAY]
    found = []
    for label, records, names in (*rows, ("pretrained today", today, SCORES)):
        tests = [r["test"] for r in records if "test" in r]
        found.append((label, str(len(tests)), *(points([t[name] for t in tests]) for name in names)))
    return table(("", "seeds", "macro", "tail", "micro"), found)


def _of_main_job(method: str) -> list[dict]:
    return [r for r in read("pairs") if (r["corpus"], r["method"]) == ("field_notes", method)]


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


def distilled() -> str:
    (systems,) = (r["systems"] for r in read("distil") if r["corpus"] == "gmb")
    rows = [
        (
            s["name"].replace("silver", "pseudo-labels"),
            *(points([s[name]]) for name in ("macro", "tail", "micro")),
        )
        for s in systems
    ]
    return table(("", "macro", "tail", "micro"), rows)


def render() -> str:
    """The page: the text of results.md beside this module, with its tables."""
    tables = {
        "crossner": knowledge(CROSSNER),
        "larger": knowledge(LARGER),
        "transformer": transformer(),
        "averaging": averaging(),
        "advice": advice.rows(),
        "budgets": budgets.rows(),
        "main job": main_job(),
        "mining": mining(),
        "distil": distilled(),
    }
    text = TEXT.read_text(encoding="utf8")
    for name, found in tables.items():
        text = text.replace(f"{{{name}}}", found)
    return fill(text)
