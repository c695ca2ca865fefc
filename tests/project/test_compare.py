"""The table of scripts/compare.py: means and spreads of the records, and a choice made on dev."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from spacy.tokens import DocBin

from tests.util import SENTENCES, blank, parse

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare.py"


@pytest.fixture
def compare():
    spec = importlib.util.spec_from_file_location("compare", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(config, seed, dev, test):
    scores = {"ents_f": test, "ents_tail_f": test, "ents_macro_f": test}
    per_type = {"NAT": {"p": test, "r": test, "f": test, "support": 7}}
    return {
        "config": config,
        "seed": seed,
        "dev": {"ents_macro_f": dev},
        "test": {**scores, "ents_per_type": per_type},
    }


def test_the_table(compare, capsys):
    records = [record("baseline", s, 0.9, 0.5 + 0.1 * s) for s in range(3)]
    records += [record("a", 0, 0.6, 0.1), record("b", 0, 0.5, 0.9)]
    compare.print_table(records, ["baseline", "a", "b", "c"], {"baseline"})
    text = capsys.readouterr().out
    assert "| baseline | 3 | 90.0 ± 0.0 | 60.0 ± 10.0 |" in text
    assert "NAT (7)" in text
    assert "Ours, the best on dev macro F1: a" in text  # b is better on test, which has no say


def test_one_record_has_no_spread(compare):
    assert compare.spread([0.5]) == "50.0"


def test_variants_are_configs_or_named_in_a_file(compare, tmp_path):
    file = tmp_path / "v.json"
    file.write_text(
        json.dumps({"a": {"config": "x.cfg", "components.ner.head": "crf"}}), encoding="utf8"
    )
    found = compare.read_variants([Path("configs/focal.cfg"), file], {})
    assert [(v.name, v.config.name, v.overrides) for v in found] == [
        ("focal", "focal.cfg", {}),
        ("a", "x.cfg", {"components.ner.head": "crf"}),
    ]


def test_a_run_that_fails_costs_the_others_nothing(compare, tmp_path):
    def run(job):
        if job == 1:
            raise RuntimeError("broken")
        return {"job": job}

    with pytest.raises(typer.Exit):
        compare.run_all(run, [0, 1, 2], tmp_path / "r.jsonl", 1)
    assert [r["job"] for r in compare.read_records(tmp_path / "r.jsonl")] == [0, 2]


def test_records_of_other_settings_are_not_taken_over(compare, tmp_path):
    old = {**record("a", 0, 0.5, 0.5), "corpus": tmp_path.name, "steps": 7, "overrides": {"x": 1}}
    (tmp_path / "r.jsonl").write_text(json.dumps(old) + "\n", encoding="utf8")
    file = tmp_path / "v.json"
    for value in (1, 2):
        file.write_text(json.dumps({"a": {"config": "x.cfg", "x": value}}), encoding="utf8")
        arguments = (tmp_path, [file], tmp_path / "r.jsonl", "0", 7)
        if value == 1:
            compare.main(*arguments)  # nothing is left to run
        else:
            with pytest.raises(typer.BadParameter, match="other settings"):
                compare.main(*arguments)


def test_a_record_keeps_the_settings_of_its_run(compare, monkeypatch, tmp_path):
    def run(command, **_):
        if "-o" in command:
            Path(command[-1]).parent.mkdir(parents=True, exist_ok=True)
            Path(command[-1]).write_text('{"scores": {"ents_f": 0.5}}', encoding="utf8")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(compare.subprocess, "run", run)
    variant = compare.Variant("a", Path("x.cfg"), {"components.ner.loss": {"@losses": "y"}})
    found = compare.run_one(variant, tmp_path, 3, 7, tmp_path / "models")
    assert found["overrides"] == variant.overrides and (found["seed"], found["steps"]) == (3, 7)
    assert found["dev"] == found["test"] == {"ents_f": 0.5}


def test_partitions_nest_and_repeat(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import low_resource

    sys.modules.pop("compare", None)
    nlp, corpus = blank(), tmp_path / "corpus"
    corpus.mkdir()
    for name in ("train", "dev", "test"):
        DocBin(docs=[parse(nlp, s) for s in SENTENCES]).to_disk(corpus / f"{name}.spacy")
    (corpus / "types.json").write_text("{}", encoding="utf8")
    sentences = low_resource.sentences_of(corpus / "train.spacy")

    def texts(size, part):
        folder = low_resource.partition(corpus, sentences, size, part, tmp_path)
        assert (folder / "test.spacy").is_file() and (folder / "types.json").is_file()
        return [d.text for d in DocBin().from_disk(folder / "train.spacy").get_docs(nlp.vocab)]

    assert len(sentences) == 8 and texts(3, 0) == texts(6, 0)[:3] == texts(3, 0)
    assert texts(6, 0) != texts(6, 1)
    with pytest.raises(typer.BadParameter):
        texts(9, 0)


def test_settings_of_the_command_line_hold_for_all_variants(compare, tmp_path):
    given = ["training.batcher.size=400", "paths.transformer=some/bert", "components.ner.loss=null"]
    settings = compare.read_settings(given)
    assert settings == {
        "training.batcher.size": 400,
        "paths.transformer": "some/bert",
        "components.ner.loss": None,
    }
    file = tmp_path / "v.json"
    file.write_text('{"a": {"config": "configs/x.cfg", "training.batcher.size": 100}}', encoding="utf8")
    own, plain = compare.read_variants([file, Path("configs/y.cfg")], settings)
    assert own.overrides["training.batcher.size"] == 100  # a variant's own setting wins
    assert plain.overrides == settings
    assert compare.recorded(plain.overrides) == {**settings, "paths.transformer": "bert"}


@pytest.mark.parametrize("text", ["training.seed", "seed=1", "=1"])
def test_settings_that_are_none_are_refused(compare, text):
    with pytest.raises(typer.BadParameter, match="--set"):
        compare.read_settings([text])
