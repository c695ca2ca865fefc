"""An option that would have no effect is refused, with the reason, instead of ignored."""

import pytest

from spacy_longtail.corpus.folder import CorpusTypes, write_corpus
from tests.util import GATE_MODEL, blank, one_pipe, parse, refused, small_ner, toy_corpus, trained_once


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "corpus")


def said(arguments):
    return " ".join(refused(arguments, "L420").stderr.split())


@pytest.mark.parametrize("option", ["--gpu-id", "--steps", "--folds", "--seed"])
def test_options_of_trainings_need_the_audit_that_trains(corpus, option):
    assert f"{option} would be ignored: it needs -o" in said(["audit", corpus, option, "2"])


def test_json_has_long_texts_whole_anyway(corpus):
    assert "--verbose would be ignored" in said(["audit", corpus, "--verbose", "--json"])


@pytest.mark.parametrize(
    ("option", "value"), [("--gpu-id", "0"), ("--map", "A=B"), ("--code", None), ("--name", "x")]
)
def test_a_report_runs_no_pipeline(tmp_path, option, value):
    code = tmp_path / "own.py"
    code.write_text("")
    report = ["evaluate", tmp_path, "--report", tmp_path / "r.html", option, value or code]
    assert f"{option} would be ignored: --report reads evaluations" in said(report)


def test_an_ensemble_that_is_not_measured_takes_no_part(tmp_path):
    command = ["ensemble", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "c", "--part", "test"]
    assert "--part would be ignored: it needs --gold" in said(command)


def test_thresholds_of_a_gate_need_a_gate(corpus, tmp_path):
    settings = small_ner(scores_key="entity_scores")
    trained_once(one_pipe, 1, factory="longtail_ner", **settings)[0].to_disk(tmp_path / "model")
    command = ["thresholds", tmp_path / "model", corpus, "-o", tmp_path / "out", "--gate-recall", 0.9]
    assert "--gate-recall would be ignored" in said(command)


def test_thresholds_of_types_need_entity_scores(corpus, tmp_path):
    settings = {"model": GATE_MODEL, "rare_labels": ["NAT"]}
    nlp, _ = trained_once(one_pipe, 1, factory="longtail_sentence_gate", **settings)
    nlp.to_disk(tmp_path / "model")
    command = ["thresholds", tmp_path / "model", corpus, "-o", tmp_path / "out", "--precision", 0.9]
    assert "--precision would be ignored" in said(command)


def test_a_strict_split_needs_mentions_to_ask_for(tmp_path):
    docs = [parse(blank(), f"[Ann|PER] saw {i} .") for i in range(6)]
    write_corpus(tmp_path / "c", {"all": docs}, CorpusTypes(["PER"], []))
    command = ["split", tmp_path / "c", tmp_path / "t", "--strict", "--min-mentions", 0]
    assert "--strict would be ignored" in said(command)
