"""`thresholds` for a gate without weights: what it chooses is what the written pipeline does."""

import json

import pytest
import spacy
from spacy.training import Corpus

from spacy_longtail.evaluation.thresholds import fit_thresholds
from spacy_longtail.pipes.scores.chosen import Goal
from spacy_longtail.training.provenance import method_of
from tests.util import GATE_MODEL, TOKEN_MODEL, WEAK, one_pipe, run_app, train, trained_once


@pytest.fixture
def model(tmp_path):
    def write(**settings):
        nlp, _ = trained_once(one_pipe, 15, model=TOKEN_MODEL)
        nlp.add_pipe("longtail_posterior_gate", name="gate", config={"rare_labels": WEAK, **settings})
        nlp.to_disk(tmp_path / "model")
        return tmp_path / "model"

    return write


def chosen(*arguments):
    return json.loads(run_app("thresholds", *arguments, "--in-place", "--json").stdout)["gate"]


def scores(path, ships):
    nlp = spacy.load(path)
    found = nlp.evaluate(list(Corpus(ships / "dev.spacy")(nlp)))
    return {name: found[f"weak_sents_{name}"] for name in ("p", "r", "open")}, nlp


def test_the_threshold_of_a_recall_is_chosen_and_written(model, ships):
    path = model()
    before, _ = scores(path, ships)
    found = chosen(path, ships, "--gate-recall", 0.9)
    after, nlp = scores(path, ships)
    assert found["before"] == pytest.approx(before) and found["after"] == pytest.approx(after)
    assert (found["sentences"], found["rare"], found["budget"], found["start"]) == (96, 32, None, 0)
    assert nlp.get_pipe("gate").cfg["threshold"] == found["threshold"] != 0.1 and after["r"] >= 0.9
    assert nlp.get_pipe_config("gate")["threshold"] == found["threshold"]
    with pytest.warns(UserWarning, match="LW082"):
        few = fit_thresholds(path, ships / "dev.spacy", min_mentions=50)["gate"]
    assert few.threshold == found["threshold"] and few.before == few.after


def test_a_budget_starts_from_dev_and_is_kept(model, ships):
    path = model(budget=0.2)
    found = chosen(path, ships)
    after, nlp = scores(path, ships)
    assert (
        found["goal"] == "budget of 0.2 of the sentences"
        and found["budget"] == 0.2
        and found["start"] == 96
    )
    assert found["threshold"] is None and found["after"] == pytest.approx(after)
    assert method_of(nlp).pipes["gate"]["budget"] == 0.2  # is recorded in evaluations
    assert len(nlp.get_pipe("gate").cfg["start"]) == 96 and 0 < after["open"] * 96 <= 0.2 * 96 + 5
    back = chosen(path, ships, "--gate-recall", 0.5, "--min-mentions", 5)
    again = spacy.load(path)
    assert back["budget"] is None and again.get_pipe_config("gate")["budget"] is None
    assert again.get_pipe("gate").cfg["start"] is None
    spent = chosen(path, ships, "--gate-budget", 0.1)
    again = spacy.load(path)
    assert spent["budget"] == again.get_pipe_config("gate")["budget"] == 0.1


def test_a_budget_is_kept_if_no_threshold_is_chosen(model, ships, tmp_path):
    path, out = model(budget=0.2), tmp_path / "out"
    chosen(path, ships)
    options = {"gate_goal": Goal("recall", 0.9), "min_mentions": 50, "output": out}
    with pytest.warns(UserWarning, match=r"LW082.*'gate' keeps budget = 0\.2: .* found 32"):
        found = fit_thresholds(path, ships / "dev.spacy", **options)["gate"]
    assert (found.budget, found.start, found.threshold) == (
        0.2,
        96,
        None,
    ) and found.before == found.after
    kept, given = spacy.load(out), spacy.load(path)
    assert kept.get_pipe("gate").cfg == given.get_pipe("gate").cfg
    assert kept.get_pipe_config("gate") == given.get_pipe_config("gate")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--min-mentions", "5"], "; 32 of 96 hold a rare type"),
        (["--gate-budget", "0.25"], "budget 25 % of sentences, started from 96"),
    ],
)
def test_the_choice_is_printed(model, ships, options, said):
    shown = run_app("thresholds", model(), ships, "--in-place", *options)
    assert said in " ".join(shown.output.split())


def test_a_trained_gate_takes_the_lowest_threshold_within_a_budget(ships, tmp_path):
    nlp = one_pipe("longtail_sentence_gate", "gate", model=GATE_MODEL, rare_labels=WEAK)
    train(nlp, 10)
    nlp.to_disk(tmp_path / "model")
    assert 0 < chosen(tmp_path / "model", ships, "--gate-budget", 0.3)["after"]["open"] <= 0.3
