"""`decision_offsets`: a bias on the log odds of a type in prediction, for every head."""

import numpy as np
import pytest
import spacy

from spacy_longtail.heads.outputs import output_of
from spacy_longtail.pipes.token_settings import check_offsets
from tests.pipes.test_token_ner import build, every_head, read, trained
from tests.util import HEADS, SENTENCES, examples, found, parse, words

TAGS = [name for name, own in HEADS.items() if own.get("head") != "two_task"]


def copied(settings):
    """A trained pipeline of one's own, and its pipe."""
    nlp, _ = trained(settings)
    nlp = type(nlp).from_config(nlp.config).from_bytes(nlp.to_bytes())
    return nlp, nlp.get_pipe("ner")


@every_head
def test_offsets_of_zero_change_nothing(settings):
    nlp, pipe = copied(settings)
    before = read(nlp), pipe.marginals([words(nlp, s) for s in SENTENCES])
    pipe.cfg["decision_offsets"] = dict.fromkeys(pipe.labels, 0.0)
    after = read(nlp), pipe.marginals([words(nlp, s) for s in SENTENCES])
    assert before[0][0] == after[0][0]
    assert np.array_equal(before[1], after[1])
    assert all(np.array_equal(a, b) for a, b in zip(before[0][1], after[0][1], strict=True))


@every_head
def test_large_ones_open_and_close_a_type(settings):
    nlp, pipe = copied(settings)
    text = "Maria sailed to Oslo on the Fram ."
    label = pipe.labels[0]
    pipe.cfg["decision_offsets"] = {label: 80.0}
    doc = nlp(words(nlp, text))
    assert {t for _, _, t in found(doc)} == {label}
    assert sum(end - start for start, end, _ in found(doc)) == len(doc)
    pipe.cfg["decision_offsets"] = {label: -80.0}
    ents = [ent for text in SENTENCES for ent in found(nlp(words(nlp, text)))]
    gold = {t for text in SENTENCES for _, _, t in found(parse(nlp, text))}
    rest = gold - {label} if len(pipe.labels) > 1 else set()
    assert {t for _, _, t in ents} == rest


@pytest.mark.parametrize("name", TAGS)
def test_they_are_a_bias_of_the_output_layer(name):
    nlp, pipe = copied(HEADS[name])
    docs = [words(nlp, s) for s in SENTENCES]
    offsets = {label: 1.5 - i for i, label in enumerate(pipe.labels[:3])}
    pipe.cfg["decision_offsets"] = offsets
    own, scores = pipe.marginals(docs), read(nlp)
    pipe.cfg["decision_offsets"] = None
    bias = output_of(pipe.model).get_param("b")
    bias += np.array([offsets.get(tag[2:], 0.0) for tag in pipe.codec.tags], dtype="float32")
    np.testing.assert_allclose(own, pipe.marginals(docs), atol=1e-5)
    again = read(nlp)
    assert scores[0] == again[0]
    for a, b in zip(scores[1], again[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("name", ["two_task", "two_task-typeless"])
def test_two_tasks_are_moved_as_one_distribution_over_types_and_outside(name):
    nlp, pipe = copied(HEADS[name])
    docs = [words(nlp, s) for s in SENTENCES]
    p = pipe.marginals(docs)
    offsets = {label: 0.7 - 0.4 * i for i, label in enumerate(pipe.labels)}
    pipe.cfg["decision_offsets"] = offsets
    moved = pipe.marginals(docs)
    by_type = np.array([offsets.get(tag[2:], 0.0) for tag in pipe.codec.tags])
    wanted = p * np.exp(by_type)
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved, wanted, atol=1e-5)


def test_a_softmax_is_the_adjusted_posterior():
    nlp, pipe = copied({})
    docs = [words(nlp, s) for s in SENTENCES]
    p = pipe.marginals(docs)
    pipe.cfg["decision_offsets"] = {"PER": 2.0, "NAT": -1.0}
    factor = np.exp([{"PER": 2.0, "NAT": -1.0}.get(tag[2:], 0.0) for tag in pipe.codec.tags])
    wanted = p * factor / (p * factor).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pipe.marginals(docs), wanted, atol=1e-6)


@pytest.mark.parametrize("way", ["bytes", "disk", "config"])
def test_they_are_part_of_the_pipe(way, tmp_path):
    offsets = {"PER": -80.0}
    nlp, pipe = copied({})
    pipe.cfg["decision_offsets"] = offsets
    if way == "bytes":
        other = build().from_bytes(nlp.to_bytes())
    elif way == "disk":
        nlp.to_disk(tmp_path / "model")
        other = spacy.load(tmp_path / "model")
    else:
        other = build(decision_offsets=offsets)
        other.initialize(lambda: examples(other))
    assert other.get_pipe("ner").cfg["decision_offsets"] == offsets
    assert "PER" not in {t for s in SENTENCES for _, _, t in found(other(words(other, s)))}


def test_models_from_before_have_none():
    nlp, pipe = copied({})
    del pipe.cfg["decision_offsets"]
    other = build().from_bytes(nlp.to_bytes())
    assert other.get_pipe("ner").cfg["decision_offsets"] is None
    assert other("Maria").text


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_offsets_that_are_no_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"L001.*decision_offsets\.PER"):
        check_offsets({"PER": value})


def test_offsets_of_a_type_that_the_data_lacks_are_refused():
    nlp = build(decision_offsets={"XYZ": 1.0})
    with pytest.raises(ValueError, match=r"L203.*decision_offsets"):
        nlp.initialize(lambda: examples(nlp))
