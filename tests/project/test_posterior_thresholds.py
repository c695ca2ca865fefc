"""`thresholds` for a gate without weights: what it chooses is what the written pipeline does."""

import json

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.evaluation.goal import Goal
from spacy_longtail.evaluation.posterior_gate import fit_posterior_gate
from spacy_longtail.evaluation.thresholds import fit_thresholds
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from spacy_longtail.pipes.scores.thresholds import for_share, points
from tests.util import (
    GATE_MODEL,
    TOKEN_MODEL,
    WEAK,
    blank,
    refused,
    toy_corpus,
    toy_docs,
    train,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Twelve times the toy corpus, of which most mentions are known to no one."""
    docs = toy_docs(12)
    for i, doc in enumerate(docs):
        if i % 3:
            doc.set_ents([ent for ent in doc.ents if ent.label_ != "ART"], default="outside")
    return toy_corpus(tmp_path_factory.mktemp("corpus") / "toy", dev=docs)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    nlp = blank()
    nlp.add_pipe(
        "longtail_token_ner", name="ner", config={"model": TOKEN_MODEL, "scores_key": "entity_scores"}
    )
    train(nlp, 15)
    return nlp


@pytest.fixture
def model(trained, tmp_path):
    def write(**settings):
        nlp = blank().from_config(trained.config).from_bytes(trained.to_bytes())
        nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK, **settings})
        nlp.to_disk(tmp_path / "model")
        return tmp_path / "model"

    return write


def chosen(*arguments):
    result = CliRunner().invoke(app, ["thresholds", *map(str, arguments), "--in-place", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gate"]


def scores(path, corpus):
    nlp = spacy.load(path)
    found = nlp.evaluate(list(Corpus(corpus / "dev.spacy")(nlp)))
    return {name: found[f"weak_sents_{name}"] for name in ("p", "r", "open")}, nlp


def test_each_type_gets_the_threshold_of_its_recall(model, corpus):
    path = model()
    before, _ = scores(path, corpus)
    found = chosen(path, corpus, "--gate-recall", 0.5, "--min-mentions", 12)
    after, nlp = scores(path, corpus)
    assert found["before"] == pytest.approx(before) and found["after"] == pytest.approx(after)
    assert (found["sentences"], found["weak"], found["budget"], found["start"]) == (96, 32, None, 0)
    gate = nlp.get_pipe("gate")
    assert found["thresholds"].keys() == {"NAT"}  # 24 of NAT, 8 of ART
    assert gate.cfg["thresholds"] == found["thresholds"] and gate.cfg["threshold"] == 0.1
    assert nlp.get_pipe_config("gate")["thresholds"] == found["thresholds"]
    assert after["r"] >= 0.5
    all_types = chosen(path, corpus, "--gate-recall", 1, "--min-mentions", 5)
    assert all_types["thresholds"].keys() == set(WEAK) and all_types["after"]["r"] == 1


def test_types_that_are_too_rare_share_a_threshold(model, corpus):
    path = model()
    found = chosen(path, corpus, "--gate-recall", 0.9, "--min-mentions", 30)
    assert found["thresholds"] is None and found["threshold"] != 0.1
    after, nlp = scores(path, corpus)
    assert nlp.get_pipe("gate").cfg["threshold"] == found["threshold"] and after["r"] >= 0.9
    assert nlp.get_pipe_config("gate")["threshold"] == found["threshold"]
    with pytest.warns(UserWarning, match="LW082"):
        few = fit_thresholds(path, corpus / "dev.spacy", goal=Goal(), min_mentions=50)["gate"]
    assert few.threshold == found["threshold"] and few.before == few.after


@pytest.mark.parametrize("signal", ["expected", "entity_scores", "both"])
def test_a_budget_starts_from_dev_and_is_kept(model, corpus, signal):
    path = model(signal=signal, budget=0.2)
    with pytest.warns(UserWarning, match="LW061"):
        scores(path, corpus)
    found = chosen(path, corpus)
    after, nlp = scores(path, corpus)
    assert found["goal"] == "budget of 20 %" and found["budget"] == 0.2 and found["start"] == 96
    assert found["threshold"] is found["thresholds"] is found["min_entity_score"] is None
    assert found["after"] == pytest.approx(after)
    gate = nlp.get_pipe("gate")
    assert len(gate.cfg["start"]) == 96 and 0 < gate.usage.flagged <= 0.2 * 96 + 5
    assert gate.usage.sentences == 96 and gate.usage.share == pytest.approx(after["open"])
    back = chosen(path, corpus, "--gate-recall", 0.5, "--min-mentions", 5)
    again = spacy.load(path)
    assert back["budget"] is None and again.get_pipe_config("gate")["budget"] is None
    assert again.get_pipe("gate").cfg["start"] is None
    spent = chosen(path, corpus, "--gate-budget", 0.1)
    again = spacy.load(path)
    assert spent["budget"] == again.get_pipe_config("gate")["budget"] == 0.1
    assert blank().from_config(again.config).get_pipe("gate").cfg["budget"] == 0.1


def test_a_least_score_is_chosen_for_a_recall(model, corpus):
    path = model(signal="entity_scores")
    found = chosen(path, corpus, "--gate-recall", 0.7)
    after, nlp = scores(path, corpus)
    assert found["after"] == pytest.approx(after) and after["r"] >= 0.7
    assert found["threshold"] is found["thresholds"] is None
    limit = nlp.get_pipe("gate").cfg["min_entity_score"]
    assert limit == found["min_entity_score"] != 0.5
    assert nlp.get_pipe_config("gate")["min_entity_score"] == limit
    both = model(signal="both", min_entity_score=0.3)
    assert chosen(both, corpus, "--min-mentions", 5)["min_entity_score"] == pytest.approx(0.3)


def test_a_recall_that_entities_cannot_reach_is_said():
    """Two documents hold a rare type; in one of them the primary finds nothing to be unsure of."""
    nlp = blank()
    config = {"weak_labels": ["NAT"], "signal": "entity_scores"}
    gate = nlp.add_pipe("longtail_posterior_gate", name="gate", config=config)
    data = []
    for scores_found in ([], [0.4], [0.8]):
        reference = Doc(nlp.vocab, words=["Storm", "Ida"])
        reference.set_ents([Span(reference, 0, 2, label="NAT")] if scores_found != [0.8] else [])
        predicted = Doc(nlp.vocab, words=["Storm", "Ida"])
        write_scores(predicted, "entity_scores", [ScoredSpan(0, 1, "PER", p, ()) for p in scores_found])
        data.append(Example(predicted, reference))
    with pytest.warns(UserWarning, match=r"LW087.*recall of at least 0\.9.*0\.5"):
        stays = fit_posterior_gate(nlp, "gate", data, Goal(recall=0.9), least=1)
    assert stays.min_entity_score == gate.cfg["min_entity_score"] == 0.5
    half = fit_posterior_gate(nlp, "gate", data, Goal(recall=0.5), least=1)
    assert half.min_entity_score == pytest.approx(0.4, abs=1e-3)
    assert half.after.r == 0.5 and half.after.p == 1.0


def test_what_it_did_is_printed(model, corpus):
    path = model(signal="both")
    for options, said in (
        (["--min-mentions", "5"], ("NAT 0.", "ART 0.", "entities below 0.5", "32 of 96 hold")),
        (["--gate-budget", "0.25"], ("budget of 25 %", "budget 25 % of sentences, started from 96")),
    ):
        result = CliRunner().invoke(app, ["thresholds", str(path), str(corpus), "--in-place", *options])
        assert result.exit_code == 0, result.output
        shown = " ".join(result.output.split())
        assert all(text in shown for text in said), shown


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--gate-budget", "0"], "L280"),
        (["--gate-budget", "2"], "L001"),
        (["--gate-budget", "0.1", "--gate-recall", "0.9"], "L256"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(model, corpus, options, code):
    refused(["thresholds", model(), corpus, "--in-place", *options], code)


def test_a_trained_gate_takes_the_lowest_threshold_within_a_budget(corpus, tmp_path):
    nlp = blank()
    config = {"model": GATE_MODEL, "weak_labels": WEAK, "weak_weight": 0.7}
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=config)
    train(nlp, 10)
    nlp.to_disk(tmp_path / "model")
    found = chosen(tmp_path / "model", corpus, "--gate-budget", 0.3)
    assert 0 < found["after"]["open"] <= 0.3


def test_a_share_keeps_the_most_that_fits():
    ways = points(np.asarray([0.9, 0.8, 0.8, 0.1]), np.asarray([1, 0, 1, 0]), 2)
    assert [
        for_share(ways, share) and for_share(ways, share).n_kept for share in (0.2, 0.3, 0.75, 1)
    ] == [
        None,
        1,
        3,
        4,
    ]
    assert for_share([], 0.5) is None
    assert Goal(share=0.3).choose(ways).n_kept == 1 and str(Goal(share=0.03)) == "budget of 3 %"
