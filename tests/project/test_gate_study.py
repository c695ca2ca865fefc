"""scripts/gate_study.py: which of a matrix's models it reads out, and what it does not do twice."""

import importlib.util
import json
from pathlib import Path

import pytest
import typer

SCRIPT = Path(__file__).parents[2] / "scripts" / "gate_study.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("gate_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "x").mkdir()
    types = json.dumps({"labels": ["PER", "NAT"], "tail": ["NAT"]})
    (tmp_path / "x" / "types.json").write_text(types, encoding="utf8")
    return tmp_path / "x"


@pytest.fixture
def folder(tmp_path):
    """Trials of two methods and seeds, and some that are not asked for: failed, or on another corpus."""
    kept = [("softmax", 1), ("gated", 1), ("softmax", 0), ("gated", 0)]
    for method, seed in kept:
        add(tmp_path, method, seed)
    add(tmp_path, "gated", 2, status="failed", is_kept=False)
    add(tmp_path, "gated", 0, corpus="y", is_kept=False)
    return tmp_path


def add(folder, method, seed, corpus="x", status="done", is_kept=True, steps=9):
    key = f"{corpus}-{method}-{seed}-{steps}"
    trial = folder / "trials" / key
    (trial / "model" / "model-best" if is_kept else trial).mkdir(parents=True)
    record = {"key": key, "corpus": corpus, "method": method, "seed": seed, "status": status}
    (trial / "record.json").write_text(json.dumps(record), encoding="utf8")


def test_the_models_of_a_corpus(study, folder):
    found = study.read_trained(folder, "x", None)
    assert [(t.seed, t.method) for t in found] == [
        (0, "gated"),
        (0, "softmax"),
        (1, "gated"),
        (1, "softmax"),
    ]
    assert all(t.model == folder / "trials" / t.trial / "model" / "model-best" for t in found)
    assert {t.seed for t in study.read_trained(folder, "x", "1,5")} == {1}


def test_what_cannot_be_read_out_is_refused(study, folder):
    with pytest.raises(typer.BadParameter, match="no finished trial on z"):
        study.read_trained(folder, "z", None)
    with pytest.raises(typer.BadParameter, match="with seeds 5"):
        study.read_trained(folder, "x", "5")
    with pytest.raises(typer.BadParameter, match="--keep-models"):
        study.read_trained(folder, "y", None)
    add(folder, "softmax", 1, steps=18)
    with pytest.raises(typer.BadParameter, match="two trials of softmax, seed 1"):
        study.read_trained(folder, "x", None)
    assert len(study.read_trained(folder, "x", "0")) == 2


def test_a_trial_is_read_out_once(study, folder, corpus, monkeypatch, capsys):
    begun = []

    def read_out(model, corpus, timed):
        begun.append(model.parents[1].name)
        f = 0.5 + 0.1 * len(begun)
        test = {"ents_macro_f": f, "ents_f": f, "ents_tail_f": f, "ents_per_type": {"NAT": {"f": f}}}
        yield {"fitted": False, "merge": None, "gate": None, "test": test, "cost": None}

    monkeypatch.setattr(study, "study", read_out)
    results = folder / "ways.jsonl"
    of_others = {"corpus": "x", "variant": "softmax", "seed": 1}  # with no word of which trial
    results.write_text(json.dumps(of_others) + "\n", encoding="utf8")
    study.main(folder, corpus, results, "0")
    study.main(folder, corpus, results)
    keys = ["x-gated-0-9", "x-softmax-0-9", "x-gated-1-9", "x-softmax-1-9"]
    assert begun == keys
    records = [json.loads(line) for line in results.read_text(encoding="utf8").splitlines()]
    assert [r.get("trial") for r in records] == [None, *keys]
    assert [r["variant"] for r in records[1:]] == ["gated", "softmax"] * 2
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert rows[0].startswith("| gated | raw | - | - | 2 | 70.0 ± 14.1 |")
    assert rows[1].startswith("| softmax | raw | - | - | 2 | 80.0 ± 14.1 |")
