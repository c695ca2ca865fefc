"""`thresholds`: it chooses what counting says, and what it writes is what the pipeline does."""

import json
import os
import shutil

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example

from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.evaluation import thresholds
from spacy_longtail.evaluation.thresholds import fit_thresholds
from spacy_longtail.numerics import sigmoid
from spacy_longtail.pipes.scores.calibration import Scored, entity_outcomes, measure_error
from spacy_longtail.pipes.scores.chosen import Goal
from spacy_longtail.pipes.scores.spans import ScoredSpan
from spacy_longtail.pipes.scores.thresholds import log_odds
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    TOKEN_MODEL,
    WEAK,
    blank,
    entities,
    one_pipe,
    refused,
    reloaded,
    run_app,
    small_ner,
    toy_corpus,
    train,
    trained_once,
    tree,
    words,
)

NER = {
    "longtail_token_ner": {"model": TOKEN_MODEL, "scores_key": "entity_scores"},
    "longtail_ner": small_ner(scores_key="entity_scores"),
}


@pytest.fixture(scope="module", params=list(NER))
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "best"
    trained_once(one_pipe, 40, factory=request.param, **NER[request.param])[0].to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """A primary, a gate and a secondary."""
    nlp = one_pipe("longtail_ner", **NER["longtail_ner"])
    gate = {"model": GATE_MODEL, "rare_labels": WEAK}
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate)
    secondary = {"model": TOKEN_MODEL, "labels": WEAK, "merge": "span"}
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary)
    with pytest.warns(UserWarning, match="LW080"):
        train(nlp, 40)
    folder = tmp_path_factory.mktemp("gated") / "best"
    nlp.to_disk(folder)
    return folder


def chosen(*arguments):
    return json.loads(run_app("thresholds", *arguments, "--json").stdout)


def test_a_precision_is_reached_by_the_written_pipeline(model, ships, tmp_path):
    nlp = spacy.load(model)
    nlp.meta["performance"] = {"ents_macro_f": 0.123, "ner_loss": 7.0}
    nlp.to_disk(tmp_path / "stale")
    before, output = tree(tmp_path / "stale"), tmp_path / "strict"
    options = ["--precision", 0.9, "--abstain-key", "unsure"]
    found = chosen(tmp_path / "stale", ships, "-o", output, *options)["ner"]
    assert tree(tmp_path / "stale") == before
    own = found["types"]
    assert own["ART"]["before"]["p"] < 0.5
    for label in ("PER", "GEO", "NAT"):
        assert own[label]["threshold"] is None and own[label]["before"]["p"] == 1
    nlp = spacy.load(output)
    cfg, block = nlp.get_pipe("ner").cfg, nlp.get_pipe_config("ner")
    assert (cfg["thresholds"] is None) == (block["thresholds"] is None)
    assert block["abstain_key"] in ("unsure", None)
    scores = nlp.evaluate(list(Corpus(ships / "dev.spacy")(nlp)))
    for label, row in own.items():
        measured = scores["ents_per_type"].get(label, {"p": 0.0, "r": 0.0})
        assert measured["p"] == pytest.approx(row["after"]["p"], abs=1e-6)
        assert measured["r"] == pytest.approx(row["after"]["r"], abs=1e-6)
    left = nlp.meta["performance"]  # of training, measured anew
    assert left["ner_loss"] == 7.0 and left["ents_macro_f"] == pytest.approx(scores["ents_macro_f"])


def test_scores_on_another_part_than_dev_are_not_stored_as_those_on_dev(model, ships, tmp_path):
    nlp = spacy.load(model)
    nlp.meta["performance"] = {"ents_macro_f": 0.123}
    nlp.to_disk(tmp_path / "trained")
    chosen(tmp_path / "trained", ships, "-o", tmp_path / "out", "--part", "train")
    assert spacy.load(tmp_path / "out").meta["performance"] == {}


def test_entities_below_the_threshold_are_stored_under_the_abstain_key(model, tmp_path):
    nlp = spacy.load(model)
    below = {"thresholds": {"ART": 0.99999}, "calibration": {"ART": [1.0, -20.0]}}
    nlp.get_pipe("ner").cfg.update(below, abstain_key="unsure")
    doc = nlp(words(nlp, SENTENCES[0]))
    assert entities(doc) == [("Maria", "PER"), ("Oslo", "GEO")]
    assert [(s.text, s.label_) for s in doc.spans["unsure"]] == [("Fram", "ART")]
    assert doc.spans["unsure"].attrs["scores"][0] < 0.1 and doc[6].ent_iob_ == "O"
    assert [s.text for s in doc.spans["entity_scores"]] == ["Maria", "Oslo"]
    again = reloaded(nlp, tmp_path)
    assert again.get_pipe("ner").cfg["thresholds"] == {"ART": 0.99999}
    aside = again(doc.text).spans["unsure"].attrs["scores"]
    assert list(aside) == pytest.approx(doc.spans["unsure"].attrs["scores"])


def test_entities_that_a_document_already_has_are_kept_whatever_the_threshold():
    nlp, _ = trained_once(one_pipe, 40, factory="longtail_ner", **NER["longtail_ner"])
    below = {"thresholds": {"ART": 0.99999}, "calibration": {"ART": [1.0, -20.0]}}
    nlp.get_pipe("ner").cfg.update(below)
    doc = words(nlp, SENTENCES[0])
    doc.set_ents([Span(doc, 6, 7, label="ART")], default="missing")
    assert ("Fram", "ART") in entities(nlp(doc))


def test_scores_become_probabilities(model, ships, tmp_path):
    output = tmp_path / "calibrated"
    found = chosen(model, ships, "-o", output)["ner"]
    # of 12 times 2 mentions of the Fram that are found a third is annotated
    error = found["calibration_error"]
    assert error["after"] < 0.6 * error["before"] and found["types"]["ART"]["calibrated"]
    curve = spacy.load(output).get_pipe("ner").cfg["calibration"]["ART"]
    assert sigmoid(curve[0] * log_odds(np.array([0.95])) + curve[1]) < 0.7
    raw = chosen(model, ships, "-o", tmp_path / "raw", "--no-calibrate")["ner"]
    assert raw["calibration_error"] is None
    assert spacy.load(tmp_path / "raw").get_pipe("ner").cfg["calibration"] is None


def test_choosing_again_begins_with_the_raw_scores(model, ships, tmp_path):
    copy = tmp_path / "copy"
    first = chosen(model, ships, "-o", copy, "--recall", 0.5)
    assert chosen(copy, ships, "--in-place", "--recall", 0.5) == first
    nlp = spacy.load(copy)
    thresholds = nlp.get_pipe("ner").cfg["thresholds"]
    assert thresholds and thresholds == pytest.approx(nlp.get_pipe_config("ner")["thresholds"])
    most = chosen(model, ships, "-o", copy, "--recall", 0.5, "--min-mentions", 30)["ner"]["types"]
    assert all((row["mentions"] < 30) == (row["threshold"] is None) for row in most.values())
    given = ["thresholds", model, ships, "-o", tmp_path / "x", "--precision", "1.0"]
    for least, said in (("10", "LW082"), ("2", "no threshold reaches a precision")):
        shown = run_app(*given, "--min-mentions", least).output
        assert said in shown and "ART" in shown


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--recall", "0.9", "--precision", "0.9"], "L852"),
        (["--gate-recall", "0.9", "--gate-budget", "0.1"], "L852"),
        (["--gate-budget", "0"], "L001"),
        (["--part", "nope"], "L402"),
        (["--abstain-key", "entity_scores"], "L001"),
    ],
)
def test_bad_options_change_nothing(model, ships, options, code):
    before = tree(model)
    refused(["thresholds", model, ships, "--in-place", *options], code)
    assert tree(model) == before


@pytest.mark.parametrize(("factory", "code"), [("ner", "L255"), ("longtail_token_ner", "L251")])
def test_pipelines_without_scores_are_refused(factory, code, ships, tmp_path):
    nlp = one_pipe(factory)
    train(nlp, 1)
    nlp.to_disk(tmp_path / "model")
    refused(["thresholds", tmp_path / "model", ships, "--in-place"], code)


@pytest.mark.parametrize(
    ("goal", "least", "why"),
    [
        (Goal(), 1000, "a choice needs 1000 sentences"),
        (Goal("precision", 1.1), 2, "no threshold reaches"),
    ],
)
def test_a_gate_without_a_threshold_to_choose_stays_as_it_was(gated, ships, tmp_path, goal, least, why):
    nlp = spacy.load(gated)
    nlp.get_pipe("gate").cfg.update(threshold=0.2, calibration=[0.001, 1.0])
    nlp.to_disk(tmp_path / "model")
    settings = {"goal": Goal(), "gate_goal": goal, "min_mentions": least}
    with pytest.warns(UserWarning, match=f"LW082.*threshold = 0.2: .*{why}"):
        report = fit_thresholds(str(tmp_path / "model"), ships / "dev.spacy", **settings)
    gate = report["gate"]
    assert gate.threshold == 0.2 and gate.curve == pytest.approx([0.001, 1.0])
    assert gate.before == gate.after and gate.after.open == 1  # all score sigmoid(1)
    cfg = spacy.load(tmp_path / "model").get_pipe("gate").cfg
    assert (cfg["threshold"], cfg["calibration"]) == (0.2, pytest.approx([0.001, 1.0]))


def test_the_gain_of_calibration_is_measured_by_cross_fitting():
    fold = np.repeat(np.arange(5), 20)
    found = measure_error({"ART": Scored(np.zeros(100), (fold == 0).astype("int64"), fold)})
    assert found.before == pytest.approx(0.3)  # 0.5 everywhere, a fifth is right
    # fold 0 is judged without a curve, the others by 20 right of 80, with smoothed targets
    assert found.after == pytest.approx(0.2 * 0.5 + 0.8 * ((20 * 21 / 22 + 60 / 62) / 80), abs=1e-6)


def test_a_gate_is_calibrated_and_gets_its_threshold(gated, ships, tmp_path):
    model = tmp_path / "gated"
    shutil.copytree(gated, model)
    found = chosen(model, ships, "--in-place", "--gate-recall", 0.9)
    gate = found["gate"]
    assert gate["rare"] == 12 * 2 + 4 * 2 and gate["sentences"] == 96
    assert gate["after"]["r"] >= 0.9
    assert gate["calibration_error"]["after"] < gate["calibration_error"]["before"]
    nlp = spacy.load(model)
    cfg = nlp.get_pipe("gate").cfg
    assert cfg["threshold"] == nlp.get_pipe_config("gate")["threshold"] == gate["threshold"]
    assert cfg["calibration"] == gate["curve"]
    # what the written gate does is what was reported
    docs = [nlp(eg.predicted) for eg in Corpus(ships / "dev.spacy")(nlp)]
    n_open = sum(len(doc.spans["weak_sentences"]) for doc in docs)
    assert n_open / 96 == pytest.approx(gate["after"]["open"])
    assert set(found["weak_ner"]["types"]) == set(WEAK)
    strict = chosen(model, ships, "--in-place", "--gate-recall", 0.1)["gate"]
    assert strict["after"]["p"] >= gate["after"]["p"]


def test_a_gate_keeps_its_threshold_where_few_sentences_would_choose_it(gated, ships, tmp_path):
    """A recall that nobody asked for is not cut on fewer than 30 sentences."""
    docs = load_docs(ships / "dev.spacy", blank())
    half = toy_corpus(tmp_path / "half", dev=docs[: len(docs) // 2])
    few = (gated, half, "-o", tmp_path / "x", "--min-mentions", "2")
    kept = chosen(*few)["gate"]
    assert 2 <= kept["rare"] < 30 and kept["threshold"] == 0.5
    asked = chosen(*few, "--gate-recall", "0.9")["gate"]
    assert asked["threshold"] != 0.5 and asked["after"]["r"] >= 0.9
    assert chosen(gated, ships, "-o", tmp_path / "x")["gate"]["threshold"] != 0.5


def test_components_without_scores_are_left_as_they_are(gated, ships, tmp_path):
    nlp = spacy.load(gated)
    nlp.get_pipe("ner").cfg["scores_key"] = None
    nlp.get_pipe("weak_ner").cfg.update(scores_key=None, merge="fill")
    nlp.to_disk(tmp_path / "model")
    goals = {"goal": Goal(), "gate_goal": Goal("recall", 0.9)}
    with pytest.warns(UserWarning, match=r"LW082.*'ner' keeps its settings"):
        found = fit_thresholds(
            tmp_path / "model",
            ships / "dev.spacy",
            **goals,
            min_mentions=2,
            abstain_key="unsure",
        )
    assert list(found) == ["gate", "weak_ner"]
    assert found["weak_ner"].types["ART"].candidates > 0
    written = spacy.load(tmp_path / "model")
    assert written.get_pipe("ner").cfg["thresholds"] is None
    assert written.get_pipe("weak_ner").cfg["calibration"]


def test_a_gold_mention_is_found_once():
    vocab, spaces = blank().vocab, [False, False, True, False]
    reference = Doc(vocab, words=["New-York", "is"], spaces=[True, False], ents=["B-GEO", "O"])
    eg = Example(Doc(vocab, words=["New", "-", "York", "is"], spaces=spaces), reference)
    spans = [ScoredSpan(0, 1, "GEO", 0.8, ()), ScoredSpan(2, 3, "GEO", 0.9, ())]

    class Pipe:
        labels, name = ("GEO",), "ner"

        def candidates(self, docs):
            return [spans for _ in docs]

    by_type, n_gold = entity_outcomes(Pipe(), [eg], 8)
    assert n_gold == {"GEO": 1}
    own = by_type["GEO"]
    assert own.right[np.argsort(own.logits)].tolist() == [0, 1]


@pytest.mark.parametrize("factory", list(NER))
def test_a_pipe_that_is_initialised_again_forgets_its_calibration(factory):
    nlp = one_pipe(factory, **NER[factory])
    pipe = nlp.get_pipe("ner")
    pipe.cfg.update(thresholds={"ART": 0.5}, calibration={"*": [2.0, 1.0]})
    train(nlp, 0)
    assert pipe.cfg["calibration"] is None and pipe.cfg["thresholds"] == {"ART": 0.5}


def test_a_mount_point_is_refused_before_the_pipeline_is_loaded(ships, tmp_path, model, monkeypatch):
    monkeypatch.setattr(thresholds, "load_pipeline", lambda path: pytest.fail("loaded"))
    monkeypatch.setattr(os.path, "ismount", lambda path: path.name == "out")
    with pytest.raises(ValueError, match=r"L436.*mount point"):
        fit_thresholds(str(model), ships / "dev.spacy", output=tmp_path / "out")
