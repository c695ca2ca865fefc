"""Draw docs/rare_types.svg: F1 of every rare type of five corpora, stock spaCy against this package."""

from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import srsly

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "rare_types.svg"
SCORES = ROOT / "benchmarks" / "results" / "knowledge.jsonl"
MENTIONS = ROOT / "benchmarks" / "results" / "training_mentions.jsonl"
STOCK, OURS = "ner", "crf-pretrained-described"  # methods of the records

Trial = dict[str, Any]  # as `matrix` recorded it

WIDTH, ROW, TOP, BOTTOM = 640, 21, 78, 44  # pixels
LEFT, RIGHT = 226, 606  # F1 of 0 and 80
MOST = 80
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
.page { fill: #ffffff; } .quiet { fill: #57606a; } .grid { stroke: #d8dee4; } .head { font-weight: 600; }
.stock { fill: #ffffff; stroke: #6e7781; stroke-width: 2; } .ours { fill: #0b6bcb; }
.change { stroke: #0b6bcb; stroke-width: 2; opacity: 0.45; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; } .quiet { fill: #9198a1; } .grid { stroke: #30363d; }
  .stock { fill: #0d1117; stroke: #9198a1; } .ours { fill: #58a6ff; } .change { stroke: #58a6ff; }
}
"""


class RareType(NamedTuple):
    name: str  # with its corpus
    mentions: int  # in the training part
    stock: float  # F1 on test in points of 100, mean over seeds
    ours: float


def read_types() -> list[RareType]:
    """The rare types of all corpora that `training_mentions.jsonl` names, rarest first."""
    trials = list(srsly.read_jsonl(SCORES))
    found = []
    for corpus in srsly.read_jsonl(MENTIONS):
        for label in corpus["tail"]:
            domain = corpus["corpus"].removeprefix("crossner_").replace("ai", "AI")
            name = f"{label}, {domain}"
            stock, ours = (_mean_f(trials, corpus["corpus"], m, label) for m in (STOCK, OURS))
            found.append(RareType(name, corpus["mentions"][label], stock, ours))
    return sorted(found, key=lambda t: (t.mentions, t.name))


def _mean_f(trials: list[Trial], corpus: str, method: str, label: str) -> float:
    tests = [t["test"] for t in trials if (t["corpus"], t["method"]) == (corpus, method)]
    return 100 * mean(test["ents_per_type"][label]["f"] for test in tests)


def summary(types: list[RareType]) -> str:
    """What the picture says, in words."""
    higher = sum(t.ours > t.stock for t in types)
    stock, ours = mean(t.stock for t in types), mean(t.ours for t in types)
    return (
        f"F1 of {len(types)} types with at most {max(t.mentions for t in types)} training mentions: "
        f"mean {stock:.1f} with stock spaCy, {ours:.1f} with spacy-longtail; higher for {higher}."
    )


def render() -> str:
    """The picture, as SVG. It follows the reader's light or dark scheme."""
    types = read_types()
    height = TOP + ROW * len(types) + BOTTOM
    said = escape(summary(types))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="said">',
        f'<title id="said">{said}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
        '<text class="head" x="16" y="28">Rare types, and their mentions in training</text>',
        *_key(),
    ]
    for points in range(0, MOST + 1, 20):
        x = _x(points)
        lines.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{height - BOTTOM + 4}"/>'
        )
        lines.append(
            f'<text class="quiet" x="{x}" y="{height - 22}" text-anchor="middle">{points}</text>'
        )
    middle = _x(MOST / 2)
    lines.append(
        f'<text class="quiet" x="{middle}" y="{height - 6}" text-anchor="middle">F1 on test</text>'
    )
    for i, rare in enumerate(types):
        lines += _row(rare, TOP + ROW * i)
    return "\n".join([*lines, "</svg>", ""])


def _x(points: float) -> str:
    return f"{LEFT + (RIGHT - LEFT) * points / MOST:.1f}"


def _label(x: str, y: int, text: str) -> str:
    return f'<text class="quiet" x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _key() -> list[str]:
    return [
        '<circle class="stock" cx="22" cy="47" r="5"/><text x="34" y="51">stock spaCy ner</text>',
        '<circle class="ours" cx="160" cy="47" r="5.5"/>'
        '<text x="172" y="51">spacy-longtail: pretrained CNN, types in words, CRF</text>',
    ]


def _row(rare: RareType, y: int) -> list[str]:
    stock, ours = _x(rare.stock), _x(rare.ours)
    return [
        f'<text x="{LEFT - 44}" y="{y + 4}" text-anchor="end">{escape(rare.name)}</text>',
        f'<text class="quiet" x="{LEFT - 16}" y="{y + 4}" text-anchor="end">{rare.mentions}</text>',
        f'<line class="change" x1="{stock}" x2="{ours}" y1="{y}" y2="{y}"/>',
        f'<circle class="stock" cx="{stock}" cy="{y}" r="5"/>',
        f'<circle class="ours" cx="{ours}" cy="{y}" r="5.5"/>',
    ]


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf8")
