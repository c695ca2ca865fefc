"""A `cfg` file that was changed after a pipeline was saved is refused, by its path."""

import pytest
import spacy
import srsly

import tests.pipes.gated  # noqa: F401  # registers a secondary
from tests.util import (
    GATE_MODEL,
    MRC_MODEL,
    QUERIES,
    TOKEN_MODEL,
    examples,
    one_pipe,
    small_ner,
    train,
    trained_once,
)

PRIMARY = {"model": TOKEN_MODEL}
PIPES = {
    "longtail_ner": small_ner(),
    "longtail_token_ner": PRIMARY,
    "longtail_sentence_gate": {"model": GATE_MODEL, "rare_labels": ["NAT"]},
    "longtail_posterior_gate": {"rare_labels": ["NAT"]},
    "longtail_gated_ner": {"model": TOKEN_MODEL, "labels": ["NAT"], "spans_key": None, "merge": "fill"},
    "longtail_gated_pipe": {"pipe": {"factory": "test_secondary"}},
    "longtail_mrc_ner": {"model": MRC_MODEL, "queries": QUERIES},
    "longtail_gazetteer": {},
    "longtail_ensemble_ner": {"members": {"a": {"head": "softmax", "model": TOKEN_MODEL}}},
}
LEARN = {*PIPES} - {"longtail_gated_pipe", "longtail_ensemble_ner", "longtail_posterior_gate"}


def saved(factory, folder, **changes):
    """A pipeline of one component, saved; then values of its cfg are changed, or taken out."""
    if factory in LEARN:
        nlp, _ = trained_once(one_pipe, 1, factory=factory, **PIPES[factory])
    else:
        nlp = one_pipe(factory, **PIPES[factory])
    return save_changed(nlp, folder, **changes)


def save_changed(nlp, folder, **changes):
    """Save a pipeline, change values of its component's cfg, and return the path of that file."""
    nlp.to_disk(folder)
    path = folder / "ner" / "cfg"
    cfg = {**srsly.read_json(path), **changes}
    srsly.write_json(path, {key: value for key, value in cfg.items() if value is not ...})
    return path


@pytest.mark.parametrize(
    ("factory", "key", "value", "problem"),
    [
        ("longtail_ner", "scores_key", 3, "'scores_key' is 3"),
        ("longtail_ner", "beam_width", 4, "'beam_width' is 4"),
        ("longtail_ner", "include", ["PER", "PER"], "'include' names PER more than once"),
        ("longtail_token_ner", "types", ["PER", "GEO", "PER"], "'types' names PER more than once"),
        ("longtail_token_ner", "types", "PER", "'types' is 'PER'"),
        ("longtail_token_ner", "types", ..., "lacks 'types'"),
        ("longtail_token_ner", "scheme", "IOBES", "'scheme' is 'IOBES'"),
        ("longtail_token_ner", "head", "svm", "'head' is 'svm'"),
        ("longtail_token_ner", "thresholds", {"PER": "high"}, "'thresholds' is"),
        ("longtail_token_ner", "calibration", {"PER": [1.0]}, "'calibration' is"),
        ("longtail_token_ner", "warmup", True, "'warmup' is True"),
        ("longtail_sentence_gate", "auto_labels", ["A", "A"], "'auto_labels' names A more than once"),
        ("longtail_sentence_gate", "threshold", "low", "'threshold' is 'low'"),
        ("longtail_sentence_gate", "rare_labels", ..., "lacks 'rare_labels'"),
        ("longtail_posterior_gate", "rare_labels", ["NAT", "NAT"], "names NAT more than once"),
        ("longtail_posterior_gate", "start", [0.5, "a"], "'start' is"),
        ("longtail_gated_ner", "merge", "vote", "'merge' is 'vote'"),
        ("longtail_gated_ner", "types", [1], "'types' is"),
        ("longtail_gated_pipe", "label_map", ["A"], "'label_map' is"),
        ("longtail_gated_pipe", "batch_size", 1.5, "'batch_size' is 1.5"),
        ("longtail_mrc_ner", "queries", ..., "lacks 'queries'"),
        ("longtail_mrc_ner", "queries", {"PER": 1}, "'queries' is"),
        ("longtail_gazetteer", "names", {"PER": []}, "'names' is"),
        ("longtail_ensemble_ner", "members", [], "'members' is"),
        ("longtail_ensemble_ner", "members", {"b": {"types": []}}, "its members are b, in the config a"),
        ("longtail_ensemble_ner", "types", ["PER"], "PER, which the member a was not trained on"),
        ("longtail_ner", "include", ["PER", "SHIP"], "'include' names SHIP"),
        ("longtail_ner", "thresholds", {"SHIP": 0.5}, "'thresholds' names SHIP"),
        ("longtail_ner", "thresholds", {"PER": 7.0}, "'thresholds' is {'PER': 7.0}"),
        ("longtail_token_ner", "include", ["PER", "SHIP"], "'include' names SHIP"),
        ("longtail_token_ner", "descriptions", {"SHIP": "ship"}, "'descriptions' names SHIP"),
        ("longtail_token_ner", "unseen", ["SHIP"], "'unseen' names SHIP"),
        ("longtail_token_ner", "thresholds", {"PER": 7.0}, "'thresholds' is {'PER': 7.0}"),
        ("longtail_token_ner", "thresholds", {"SHIP": 0.5}, "'thresholds' names SHIP"),
        ("longtail_mrc_ner", "thresholds", {"PER": 7.0}, "'thresholds' is {'PER': 7.0}"),
        ("longtail_mrc_ner", "thresholds", {"SHIP": 0.5}, "'thresholds' names SHIP"),
        ("longtail_sentence_gate", "threshold", 7.0, "'threshold' is 7.0"),
        ("longtail_posterior_gate", "threshold", -1.0, "'threshold' is -1.0"),
        ("longtail_posterior_gate", "budget", 7.0, "'budget' is 7.0"),
    ],
)
def test_a_changed_value_is_refused_with_the_path_of_its_file(factory, key, value, problem, tmp_path):
    path = saved(factory, tmp_path, **{key: value})
    with pytest.raises(ValueError, match="L814") as refused:
        spacy.load(tmp_path)
    assert str(path) in str(refused.value) and problem in str(refused.value)


@pytest.mark.parametrize("head", ["softmax", "sigmoid", "crf", "two_task"])
@pytest.mark.parametrize("types", [["GEO", "PER", "ART", "NAT", "SHIP"], ["GEO", "PER", "ART"], []])
def test_types_that_the_saved_weights_do_not_fit_are_refused_by_name(head, types, tmp_path):
    nlp, _ = trained_once(one_pipe, 1, factory="longtail_token_ner", model=TOKEN_MODEL, head=head)
    path = save_changed(nlp, tmp_path, types=types)

    with pytest.raises(ValueError, match=r"L814.*outputs? with.*but the saved weights have") as refused:
        spacy.load(tmp_path)
    assert str(path) in str(refused.value)
    assert f"'types' has {', '.join(types) or 'no type'}," in str(refused.value)


def test_a_secondary_pipe_checks_the_types_of_its_saved_labels(tmp_path):
    block = {"factory": "test_secondary", "covers": ["Fram"]}
    nlp = one_pipe("longtail_gated_pipe", pipe=block)
    save_changed(nlp, tmp_path, labels=["PER"], label_map={"A": "SHIP"})
    with pytest.raises(ValueError, match=r"L285.*'SHIP'"):
        spacy.load(tmp_path)


@pytest.mark.parametrize("factory", PIPES)
@pytest.mark.parametrize(("text", "problem"), [("[]", "no JSON object"), ("{", "cannot be read")])
def test_a_file_that_is_no_json_object_is_refused(factory, text, problem, tmp_path):
    path = saved(factory, tmp_path)
    path.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=f"L814.*{problem}"):
        spacy.load(tmp_path)


def test_serialized_values_are_checked_as_well():
    nlp = one_pipe("longtail_token_ner", **PRIMARY)
    train(nlp, 1)
    nlp.get_pipe("ner").cfg["scheme"] = "IOBES"
    data = nlp.to_bytes()
    again = one_pipe("longtail_token_ner", **PRIMARY)
    again.initialize(lambda: examples(again))
    with pytest.raises(ValueError, match=r"L814.*its serialized cfg"):
        again.from_bytes(data)
    assert again.get_pipe("ner").cfg["scheme"] == "BIO"
