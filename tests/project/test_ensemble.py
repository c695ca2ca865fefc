"""`ensemble` as a command: the pipeline that it writes, what it prints, what it refuses."""

import json
import os
import shutil
from pathlib import Path

import pytest
import spacy

from spacy_longtail.evaluation import ensemble
from spacy_longtail.evaluation.ensemble import Ensemble
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.evaluation.records import TrainingSettings
from spacy_longtail.training.provenance import read_run
from spacy_longtail.training.train import train_model
from tests.util import (
    TINY,
    config_file,
    corpus_of,
    one_pipe,
    refused,
    run_app,
    run_spacy,
    small_ner,
    toy_corpus,
    toy_docs,
    train,
)

CONFIG = config_file("token_softmax")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus, and three runs of two configs."""
    folder = tmp_path_factory.mktemp("ensemble")
    toy_corpus(folder / "gold", train=toy_docs(2))
    for name, config, seed in (("a", CONFIG, 0), ("b", CONFIG, 1), ("c", config_file("token_crf"), 1)):
        overrides = {**TINY, "training.max_steps": 30, "training.seed": seed}
        train_model(config, folder / "gold", folder / name, overrides=overrides)
    return folder


@pytest.fixture(scope="module")
def done(place):
    runs = [place / name for name in "abc"]
    return place / "out", run(*runs, "-o", place / "out", "--gold", place / "gold")


def run(*given):
    return run_app("ensemble", *given)


def best(place, name):
    return place / name / "model-best"


def performance(path):
    return json.loads((path / "meta.json").read_text(encoding="utf8"))["performance"]


def test_an_ensemble_is_written_as_a_pipeline(place, done):
    output, _ = done
    nlp = spacy.load(output)
    assert nlp.pipe_names == ["ner"]
    heads = [member["head"] for member in nlp.get_pipe_config("ner")["members"].values()]
    assert heads == ["softmax", "softmax", "crf"]
    assert "P" in run_spacy("evaluate", output, place / "gold/test.spacy")
    assert len(evaluate_model(output, place / "gold/test.spacy", ["PER"], []).documents) == 4


def test_members_and_ensemble_are_measured(place, done):
    output, result = done
    found = Ensemble.model_validate_json((output / "ensemble.json").read_bytes())
    assert found.members == [str(best(place, name)) for name in "abc"]
    assert [own.name for own in found.systems] == ["m1", "m2", "m3", "ensemble"]
    assert set(found.types) == {"PER", "GEO", "ART", "NAT"}
    first, *_, mean = found.systems
    assert first.speed_ratio == 1.0 and mean.model == str(output)
    assert first.model == str(best(place, "a")) and found.part == "dev"
    assert mean.megabytes == pytest.approx(sum(own.megabytes for own in found.systems[:3]), rel=0.3)
    for own in found.systems:
        model, dev = Path(own.model), place / "gold/dev.spacy"
        score = evaluate_model(model, dev, ["PER", "GEO", "ART", "NAT"], ["NAT"]).scores
        assert (own.macro, own.tail) == pytest.approx((score.ents_macro_f, score.ents_tail_f))
    kept = performance(output)
    assert kept["ents_macro_f"] == pytest.approx(mean.macro)  # which the report chooses by
    assert set(kept) <= set(performance(best(place, "a")))
    lines = [line for line in result.stdout.splitlines() if line.startswith(("m1", "ensemble"))]
    assert len(lines) == 2 and f"{100 * mean.macro:.1f}" in lines[1]
    assert "macro F1 on dev" in result.stdout and "times m1" in result.stdout


def test_thresholds_of_an_ensemble_can_be_chosen(place, done, tmp_path):
    chosen, output = tmp_path / "chosen", tmp_path / "out"
    run_app("thresholds", done[0], place / "gold", "-o", chosen, "--min-mentions", "1")
    assert spacy.load(chosen).get_pipe("ner").labels
    refused(["ensemble", chosen, place / "a", "-o", output], "L514", output)


def test_an_ensemble_of_different_seeds_has_no_seed(place, done):
    """Its config has the training of its first member."""
    found = evaluate_model(done[0], place / "gold" / "test.spacy", ["GEO", "PER"], [])
    assert found.training == TrainingSettings()
    assert found.method.pipes["ner"]["members"] == 3
    member = evaluate_model(best(place, "b"), place / "gold" / "test.spacy", ["GEO", "PER"], [])
    assert (member.training.seed, member.training.max_steps) == (1, 30)
    assert "members" not in member.method.pipes["ner"]


def test_an_ensemble_of_equal_seeds_has_their_seed_and_a_record_of_its_making(place, tmp_path):
    run(place / "b", place / "c", "-o", tmp_path / "out")
    found = evaluate_model(tmp_path / "out", place / "gold" / "test.spacy", ["GEO", "PER"], [])
    assert found.training == TrainingSettings(seed=1)
    member = read_run(best(place, "b"))
    assert found.run.checksums == member.checksums and set(found.run.checksums) == {"train", "dev"}
    assert found.run.versions == member.versions and found.run.corpus == "gold"
    assert found.run.command.startswith("python -m spacy_longtail ensemble ")
    toy_corpus(tmp_path / "more", train=toy_docs(3))
    overrides = {**TINY, "training.max_steps": 10, "training.seed": 1}
    train_model(CONFIG, tmp_path / "more", tmp_path / "third", overrides=overrides)
    run(place / "b", tmp_path / "third", "-o", tmp_path / "out")
    made = read_run(tmp_path / "out")  # of other training data
    assert set(made.checksums) == {"dev"} and made.corpus == ""


def test_without_a_corpus_nothing_is_measured(place, tmp_path):
    data = json.loads(run(place / "a", place / "c", "-o", tmp_path / "out", "--json").stdout)
    assert data["systems"] == [] and data["members"] == [str(best(place, "a")), str(best(place, "c"))]
    given = ["--gold", place / "gold", "--part", "test"]  # replaces it
    assert "macro F1 on test" in run(place / "a", place / "c", "-o", tmp_path / "out", *given).stdout
    assert not performance(tmp_path / "out")  # nothing was measured on dev


def test_pipelines_that_cannot_be_combined_are_refused(place, tmp_path):
    output, a, b = tmp_path / "out", place / "a", place / "b"
    stock, broken = one_pipe("longtail_ner", **small_ner(scores_key="s")), tmp_path / "broken"
    train(stock, 1)
    stock.to_disk(tmp_path / "transition")
    shutil.copytree(best(place, "a"), broken)
    (broken / "ner/model").write_bytes(b"")
    texts = ["The rain fell for hours ."]
    corpus_of(tmp_path / "types", ["EVE"], train=texts, dev=texts, test=texts)
    for given, code in (
        ([a], "L514"),
        ([a, b, best(place, "a")], "L514"),
        ([a, tmp_path / "none"], "L402"),
        ([a, place / "gold"], "L402"),
        ([a, tmp_path / "transition"], "L514"),
        ([a, broken], "L408"),
        ([a, b, "--gold", place / "gold", "--part", "dew"], "L402"),
        ([a, b, "--gold", tmp_path / "types"], "L514"),
    ):
        refused(["ensemble", *given, "-o", output], code, output)


def test_a_mount_point_is_refused_before_pipelines_are_loaded(place, tmp_path, monkeypatch):
    monkeypatch.setattr(ensemble, "load_pipeline", lambda path: pytest.fail("loaded"))
    monkeypatch.setattr(os.path, "ismount", lambda path: path.name == "out")
    refused(["ensemble", place / "a", place / "b", "-o", tmp_path / "out"], "L436")
