"""The table of scripts/paired.py."""

import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import pytest
import typer

SCRIPT = Path(__file__).parents[2] / "scripts" / "paired.py"
LABELS = ["A", "B", "C"]


@pytest.fixture(scope="module")
def paired():
    spec = importlib.util.spec_from_file_location("paired", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluation(seed, skill, n_documents=80):
    """Gold that is the same for every seed, and predictions that are right with probability `skill`."""
    gold, rng = random.Random(0), random.Random(seed)
    documents = []
    for _ in range(n_documents):
        spans = [[i, i + 1, gold.choice(LABELS[:2])] for i in range(gold.randint(0, 4))]
        predicted = [[*s, 0.9] if rng.random() < skill else [s[0], s[1], "C", 0.5] for s in spans]
        place = {"text": str(spans), "sentences": [[0, 5]]}
        documents.append({**place, "gold": spans, "predicted": predicted})
    return {"labels": LABELS, "documents": documents}


def f1_by_hand(evaluations):
    """Macro and micro F1, mention by mention, a type without any counting 0; means over seeds."""
    macros, micros = [], []
    for found in evaluations:
        right, both = dict.fromkeys(LABELS, 0), dict.fromkeys(LABELS, 0)
        for document in found["documents"]:
            gold = [tuple(s) for s in document["gold"]]
            predicted = [tuple(s[:3]) for s in document["predicted"]]
            for *place, label in predicted:
                right[label] += (*place, label) in gold
            for *_, label in gold + predicted:
                both[label] += 1
        macros.append(np.mean([2 * right[t] / max(both[t], 1) for t in LABELS]))
        micros.append(2 * sum(right.values()) / max(sum(both.values()), 1))
    return np.mean(macros), np.mean(micros)


@pytest.fixture
def folder(tmp_path):
    skills = {"base": 0.5, "ours": 0.9, "like": 0.5}
    for i, (name, skill) in enumerate(skills.items()):
        for seed in (0, 1):
            target = tmp_path / f"x-{name}-{seed}" / "test.json"
            target.parent.mkdir()
            target.write_text(json.dumps(evaluation(seed + 10 * i, skill)), encoding="utf8")
    return tmp_path


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table(paired, folder, capsys):
    paired.main(folder, "x", "base", ["ours", "like"], "0,1", 200)
    head, rule, ours, like = capsys.readouterr().out.splitlines()
    assert cells(head) == ["against base", "macro F1", "p", "Holm", "micro F1", "p", "Holm"]
    assert cells(rule) == ["---"] * 7
    own = {
        name: f1_by_hand(
            [json.loads((folder / f"x-{name}-{seed}" / "test.json").read_text()) for seed in (0, 1)]
        )
        for name in ("base", "ours", "like")
    }
    for name, row in (("ours", cells(ours)), ("like", cells(like))):
        assert row[0] == name
        for cell, first, second in zip((row[1], row[4]), own["base"], own[name], strict=True):
            assert cell.startswith(f"{100 * (second - first):+.1f} (")
    # 2 / 201 is the least that 200 draws can show; Holm doubles the lesser of two
    assert cells(ours)[2:4] == cells(ours)[5:7] == ["0.0100", "0.0199"]
    assert float(cells(like)[5]) > 0.05 and cells(like)[5] == cells(like)[6]


def test_what_cannot_be_compared_is_refused(paired, folder):
    other = evaluation(0, 0.9)
    other["documents"][3]["text"] = "another"
    (folder / "x-other-0").mkdir()
    (folder / "x-other-0" / "test.json").write_text(json.dumps(other), encoding="utf8")
    with pytest.raises(typer.BadParameter, match="other documents"):
        paired.main(folder, "x", "base", ["other"], "0", 20)
    with pytest.raises(typer.BadParameter, match=r"compare\.py"):
        paired.main(folder, "x", "base", ["none"], "0,1", 200)
