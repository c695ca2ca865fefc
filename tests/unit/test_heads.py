"""The heads against plain loops: training, what they say of each token, decoding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ragged

from spacy_longtail.chains.packing import Transitions
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS, Gold, Trained
from spacy_longtail.heads.base import UNLIKELY
from spacy_longtail.heads.crf import likelihood_loss
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses import (
    AUCMargin,
    CompositionalAUC,
    CrossEntropy,
    Focal,
    LabelWeights,
    MoM,
    OneVersusRestFocal,
    TwoTaskCrossEntropy,
)
from spacy_longtail.losses.base import TwoTaskGold
from spacy_longtail.pipes.base import check_finite
from spacy_longtail.types import TwoTaskState

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


def test_a_type_that_was_alone_keeps_its_probability_when_another_is_added():
    alone, both = two_task(("X",)), two_task(("X", "Y"))
    assert both.initial_biases(alone.outputs) == [0.0, 0.0, 0.0, UNLIKELY]
    assert alone.initial_biases([]) == [0.0, 0.0]


@pytest.mark.parametrize("name", ["softmax", "crf", "sigmoid"])
def test_documents_without_tokens_may_come_last(name):
    head, logits = HEADS[name](TagCodec(("X",), "BIO"), CrossEntropy()), np.array([[0.0, 5.0, 0.0]] * 2)
    lengths = np.array([2, 0])
    decoded = head.decode(lattice(head, logits, lengths, scale=0.0), lengths, np.zeros(2), True)
    assert decoded.tags.tolist() == [1, 1] and len(decoded.p) == 2


@pytest.mark.parametrize("name", ["softmax", "crf", "sigmoid"])
def test_without_scores_every_p_is_1(name):
    head, logits = HEADS[name](TagCodec(("X",), "BIO"), CrossEntropy()), np.array([[0.0, 1.0, 0.0]] * 2)
    lengths = np.array([2])
    decoded = head.decode(lattice(head, logits, lengths, scale=0.0), lengths, np.zeros(2), False)
    assert decoded.tags.tolist() == [1, 1] and decoded.p.tolist() == [1.0, 1.0]


def test_a_type_that_is_added_to_two_is_as_likely_as_any():
    two, three = two_task(("X", "Y")), two_task(("X", "Y", "Z"))
    assert three.initial_biases(two.outputs) == [0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("labels", "outputs"),
    [("A", ["entity", "begin"]), ("AB", ["entity", "begin", "type A", "type B"])],
)
def test_the_two_tasks_have_outputs_for_types_where_there_are_several(labels, outputs):
    assert two_task(list(labels)).outputs == outputs


two_task_cases = given(seed=st.integers(0, 10**6), labels=st.sampled_from([LABELS, LABELS[:1]]))


@two_task_cases
def test_marginals_of_two_tasks_are_products(seed, labels):
    head = two_task(labels)
    data, outside = drawn(seed, len(head.outputs))
    found = head.marginals(Ragged(data, LENGTHS), LENGTHS, outside)
    for row, is_outside, own in zip(data, outside, found, strict=True):
        entity = 0.0 if is_outside else sigmoid(row[0])
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
        for row, is_outside in zip(data[at : at + length], outside[at : at + length], strict=True):
            entity = row[0] > 0 and not is_outside
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


def drawn_gold(seed, codec):
    rng = np.random.default_rng(seed)
    mask = (rng.random(N) < 0.8).astype("float64")
    return Gold(rng.integers(0, len(codec), N), mask, LENGTHS)


def lattice(head, data, lengths=LENGTHS, scale=1.0):
    """Return scores as the model of a head gives them; a CRF has random transitions of a scale."""
    scores = Ragged(data, lengths)
    if head.name != "crf":
        return scores
    rng, k = np.random.default_rng(0), data.shape[1]
    return Lattice(scores, Transitions(*(scale * rng.normal(size=shape) for shape in (k, (k, k), k))))


# Training: two tasks


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", [TwoTaskCrossEntropy(), CompositionalAUC()], ids=str)
def test_two_tasks_train_on_boundaries_and_on_the_types_of_entity_tokens(seed, loss):
    head = two_task(loss=loss)
    data, _ = drawn(seed, len(head.outputs))
    gold = drawn_gold(seed, head.codec)

    trained = head.train(Ragged(data, LENGTHS), gold, TwoTaskState())

    tags = [head.codec.tags[t] for t in gold.tags]
    entity = np.array([tag != "O" for tag in tags], dtype="float32")
    begin = np.array([tag[0] == "B" for tag in tags], dtype="float32")
    answers = TwoTaskGold(entity, begin, gold.tags)
    boundaries = loss(data[:, :-3], answers, gold.mask, TwoTaskState())
    value, slope = 0.0, np.zeros((N, 3))
    trained_tokens = np.flatnonzero(entity * gold.mask)
    for i in trained_tokens:
        p, label = softmax(data[i, -3:]), LABELS.index(tags[i][2:])
        value -= math.log(p[label]) / len(trained_tokens)
        slope[i] = (np.array(p) - np.eye(3)[label]) / len(trained_tokens)
    n_tokens = gold.mask.sum()
    assert trained.loss == pytest.approx(n_tokens * (boundaries.loss + value))
    assert trained.d_scores.dataXd[:, :-3] == pytest.approx(n_tokens * boundaries.d_scores)
    assert trained.d_scores.dataXd[:, -3:] == pytest.approx(n_tokens * slope)
    assert trained.state == boundaries.state


# Training: tags

TAGS = np.array([0, 1, 2, 0, 3, 4, 0, 1])  # O, B-X, I-X, O, B-Y, I-Y, O, B-X
ALL = np.ones(N)
DATA, _ = drawn(1, 7)  # logits of the seven tags of three types
PER_CLASS = np.array([0.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
WEIGHTED = CrossEntropy(LabelWeights({"X": 2.0}))
ROW_HEADS = {"softmax": Focal(1.5), "sigmoid": OneVersusRestFocal(1.5), "crf": Focal(1.5)}
every_tag_head = pytest.mark.parametrize(("name", "loss"), ROW_HEADS.items())


def train(name, loss, gold, data=DATA, class_values=None):
    head = HEADS[name](TagCodec(LABELS, "BIO"), loss, class_values)
    trained = head.train(lattice(head, data), gold, TwoTaskState())
    return trained.loss, head.logits(trained.d_scores).dataXd


@every_tag_head
def test_the_gradient_of_a_head_is_the_slope_of_its_loss(name, loss):
    gold = Gold(TAGS, np.array([1.0, 1, 0, 1, 1, 1, 0, 1]), LENGTHS)
    step = np.random.default_rng(2).normal(size=DATA.shape)

    above, _ = train(name, loss, gold, DATA + 1e-6 * step)
    below, _ = train(name, loss, gold, DATA - 1e-6 * step)
    _, gradient = train(name, loss, gold)

    assert (above - below) / 2e-6 == pytest.approx((gradient * step).sum(), rel=1e-4)


def test_the_loss_of_a_softmax_is_the_sum_over_tokens():
    loss, _ = train("softmax", CrossEntropy(), Gold(TAGS, ALL, LENGTHS))

    expected = -sum(math.log(softmax(row)[tag]) for row, tag in zip(DATA, TAGS, strict=True))
    assert loss == pytest.approx(expected)


def test_the_loss_of_sigmoids_is_the_sum_over_tokens_and_tags():
    loss, _ = train("sigmoid", CrossEntropy(), Gold(TAGS, ALL, LENGTHS))

    signs = np.where(np.arange(7) == TAGS[:, None], 1, -1)
    assert loss == pytest.approx(-sum(math.log(sigmoid(z)) for z in (signs * DATA).ravel()))


@pytest.mark.parametrize("name", ["softmax", "sigmoid"])
def test_tokens_without_annotation_are_free(name):
    mask = np.array([1.0, 0, 1, 1, 1, 1, 1, 1])
    moved = DATA.copy()
    moved[1] = 9.0

    loss, gradient = train(name, ROW_HEADS[name], Gold(TAGS, mask, LENGTHS))
    moved_loss, _ = train(name, ROW_HEADS[name], Gold(TAGS, mask, LENGTHS), moved)

    assert not gradient[1].any() and gradient[2].any()
    assert moved_loss == loss


@pytest.mark.parametrize("name", HEADS)
def test_a_batch_without_annotation_has_no_loss_and_no_gradient(name):
    head = HEADS[name](TagCodec(LABELS, "BIO"), HEADS[name].default_loss())
    data, _ = drawn(1, len(head.outputs))

    trained = head.train(lattice(head, data), Gold(TAGS, 0 * ALL, LENGTHS), TwoTaskState())

    assert trained.loss == 0.0
    assert not head.logits(trained.d_scores).dataXd.any()


@every_tag_head
def test_mom_weighs_tokens_of_entities_by_lambda(name, loss):
    outside, inside = Gold(TAGS, 1.0 * (TAGS == 0), LENGTHS), Gold(TAGS, 1.0 * (TAGS > 0), LENGTHS)

    loss_o, gradient_o = train(name, loss, outside)
    loss_e, gradient_e = train(name, loss, inside)
    mom, gradient = train(name, MoM(loss, 0.3), Gold(TAGS, ALL, LENGTHS))

    assert mom == pytest.approx(loss_o + 0.3 * loss_e)
    assert gradient == pytest.approx(gradient_o + 0.3 * gradient_e)


@every_tag_head
def test_class_weights_weigh_tokens_by_their_gold_tag(name, loss):
    weighted = Focal(1.5, LabelWeights({"X": 2.0}))
    plain = Focal(1.5)

    total, gradient = train(name, weighted, Gold(TAGS, ALL, LENGTHS), class_values=PER_CLASS)

    parts = [train(name, plain, Gold(TAGS, 1.0 * (tag == TAGS), LENGTHS)) for tag in np.unique(TAGS)]
    values = PER_CLASS[np.unique(TAGS)]
    assert total == pytest.approx(sum(w * part for w, (part, _) in zip(values, parts, strict=True)))
    expected = sum(w * part for w, (_, part) in zip(values, parts, strict=True))
    assert gradient == pytest.approx(expected)


@pytest.mark.parametrize("name", ["softmax", "crf"])
def test_class_weights_have_to_be_resolved_before_training(name):
    with pytest.raises(ValueError, match="L870"):
        train(name, WEIGHTED, Gold(TAGS, ALL, LENGTHS))


@pytest.mark.parametrize("seed", range(5))
def test_a_softmax_trains_on_the_tags_that_a_document_can_have(seed):
    data, _ = drawn(seed, 7)
    gold = drawn_gold(seed, TagCodec(LABELS, "BIO"))
    allowed = (np.random.default_rng(seed).random((N, 7)) < 0.5).astype("float64")
    allowed[np.arange(N), gold.tags] = 1.0

    loss, gradient = train("softmax", CrossEntropy(), gold._replace(allowed=allowed), data)

    expected = 0.0
    for row, tag, can, known in zip(data, gold.tags, allowed, gold.mask, strict=True):
        columns = np.flatnonzero(can).tolist()
        if known:
            expected -= math.log(softmax(row[columns])[columns.index(tag)])
    assert loss == pytest.approx(expected)
    assert not gradient[allowed == 0].any()
    assert gradient[(allowed > 0) & (gold.mask > 0)[:, None]].any()


def test_a_crf_trains_on_the_tags_that_a_document_can_have():
    """The result is that of a CRF with these tags alone."""
    head = HEADS["crf"](TagCodec(LABELS, "BIO"), CrossEntropy())
    tags = np.array([1, 2, 0, 0, 1, 2, 2, 1])
    allowed = np.zeros((N, 7))
    allowed[:, :3] = 1.0
    scores = lattice(head, DATA)

    trained = head.train(scores, Gold(tags, ALL, LENGTHS, allowed), TwoTaskState())

    t = scores.transitions.plus(head.legality)
    part = Transitions(t.start[:3], t.trans[:3, :3], t.end[:3])
    alone = likelihood_loss(DATA[:, :3], tags, ALL, LENGTHS, part)
    assert trained.loss == pytest.approx(alone.loss)
    assert trained.d_scores.logits.dataXd[:, :3] == pytest.approx(alone.d_scores)
    assert not trained.d_scores.logits.dataXd[:, 3:].any()


def test_a_crf_trains_on_transitions():
    head = HEADS["crf"](TagCodec(LABELS, "BIO"), CrossEntropy())

    trained = head.train(lattice(head, DATA), Gold(TAGS, ALL, LENGTHS), TwoTaskState())

    assert all(np.abs(d).max() > 0 for d in trained.d_scores.transitions)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", HEADS)
def test_a_gradient_that_overflows_is_seen(name, bad):
    head = HEADS[name](TagCodec(LABELS, "BIO"), HEADS[name].default_loss())
    data, _ = drawn(5, len(head.outputs))
    scores = lattice(head, data)
    check_finite("ner", 5, *Trained(1.0, scores, TwoTaskState()).numbers)

    data[-1, -1] = bad

    for trained in (Trained(1.0, scores, None), Trained(bad, lattice(head, np.zeros_like(data)), None)):
        with pytest.raises(ValueError, match="L007"):
            check_finite("ner", 5, *trained.numbers)


@pytest.mark.parametrize("part", Transitions._fields)
def test_a_gradient_that_overflows_in_the_transitions_is_seen(part):
    head = HEADS["crf"](TagCodec(LABELS, "BIO"), CrossEntropy())
    scores = lattice(head, drawn(5, 7)[0])

    getattr(scores.transitions, part).flat[-1] = np.inf

    with pytest.raises(ValueError, match="L007"):
        check_finite("ner", 5, *Trained(1.0, scores, TwoTaskState()).numbers)


# Decoding


@pytest.mark.parametrize("name", ["softmax", "sigmoid", "crf"])
def test_masked_tags_are_not_decoded(name):
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
    ends = np.cumsum(LENGTHS)
    sentences = [slice(a, b) for a, b in zip(ends - LENGTHS, ends, strict=True) if b > a]
    p_of_tags = p[np.arange(N), found.tags]
    for own in sentences:  # without an entity nothing is scored
        wanted_p = p_of_tags[own] if found.tags[own].any() else np.ones(own.stop - own.start)
        assert found.p[own] == pytest.approx(wanted_p)
    if name != "sigmoid":
        assert p.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("name", ["softmax", "crf"])
def test_no_probability_is_above_one(name):
    """Rounding took sums over long, sure sequences above it, and `evaluate` refused the score."""
    codec = TagCodec(LABELS, "BIO")
    head, n = HEADS[name](codec, CrossEntropy()), 2000
    logits = np.random.default_rng(0).normal(size=(n, len(codec))) * 20
    lengths, outside = np.array([n]), np.zeros(n)
    scores = lattice(head, logits, lengths, scale=0.0)
    assert head.marginals(scores, lengths, outside).max() <= 1
    assert head.decode(scores, lengths, outside, True).p.max() <= 1
