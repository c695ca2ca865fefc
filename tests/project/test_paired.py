"""The paired bootstrap of scripts/paired.py."""

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
        documents.append({"text": str(spans), "gold": spans, "predicted": predicted})
    return {"labels": LABELS, "documents": documents}


def f1_by_hand(evaluations, draw):
    """Macro and micro F1 of drawn documents, mention by mention, a type without any counting 0."""
    macros, micros = [], []
    for found in evaluations:
        right, both = dict.fromkeys(LABELS, 0), dict.fromkeys(LABELS, 0)
        for i in draw:
            gold = [tuple(s) for s in found["documents"][i]["gold"]]
            predicted = [tuple(s[:3]) for s in found["documents"][i]["predicted"]]
            for *place, label in predicted:
                right[label] += (*place, label) in gold
            for *_, label in gold + predicted:
                both[label] += 1
        macros.append(np.mean([2 * right[t] / max(both[t], 1) for t in LABELS]))
        micros.append(2 * sum(right.values()) / max(sum(both.values()), 1))
    return np.mean(macros), np.mean(micros)


def test_scores_of_a_draw_are_those_of_its_documents(paired):
    found = [evaluation(seed, 0.7) for seed in (1, 2)]
    counts = paired.document_counts(found, LABELS)
    draw = np.random.default_rng(0).integers(0, 80, 80)
    weights = np.bincount(draw, minlength=80)
    own = paired.scores(np.tensordot(weights, counts, axes=1))
    assert np.allclose(own, f1_by_hand(found, draw))


def test_a_better_model_is_told_from_chance(paired):
    worse, better = ([evaluation(s, skill) for s in (1, 2)] for skill in (0.5, 0.8))
    counts = [paired.document_counts(e, LABELS) for e in (worse, better)]
    for name, found in paired.compare(*counts, 700, 0).items():
        index = ("macro", "micro").index(name)
        whole = range(80)
        expected = f1_by_hand(better, whole)[index] - f1_by_hand(worse, whole)[index]
        assert found.observed == pytest.approx(expected)
        assert 0 < found.low < found.observed < found.high
        assert found.p == pytest.approx(2 / 701)  # the least that 700 draws can show
    back = paired.compare(counts[1], counts[0], 700, 0)["micro"]
    assert back.observed < 0 and back.p == pytest.approx(2 / 701)


def test_two_models_alike_are_no_difference(paired):
    one, two = (paired.document_counts([evaluation(s, 0.7)], LABELS) for s in (1, 2))
    same = paired.compare(one, one, 300, 0)["macro"]
    assert (same.observed, same.low, same.high, same.p) == (0, 0, 0, 1)
    assert paired.compare(one, two, 300, 0)["micro"].p > 0.05


def test_draws_pair_the_models(paired):
    """Two models that differ in one document differ by chance no more than that document weighs."""
    first, second = evaluation(1, 0.7), evaluation(1, 0.7)
    second["documents"][0]["predicted"] = second["documents"][0]["gold"]
    counts = [paired.document_counts([e], LABELS) for e in (first, second)]
    found = paired.compare(*counts, 500, 0)["micro"]
    assert found.low >= 0 and found.high < 0.1


def test_the_table(paired, tmp_path, capsys):
    for name, skill in (("base", 0.4), ("ours", 0.9)):
        for seed in (0, 1):
            target = tmp_path / f"x-{name}-{seed}" / "test.json"
            target.parent.mkdir()
            target.write_text(json.dumps(evaluation(seed, skill)), encoding="utf8")
    paired.main(tmp_path, "x", "base", ["ours"], "0,1", 200)
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| ours | +") and row.count("0.0100") == 2
    other = evaluation(0, 0.9)
    other["documents"][3]["text"] = "another"
    (tmp_path / "x-other-0").mkdir()
    (tmp_path / "x-other-0" / "test.json").write_text(json.dumps(other), encoding="utf8")
    with pytest.raises(typer.BadParameter, match="other documents"):
        paired.main(tmp_path, "x", "base", ["other"], "0", 20)
    with pytest.raises(typer.BadParameter, match=r"compare\.py"):
        paired.main(tmp_path, "x", "base", ["none"], "0,1", 200)
