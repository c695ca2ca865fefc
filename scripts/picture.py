"""Draw docs/rare_types.svg: F1 of every rare type of five corpora, stock spaCy against this package."""

from pathlib import Path
from statistics import mean
from typing import Any

import srsly

from dumbbells import Row, draw

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "rare_types.svg"
SCORES = ROOT / "benchmarks" / "results" / "knowledge.jsonl"
MENTIONS = ROOT / "benchmarks" / "results" / "training_mentions.jsonl"
STOCK, OURS = "ner", "pretrained"  # methods of the records

Trial = dict[str, Any]  # as `matrix` recorded it


def read_types() -> list[Row]:
    """The rare types of all corpora that `training_mentions.jsonl` names, rarest first."""
    trials = list(srsly.read_jsonl(SCORES))
    found = []
    for corpus in srsly.read_jsonl(MENTIONS):
        for label in corpus["tail"]:
            domain = corpus["corpus"].removeprefix("crossner_").replace("ai", "AI")
            name = f"{label}, {domain}"
            stock, ours = (_mean_f(trials, corpus["corpus"], m, label) for m in (STOCK, OURS))
            found.append(Row(name, corpus["mentions"][label], stock, ours))
    return sorted(found, key=lambda t: (t.number, t.name))


def _mean_f(trials: list[Trial], corpus: str, method: str, label: str) -> float:
    tests = [t["test"] for t in trials if (t["corpus"], t["method"]) == (corpus, method)]
    return 100 * mean(test["ents_per_type"][label]["f"] for test in tests)


def summary(types: list[Row]) -> str:
    """What the picture says, in words."""
    higher = sum(t.ours > t.stock for t in types)
    stock, ours = mean(t.stock for t in types), mean(t.ours for t in types)
    return (
        f"F1 of {len(types)} types with at most {max(t.number for t in types)} training mentions: "
        f"mean {stock:.1f} with stock spaCy, {ours:.1f} with spacy-longtail; higher for {higher}."
    )


def render() -> str:
    """The picture, as SVG."""
    types = read_types()
    ours = "spacy-longtail: pretrained CNN, label descriptions, CRF"
    return draw(types, "Rare types, and their mentions in training", ours, summary(types), "F1 on test")


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf8")
