"""The heads against plain loops: training, what they say of each token, decoding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ragged
from thinc.util import to_categorical

from spacy_longtail.chains.packing import Transitions
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS, Gold, Trained
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses import AUCMargin, CompositionalAUC, CrossEntropy, TwoTaskCrossEntropy
from spacy_longtail.losses.chain import chain_loss
from spacy_longtail.types import SoftTargets, TwoTaskState

LABELS = ("X", "Y", "Z")
LENGTHS = np.array([3, 0, 1, 4])
N = 8


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(row):
    e = [math.exp(x - max(row)) for x in row]
    return [x / sum(e) for x in e]


def two_task(labels=LABELS, loss=None):
    return HEADS["two_task"](TagCodec(labels, "BIO"), loss or AUCMargin())


def drawn(seed, columns, scale=2.0):
    rng = np.random.default_rng(seed)
    outside = (rng.random(N) < 0.2).astype("float64")
    return rng.normal(size=(N, columns)) * scale, outside


def test_the_two_tasks_have_outputs_for_types_where_there_are_several():
    for labels, types in (("A", []), ("AB", ["type A", "type B"])):
        outputs = two_task(list(labels)).outputs
        assert outputs[:2] == ["entity", "begin"]
        assert [name for name in outputs if name.startswith("type ")] == types


two_task_cases = given(seed=st.integers(0, 10**6), labels=st.sampled_from([LABELS, LABELS[:1]]))


@two_task_cases
def test_marginals_of_two_tasks_are_products(seed, labels):
    head = two_task(labels)
    data, outside = drawn(seed, len(head.outputs))
    found = head.marginals(Ragged(data, LENGTHS), LENGTHS, outside)
    for row, shut, own in zip(data, outside, found, strict=True):
        entity = 0.0 if shut else sigmoid(row[0])
        begins = sigmoid(row[1])
        typed = softmax(row[2:]) if len(labels) > 1 else [1.0]
        wanted = [1 - entity]
        for p in typed:
            wanted += [entity * begins * p, entity * (1 - begins) * p]
        assert own == pytest.approx(wanted, abs=1e-9)


def plain_decoding(data, outside):
    """Tags as letters, sentence by sentence."""
    tags, at = [], 0
    for length in LENGTHS:
        is_open = False
        for row, shut in zip(data[at : at + length], outside[at : at + length], strict=True):
            entity = row[0] > 0 and not shut
            tags.append("O" if not entity else "I" if is_open and row[1] <= 0 else "B")
            is_open = entity
        at += length
    return tags


@two_task_cases
def test_two_tasks_decode_as_a_plain_loop(seed, labels):
    head = two_task(labels)
    data, outside = drawn(seed, len(head.outputs))
    found = head.decode(Ragged(data, LENGTHS), LENGTHS, outside, True)
    tags = plain_decoding(data, outside)
    starts = [i for i, tag in enumerate(tags) if tag == "B"]
    for i, (tag, column) in enumerate(zip(tags, found.tags, strict=True)):
        assert head.codec.tags[column][0] == tag
        if tag == "O":
            continue
        start = max(s for s in starts if s <= i)
        end = next((j for j in range(start + 1, N) if tags[j] != "I"), N)
        p = sigmoid(data[i, 0])
        if len(labels) > 1:
            log_p = [np.log(softmax(data[j, 2:])) for j in range(start, end)]
            label = int(np.argmax(np.sum(log_p, axis=0)))
            assert head.codec.tags[column][2:] == labels[label]
            p *= softmax(data[i, 2:])[label]
        assert found.p[i] == pytest.approx(p, abs=1e-9)
    assert (head.decode(Ragged(data, LENGTHS), LENGTHS, outside, False).tags == found.tags).all()


def test_a_score_of_zero_is_o_and_begins_nothing():
    head = two_task()
    data = np.zeros((N, len(head.outputs)))
    assert not head.decode(Ragged(data, LENGTHS), LENGTHS, np.zeros(N), True).tags.any()
    data[:, 0] = 1.0  # entities, all of the first type
    tags = head.decode(Ragged(data, LENGTHS), LENGTHS, np.zeros(N), True).tags
    firsts = np.cumsum(LENGTHS) - LENGTHS
    assert {head.codec.tags[t][0] for t in np.delete(tags, firsts[LENGTHS > 0])} == {"I"}


def gold(seed, codec, soft=None, allowed=None):
    rng = np.random.default_rng(seed)
    mask = (rng.random(N) < 0.8).astype("float64")
    return Gold(rng.integers(0, len(codec), N), mask, LENGTHS, allowed, soft)


@pytest.mark.parametrize("tag_head", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_two_tasks_train_on_boundaries_and_on_the_types_of_entity_tokens(seed, tag_head):
    loss = TwoTaskCrossEntropy() if not tag_head else CompositionalAUC()
    head = two_task(loss=loss)
    data, _ = drawn(seed, len(head.outputs))
    own = gold(seed, head.codec)
    trained = head.train(Ragged(data, LENGTHS), own, loss, TwoTaskState())
    tags = [head.codec.tags[t] for t in own.tags]
    target = np.array([[tag != "O", tag[0] == "B"] for tag in tags], dtype="float32")
    if tag_head:
        target = np.concatenate([target, to_categorical(own.tags, len(head.codec))], axis=1)
    result, state = loss(data[:, : target.shape[1]], target, own.mask, TwoTaskState())
    value, slope = 0.0, np.zeros((N, len(LABELS)))
    entity = [i for i, tag in enumerate(tags) if tag != "O" and own.mask[i]]
    for i in entity:
        p, label = softmax(data[i, -3:]), LABELS.index(tags[i][2:])
        value -= math.log(p[label]) / len(entity)
        slope[i] = (np.array(p) - np.eye(3)[label]) / len(entity)
    assert trained.loss == pytest.approx(result.loss + value)
    assert trained.d_scores.dataXd[:, : target.shape[1]] == pytest.approx(result.d_logits)
    assert trained.d_scores.dataXd[:, -3:] == pytest.approx(slope)
    assert trained.state == state


def lattice(head, data, seed=0):
    """As the model of a head gives it."""
    scores = Ragged(data, LENGTHS)
    if head.name != "crf":
        return scores
    rng, k = np.random.default_rng(seed), data.shape[1]
    return Lattice(scores, Transitions(rng.normal(size=k), rng.normal(size=(k, k)), rng.normal(size=k)))


@pytest.mark.parametrize("seed", range(5))
def test_a_softmax_trains_on_the_tags_that_a_document_can_have(seed):
    head = HEADS["softmax"](TagCodec(LABELS, "BIO"), CrossEntropy())
    data, _ = drawn(seed, len(head.codec))
    own = gold(seed, head.codec)
    allowed = (np.random.default_rng(seed).random((N, len(head.codec))) < 0.5).astype("float64")
    allowed[np.arange(N), own.tags] = 1.0
    trained = head.train(lattice(head, data), own._replace(allowed=allowed), head.loss, TwoTaskState())
    value = 0.0
    for row, tag, can, known in zip(data, own.tags, allowed, own.mask, strict=True):
        columns = np.flatnonzero(can).tolist()
        if known:
            value -= math.log(softmax(row[columns])[columns.index(tag)]) / own.mask.sum()
    assert trained.loss == pytest.approx(value)
    assert not trained.d_scores.dataXd[allowed == 0].any()
    assert trained.d_scores.dataXd[(allowed > 0) & (own.mask > 0)[:, None]].any()


def test_a_crf_trains_on_the_tags_that_a_document_can_have():
    """Those of one type, as if there were no other."""
    head = HEADS["crf"](TagCodec(LABELS, "BIO"), CrossEntropy())
    data, _ = drawn(1, len(head.codec))
    tags = np.array([1, 2, 0, 0, 1, 2, 2, 1])
    allowed = np.zeros((N, len(head.codec)))
    allowed[:, :3] = 1.0
    own = Gold(tags, np.ones(N), LENGTHS, allowed)
    scores = lattice(head, data)
    trained = head.train(scores, own, head.loss, TwoTaskState())
    t = scores.transitions.plus(head.legality)
    part = Transitions(t.start[:3], t.trans[:3, :3], t.end[:3])
    alone = chain_loss(head.loss, data[:, :3], np.eye(3)[tags], own.mask, LENGTHS, part)
    assert trained.loss == pytest.approx(alone.loss)
    assert trained.d_scores.logits.dataXd[:, :3] == pytest.approx(alone.d_scores)
    assert not trained.d_scores.logits.dataXd[:, 3:].any()


def test_tokens_that_a_teacher_has_read_are_trained_on():
    codec = TagCodec(LABELS, "BIO")
    own = gold(0, codec)._replace(mask=np.array([1.0, 1, 0, 0, 0, 1, 0, 0]))
    assert own.n_trained == 3
    soft = SoftTargets(np.zeros((N, len(codec))), np.array([1.0, 0, 1, 1, 0, 0, 0, 0]))
    assert own._replace(soft=soft).n_trained == 5


@pytest.mark.parametrize("name", ["softmax", "sigmoid", "crf"])
def test_decoded_is_what_is_not_shut(name):
    codec = TagCodec(LABELS, "BIO")
    head, plain = HEADS[name](codec, CrossEntropy()), HEADS[name](codec, CrossEntropy())
    data, outside = drawn(3, len(codec))
    moved = data.copy()
    moved[outside > 0, 1:] = -np.inf
    assert outside.any()
    found = head.decode(lattice(head, data), LENGTHS, outside, True)
    wanted = plain.decode(lattice(plain, moved), LENGTHS, np.zeros(N), True)
    assert (found.tags == wanted.tags).all() and found.p == pytest.approx(wanted.p)
    p = head.marginals(lattice(head, data), LENGTHS, outside)
    assert p == pytest.approx(plain.marginals(lattice(plain, moved), LENGTHS, np.zeros(N)))
    assert p[np.arange(N), found.tags] == pytest.approx(found.p)
    if name != "sigmoid":
        assert p.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("name", ["softmax", "sigmoid", "crf", "two_task"])
def test_gradients_are_scaled_and_looked_at_whole(name):
    head = HEADS[name](TagCodec(LABELS, "BIO"), HEADS[name].default_loss())
    data, _ = drawn(5, len(head.outputs))
    scores = lattice(head, data)
    trained = Trained(1.0, scores, TwoTaskState())
    value, half = trained.summed(0.5)
    assert value == 0.5 and head.logits(half).dataXd == pytest.approx(data / 2)
    parts = [head.logits(scores).dataXd]
    if name == "crf":
        pairs = zip(half.transitions, scores.transitions, strict=True)
        assert all(a == pytest.approx(b / 2) for a, b in pairs)
        parts.extend(scores.transitions)
    for part in parts:
        was, part.flat[-1] = part.flat[-1], np.inf
        assert np.isnan(trained.summed(1.0)[0])
        part.flat[-1] = was


@pytest.mark.parametrize("name", ["softmax", "crf"])
def test_no_probability_is_above_one(name):
    """Rounding took sums over long, sure sequences above it, and `evaluate` refused the score."""
    codec = TagCodec(LABELS, "BIO")
    head, n = HEADS[name](codec, CrossEntropy()), 2000
    logits = np.random.default_rng(0).normal(size=(n, len(codec))) * 20
    scores, lengths, outside = Ragged(logits, np.array([n])), np.array([n]), np.zeros(n)
    if name == "crf":
        k = len(codec)
        scores = Lattice(scores, Transitions(np.zeros(k), np.zeros((k, k)), np.zeros(k)))
    assert head.marginals(scores, lengths, outside).max() <= 1
    assert head.decode(scores, lengths, outside, True).p.max() <= 1
