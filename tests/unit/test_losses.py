"""One contract for every registered loss, then each loss against its definition and torch."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import registry

from spacy_longtail.losses import (
    AUCMargin,
    CompositionalAUC,
    CrossEntropy,
    Dice,
    EffectiveNumber,
    Focal,
    InverseFrequency,
    LabelWeights,
    LogInverseFrequency,
    MoM,
    OneVersusRestFocal,
    TwoTaskCrossEntropy,
)
from spacy_longtail.losses.binary import binary_loss
from spacy_longtail.losses.token import TagLoss
from spacy_longtail.losses.two_task import TwoTaskLoss
from spacy_longtail.numerics import gold_rows
from spacy_longtail.types import LossResult, TwoTaskState

WEIGHTS = np.array([0.3, 2.0, 5.0])
FIXED = LabelWeights({"x": 1.0})
STATE = TwoTaskState((0.7, 0.5), (0.2, 0.1), (0.4, 0.6))
SETTINGS = {
    "longtail.CrossEntropy.v1": [{}, {"weights": FIXED}],
    "longtail.Focal.v1": [{}, {"gamma": 0.0}, {"gamma": 0.5}, {"gamma": 5.0, "weights": FIXED}],
    "longtail.OneVersusRestFocal.v1": [{}, {"gamma": 0.0}, {"gamma": 1.5}, {"terms": "positive"}],
    "longtail.Dice.v1": [
        {},
        {"smooth": 0.1},
        {"alpha": 1.0, "power": 1},
        {"alpha": 0.01, "power": 1},
        {"alpha": 0.6},
        {"terms": "gold"},
        {"terms": "gold", "alpha": 1.0, "power": 1},
        {"terms": "gold", "alpha": 0.01},
        {"terms": "gold", "alpha": 0.5},
        {"level": "set"},
        {"level": "set", "alpha": 0.05, "smooth": 0.3, "power": 1},
    ],
    "longtail.MoM.v1": [
        {},
        {"lam": 1.0},
        {"lam": 0.3, "base": Focal(1.5, FIXED)},
        {"lam": 0.3, "base": Dice()},
        {"lam": 0.3, "base": Dice(level="set")},
        {"lam": 0.3, "base": OneVersusRestFocal()},
        {"normalizer": "sentence", "o_normalizer": "o_tokens"},
        {"normalizer": "fixed", "o_normalizer": "sentence", "fixed_length": 7},
    ],
    "longtail.Distillation.v1": [
        {},
        {"share": 0.0, "temperature": 1.0},
        {"base": Focal(1.5, FIXED)},
        {"base": Dice()},
        {"base": MoM(normalizer="sentence", o_normalizer="o_tokens")},
    ],
    "longtail.AUCMargin.v1": [
        {},
        {"begin_weight": 1.0, "activation": "none"},
        {"begin_weight": 2.0, "form": "running", "margin": 0.5},
    ],
    "longtail.CompositionalAUC.v1": [{}, {"auc": AUCMargin(begin_weight=1.0, form="running")}],
    "longtail.TwoTaskCrossEntropy.v1": [{}, {"begin_weight": 3.0}],
}
NAMES = sorted(n for n in registry.losses.get_all() if n.startswith("longtail."))
ALL = [(name, settings) for name in NAMES for settings in SETTINGS.get(name, [{}])]
logit = st.floats(-30, 30, width=32)


class TwoTask:
    """A two-task loss on the matrix that the contract hands out: columns are heads, gold tags are O, B, I."""

    def __init__(self, loss, n_updates):
        self.loss, self.preset, self.normalizers = loss, None, ()
        self.state = STATE._replace(n_updates=n_updates)

    def __call__(self, z, gold, mask, lengths=None):
        tags = gold.argmax(1)
        targets = np.stack([tags > 0, tags == 1], axis=1).astype(z.dtype)
        if self.loss.tag_head:  # the third column stands for a tag head of one tag too many
            z = np.concatenate([z[:, :2], z], axis=1)
            targets = np.concatenate([targets, gold], axis=1)
        else:
            z = z[:, :2]
        result, _ = self.loss(z, targets, mask, self.state)
        d = np.zeros((len(z), 3), dtype=z.dtype)
        d[:, :2] = result.d_logits[:, :2]
        if self.loss.tag_head:
            d += result.d_logits[:, 2:]
        return result._replace(d_logits=d)


class OfSet:
    """A loss of a set on the matrix that the contract hands out: every logit is a yes or no of its own."""

    def __init__(self, loss):
        self.loss, self.preset, self.heads = loss, None, loss.heads

    def __call__(self, z, gold, mask, lengths=None):
        yes, n_tags = (gold > 0).ravel(), z.shape[1]
        result = binary_loss(self.loss, z.ravel(), yes, mask.repeat(n_tags))
        return LossResult(result.loss, result.d_logits.reshape(z.shape))


def build(name, settings, n_updates=0):
    loss = registry.losses.get(name)(**settings)
    if isinstance(loss, TagLoss) and loss.level == "set":
        return OfSet(loss)
    if isinstance(loss, TwoTaskLoss):
        return TwoTask(loss, n_updates)
    return loss if loss.preset is None else loss.bind(WEIGHTS / WEIGHTS.sum())


def alternations(cases):
    """Each case, and losses that alternate once for each of their sides."""
    for name, settings in cases:
        yield name, settings, 0
        if name == "longtail.CompositionalAUC.v1":
            yield name, settings, 1


CASES = list(alternations(ALL))
TOKEN_CASES = [(n, s) for n, s in ALL if not isinstance(build(n, s), TwoTask)]


def test_every_published_loss_has_settings():
    assert sorted(SETTINGS) == NAMES


def test_losses_have_what_their_heads_promise():
    for name, settings in ALL:
        loss = registry.losses.get(name)(**settings)
        kinds = (isinstance(loss, TagLoss), isinstance(loss, TwoTaskLoss))
        assert kinds == ((False, True) if loss.heads == ("two_task",) else (True, False))
        if loss.heads == ("two_task",):
            assert loss.activation in ("sigmoid", "none") and loss.tag_head in (True, False)
            assert loss.preset is None and not loss.log_likelihood
            continue
        if loss.preset is not None:
            loss = loss.bind(WEIGHTS / WEIGHTS.sum())
        row = np.log([0.5]), np.zeros(1), 1.0
        if {"crf", "transition"} & set(loss.heads):
            assert all(len(values) == 1 for values in loss.of_gold(*row))
            assert np.ndim(loss.weight(np.eye(3))) in (0, 1)
        answers = np.zeros(2), np.array([0.0, 1.0])
        if "binary" in loss.heads:
            rows = loss.binary_rows(*answers) if loss.level == "token" else None
            assert rows is None or len(rows.f) == len(rows.d_rows) == 2
            assert loss.level == "token" or len(loss.of_set(*answers, np.ones(2)).d_logits) == 2
    only = OneVersusRestFocal()
    for call in (lambda: only.of_gold(*row), lambda: only.weight(np.eye(3))):
        with pytest.raises(NotImplementedError):
            call()
    for call in (lambda: only.binary_rows(*answers), lambda: only.of_set(*answers, np.ones(2))):
        with pytest.raises(NotImplementedError):
            call()


def batch(rows, seed, partial=False):
    rng, z = np.random.default_rng(seed), np.array(rows, dtype="float64")
    gold = np.eye(3)[rng.integers(0, 3, len(z))]
    if partial:
        gold = np.maximum(gold, np.eye(3)[rng.integers(0, 3, len(z))])
    mask = np.ones(len(z)) if len(z) < 3 else np.r_[0.0, np.ones(len(z) - 1)]
    n = len(z) // 2
    return z, gold, mask, np.array([n, len(z) - n]) if n else np.array([len(z)])


@pytest.mark.parametrize(("name", "settings", "n_updates"), CASES)
@given(
    rows=st.lists(st.tuples(logit, logit, logit), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
    partial=st.booleans(),
)
def test_gradient_is_the_slope(name, settings, n_updates, rows, seed, partial):
    loss = build(name, settings, n_updates)
    # class weights of several acceptable tags are held constant, so one gold tag there
    # (docs/methods.md, "Class weights")
    z, gold, mask, lengths = batch(rows, seed, partial and loss.preset is None)
    if (gold > 0).sum() > len(gold):  # a token is O or not by q, a step function of the logits
        q = gold_rows(z, gold).q[:, 0]
        if ((q > 0.49) & (q < 0.51)).any():
            return
    step = np.random.default_rng(seed).normal(size=z.shape)
    up, down = (loss(z + s * step, gold, mask, lengths) for s in (1e-6, -1e-6))
    exact = (loss(z, gold, mask, lengths).d_logits * step).sum()
    assert (up.loss - down.loss) / 2e-6 == pytest.approx(exact, abs=2e-5, rel=1e-4)


@pytest.mark.parametrize(("name", "settings", "n_updates"), CASES)
@given(rows=st.lists(st.tuples(logit, logit, logit), min_size=3, max_size=5), seed=st.integers(0, 99))
def test_float32_agrees_with_float64(name, settings, n_updates, rows, seed):
    loss = build(name, settings, n_updates)
    z, gold, mask, lengths = batch(rows, seed)
    a, b = loss(z, gold, mask, lengths), loss(z.astype("float32"), gold, mask.astype("float32"), lengths)
    assert b.loss == pytest.approx(a.loss, rel=1e-3, abs=1e-4)
    assert b.d_logits == pytest.approx(a.d_logits, rel=1e-2, abs=1e-4)
    assert b.d_logits.dtype == np.float32


@pytest.mark.parametrize(("name", "settings", "n_updates"), CASES)
def test_masked_tokens_are_free_and_inputs_unchanged(name, settings, n_updates):
    loss = build(name, settings, n_updates)
    z, gold = np.array([[2.0, -1.0, 0.0], [0.5, 0.5, 1.0], [-3.0, 0.0, 0.0]]), np.eye(3)
    before = z.copy(), gold.copy()
    nothing = loss(z, gold, np.zeros(3))
    assert nothing.loss == 0.0 and not nothing.d_logits.any()
    mask = np.array([1.0, 0.0, 1.0])
    one = loss(z, gold, mask, np.array([3]))
    assert not one.d_logits[1].any() and one.d_logits[2].any()
    z[1] = 30.0
    again = loss(z, gold, mask, np.array([3]))
    assert again.loss == one.loss
    z[1] = before[0][1]
    assert np.array_equal(z, before[0]) and np.array_equal(gold, before[1]) and mask[1] == 0


@pytest.mark.parametrize(("name", "settings", "n_updates"), CASES)
def test_the_order_of_tokens_within_a_sentence_does_not_matter(name, settings, n_updates):
    loss, rng = build(name, settings, n_updates), np.random.default_rng(1)
    z, gold, mask = rng.normal(size=(6, 3)), np.eye(3)[rng.integers(0, 3, 6)], np.ones(6)
    order = rng.permutation(6)
    a, b = loss(z, gold, mask), loss(z[order], gold[order], mask)
    assert a.loss == pytest.approx(b.loss)
    assert a.d_logits[order] == pytest.approx(b.d_logits)


@pytest.mark.parametrize("tag", [0, 1])  # O is another case to some
@pytest.mark.parametrize(("name", "settings"), TOKEN_CASES)
def test_of_gold_is_the_loss_of_one_token(name, settings, tag):
    loss = build(name, settings)
    if "transition" not in loss.heads:
        return
    z, gold = np.array([[1.0, 0.0, -1.0]]), np.eye(3)[[tag]]
    rows = gold_rows(z, gold)
    f, u = loss.of_gold(rows.log_x, rows.q[:, 0], loss.weight(rows.q))
    whole = loss(z, gold, np.ones(1))
    assert whole.loss == pytest.approx(f[0])
    assert whole.d_logits == pytest.approx(u[:, None] * rows.d_rows)


Z, GOLD, ONE = np.array([[1.0, 0.0, -1.0]]), np.array([[0.0, 1.0, 0.0]]), np.ones(1)


def test_worked_example():
    ce, focal = CrossEntropy()(Z, GOLD, ONE), Focal(2.0)(Z, GOLD, ONE)
    assert ce.loss == pytest.approx(1.4076, abs=1e-4)
    assert ce.d_logits[0] == pytest.approx([0.6652, -0.7553, 0.0900], abs=1e-4)
    assert focal.loss == pytest.approx(0.8029, abs=1e-4)
    assert focal.d_logits[0] == pytest.approx(1.0908 * ce.d_logits[0], abs=1e-4)
    assert OneVersusRestFocal(2.0)(Z, GOLD, ONE).loss == pytest.approx(0.8978, abs=1e-4)
    dice = Dice()(Z, GOLD, ONE)
    assert dice.loss == pytest.approx(0.5917, abs=1e-4)
    assert dice.d_logits[0] == pytest.approx([0.2619, -0.2557, -0.0062], abs=1e-4)
    adjusting = Dice(1.0, 1.0, 1)(Z, GOLD, ONE)
    assert adjusting.loss == pytest.approx(0.6310, abs=1e-4)
    assert adjusting.d_logits[0] == pytest.approx([-0.0389, -0.0388, 0.0777], abs=1e-4)


def test_dice_gold_is_the_gold_term_of_dice_all():
    """Over all tags, the terms of the wrong ones are what is left."""
    p = np.exp(Z[0]) / np.exp(Z[0]).sum()
    wrong = sum(1 - 1 / (x**2 + 1) for x in p[[0, 2]])
    assert Dice()(Z, GOLD, ONE).loss - Dice(terms="gold")(Z, GOLD, ONE).loss == pytest.approx(wrong)


def test_several_acceptable_tags_are_left_out_where_they_cannot_be_judged():
    gold = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    z = np.array([[3.0, -1.0, 0.0], Z[0]])
    for loss in (Dice(), OneVersusRestFocal(), MoM(Dice(), 0.3), MoM(OneVersusRestFocal(), 0.3)):
        both, one = loss(z, gold, np.ones(2)), loss(Z, GOLD, ONE)
        assert both.loss == pytest.approx(one.loss)
        assert not both.d_logits[0].any()


P = np.exp(Z[0]) / np.exp(Z[0]).sum()


def test_the_weight_of_several_acceptable_tags_is_their_mean_by_probability():
    gold = np.array([[1.0, 0.0, 1.0]])
    x = P[0] + P[2]
    w = (P[0] * WEIGHTS[0] + P[2] * WEIGHTS[2]) / x
    assert CrossEntropy(FIXED).bind(WEIGHTS)(Z, gold, ONE).loss == pytest.approx(-w * np.log(x))
    focal = Focal(1.5, FIXED).bind(WEIGHTS)(Z, gold, ONE)
    assert focal.loss == pytest.approx(-w * (1 - x) ** 1.5 * np.log(x))


BASES = [
    CrossEntropy(),
    Focal(1.5),
    Dice(),
    Dice(terms="gold"),
    OneVersusRestFocal(),
]


@pytest.mark.parametrize("base", BASES, ids=str)
def test_mom_weighs_o_1_and_entities_lam(base):
    for tag, factor in ((0, 1.0), (1, 0.3), (2, 0.3)):
        gold = np.eye(3)[[tag]]
        own, plain = MoM(base, 0.3)(Z, gold, ONE), base(Z, gold, ONE)
        assert own.loss == pytest.approx(factor * plain.loss)
        assert own.d_logits == pytest.approx(factor * plain.d_logits)


@pytest.mark.parametrize("base", [CrossEntropy(), Focal(1.5), Dice(terms="gold")], ids=str)
def test_several_acceptable_tags_are_o_where_o_is_most_of_them(base):
    gold = np.array([[1.0, 0.0, 1.0]])
    for z, factor in ((0.9, 1.0), (1.1, 0.3)):
        logits = np.array([[1.0, 0.5, z]])
        own, plain = MoM(base, 0.3)(logits, gold, ONE), base(logits, gold, ONE)
        assert own.loss == pytest.approx(factor * plain.loss)


def test_unweighted_losses_against_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    z, ids = rng.normal(size=(9, 3)) * 4, rng.integers(0, 3, 9)
    t = torch.tensor(z, requires_grad=True)
    y = torch.nn.functional.one_hot(torch.tensor(ids), 3).double()
    p, s = torch.softmax(t, 1), torch.sigmoid(t)

    def dice(p, alpha, g, r):
        x = (1 - p) ** alpha * p
        return (1 - (2 * x * y + g) / (x**r + y + g)).sum(1).mean()

    focal = -y * (1 - s) ** 1.5 * torch.log(s) - (1 - y) * s**1.5 * torch.log(1 - s)
    for ours, theirs in (
        (Dice(), dice(p, 0.0, 1.0, 2)),
        (Dice(0.01, 0.5, 1), dice(p, 0.01, 0.5, 1)),
        (OneVersusRestFocal(1.5), focal.sum(1).mean()),
    ):
        t.grad = None
        theirs.backward(retain_graph=True)
        result = ours(z, np.eye(3)[ids], np.ones(9))
        assert result.loss == pytest.approx(theirs.item())
        assert result.d_logits == pytest.approx(t.grad.numpy())


def auc(h, target, **settings):
    """One head: raw scores, the begin head without a positive."""
    loss = AUCMargin(activation="none", **settings)
    scores = np.stack([h, h], axis=1)
    targets = np.stack([target, np.zeros(len(h))], axis=1)
    result, _ = loss(scores, targets, np.ones(len(h)), TwoTaskState())
    assert not result.d_logits[:, 1].any()
    return result.loss, result.d_logits[:, 0]


def test_the_auc_margin_by_the_worked_example():
    h, target = np.array([0.9, 0.6, 0.5, 0.2, 0.2, 0.1]), np.array([1.0, 1, 0, 0, 0, 0])
    loss, d = auc(h, target)
    assert loss == pytest.approx(0.295)
    assert d == pytest.approx([-0.35, -0.65, 0.375, 0.225, 0.225, 0.175])


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
def test_the_auc_margin_is_the_mean_over_pairs_of_the_squared_shortfall(seed, n):
    rng = np.random.default_rng(seed)
    h, target = rng.random(n) * 0.4, (rng.random(n) < 0.5).astype(float)
    if 0 < target.sum() < n:  # and the margin is never met: the mean distance stays below 1
        pairs = [(1 - a + b) ** 2 for a in h[target > 0] for b in h[target == 0]]
        assert auc(h, target)[0] == pytest.approx(np.mean(pairs))


def test_the_auc_margin_is_a_setting():
    h, target = np.array([0.9, 0.6, 0.5, 0.2, 0.2, 0.1]), np.array([1.0, 1, 0, 0, 0, 0])
    # variances 0.0225 each, means 0.75 and 0.25: the shortfall is what the margin has over 0.5
    for margin, shortfall in ((2.0, 1.5), (0.7, 0.2), (0.4, 0.0)):
        assert auc(h, target, margin=margin)[0] == pytest.approx(0.045 + shortfall**2)
    scores, targets = np.array([[2.0, 2.0], [0.5, 0.5]]), np.array([[1.0, 1], [0, 0]])
    loss = AUCMargin("running", "none", margin=3.0)
    _, state = loss(scores, targets, np.ones(2), TwoTaskState())
    assert state.alpha == pytest.approx((0.54, 0.54))  # 0.1 * 2 * (3 + 0.1 - 0.4)


def test_two_task_losses_are_of_unmasked_tokens_alone():
    rng = np.random.default_rng(5)
    scores, targets = rng.normal(size=(8, 2)), (rng.random((8, 2)) < 0.5).astype(float)
    targets[:4] = [[1, 1], [1, 0], [0, 0], [0, 1]]
    mask = np.array([1.0, 1, 1, 1, 0, 0, 1, 0])
    kept = mask > 0
    for loss in (AUCMargin(), AUCMargin("running"), TwoTaskCrossEntropy()):
        (whole, state), (alone, same) = (
            loss(scores, targets, mask, STATE),
            loss(scores[kept], targets[kept], np.ones(5), STATE),
        )
        assert whole.loss == pytest.approx(alone.loss)
        assert whole.d_logits[kept] == pytest.approx(alone.d_logits)
        assert state == same and not whole.d_logits[~kept].any()


def test_a_met_margin_costs_the_variances_alone():
    loss, d = auc(np.array([3.0, 5.0, 0.0]), np.array([1.0, 1, 0]))
    assert loss == pytest.approx(1.0)
    assert d == pytest.approx([-1.0, 1.0, 0.0])


def test_running_duals_follow_the_class_means():
    loss = AUCMargin("running", "none", begin_weight=1.0)
    scores, targets = np.array([[2.0, 2.0], [0.5, 0.5]]), np.array([[1.0, 1], [0, 0]])
    _, state = loss(scores, targets, np.ones(2), TwoTaskState())
    assert state.a == pytest.approx((0.4, 0.4)) and state.b == pytest.approx((0.1, 0.1))
    assert state.alpha == pytest.approx((0.14, 0.14))  # 0.1 * 2 * (1 + 0.1 - 0.4)
    for _ in range(200):
        _, state = loss(scores, targets, np.ones(2), state)
    assert state.a == pytest.approx((2.0, 2.0)) and state.b == pytest.approx((0.5, 0.5))
    assert state.alpha == pytest.approx((0.0, 0.0), abs=1e-6)  # the margin is met
    none = np.zeros((2, 2))
    result, after = loss(scores, none, np.ones(2), state)
    assert result.loss == 0.0 and not result.d_logits.any() and after == state


def test_begin_weight_scales_the_begin_head():
    scores = np.random.default_rng(0).normal(size=(6, 2))
    targets = np.array([[1.0, 1], [1, 0], [0, 0], [0, 0], [1, 1], [0, 0]])
    for make in (AUCMargin, TwoTaskCrossEntropy):
        one, _ = make(begin_weight=1.0)(scores, targets, np.ones(6), STATE)
        ten, _ = make(begin_weight=10.0)(scores, targets, np.ones(6), STATE)
        assert ten.d_logits[:, 1] == pytest.approx(10 * one.d_logits[:, 1])
        assert ten.d_logits[:, 0] == pytest.approx(one.d_logits[:, 0])


def test_compositional_auc_alternates_and_its_duals_move_with_the_auc():
    loss = CompositionalAUC(AUCMargin("running"))
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(5, 5)), np.zeros((5, 5))
    targets[:, 2], targets[0] = 1, [1, 1, 0, 1, 0]
    even, state = loss(scores, targets, np.ones(5), TwoTaskState())
    assert state == TwoTaskState() and not even.d_logits[:, :2].any()
    expected = CrossEntropy()(scores[:, 2:], targets[:, 2:], np.ones(5))
    assert even.loss == expected.loss and np.array_equal(even.d_logits[:, 2:], expected.d_logits)
    odd, state = loss(scores, targets, np.ones(5), TwoTaskState(n_updates=1))
    assert state.a != (0.0, 0.0) and not odd.d_logits[:, 2:].any() and odd.d_logits[:, :2].any()
    for n in range(6):
        found, _ = loss(scores, targets, np.ones(5), TwoTaskState(n_updates=n))
        assert found.d_logits[:, :2].any() == (n % 2 == 1)
    with pytest.raises(ValueError, match="L002"):
        CompositionalAUC(CrossEntropy())


def test_effective_numbers_lie_between_equal_and_inverse_frequency():
    assert set(EffectiveNumber(0.0).resolve(COUNTS).values()) == {1.0}
    near, inverse = EffectiveNumber(1 - 1e-9).resolve(COUNTS), InverseFrequency().resolve(COUNTS)
    assert near == pytest.approx(inverse, rel=1e-4)
    raw = EffectiveNumber(0.9, scale="raw").resolve({"a": 2, "b": 1})
    assert raw == pytest.approx({"a": 0.1 / (1 - 0.81), "b": 1.0})


def test_a_class_that_was_not_known_weighs_one():
    for preset in (InverseFrequency(), LogInverseFrequency(), EffectiveNumber(), LabelWeights({})):
        assert preset.default(preset.resolve(COUNTS)) == 1.0


def test_weighted_losses_against_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    z = rng.normal(size=(9, 3)) * 4
    ids = rng.integers(0, 3, 9)
    t = torch.tensor(z, requires_grad=True)
    log_p = torch.log_softmax(t, 1)[torch.arange(9), torch.tensor(ids)]
    w = torch.tensor(WEIGHTS)[torch.tensor(ids)]
    for ours, theirs in (
        (CrossEntropy(FIXED), -(w * log_p).mean()),
        (Focal(1.7, FIXED), -(w * (1 - log_p.exp()) ** 1.7 * log_p).mean()),
        (
            MoM(Focal(1.7, FIXED), 0.3),
            (
                -(w * (1 - log_p.exp()) ** 1.7 * log_p) * torch.where(torch.tensor(ids) == 0, 1.0, 0.3)
            ).mean(),
        ),
    ):
        t.grad = None
        theirs.backward(retain_graph=True)
        result = ours.bind(WEIGHTS)(z, np.eye(3)[ids], np.ones(9))
        assert result.loss == pytest.approx(theirs.item())
        assert result.d_logits == pytest.approx(t.grad.numpy())


@given(
    rows=st.lists(st.tuples(logit, logit, logit), min_size=2, max_size=6),
    lam=st.floats(0.01, 1),
    seed=st.integers(0, 99),
)
def test_mom_of_cross_entropy_is_a_weighted_cross_entropy(rows, lam, seed):
    z, gold, mask, lengths = batch(rows, seed)
    for normalizer in ("tokens", "sentence"):
        mom = MoM(None, lam, normalizer, normalizer)(z, gold, mask, lengths)
        base = MoM(CrossEntropy(FIXED), 1.0, normalizer, normalizer).bind(np.array([1.0, lam, lam]))
        weighted = base(z, gold, mask, lengths)
        assert mom.loss == pytest.approx(weighted.loss)
        assert mom.d_logits == pytest.approx(weighted.d_logits)


def test_mom_normalisers_by_hand():
    z = np.zeros((5, 3))  # every token loses log 3
    gold = np.eye(3)[[0, 1, 1, 0, 0]]
    mask, lengths = np.array([1.0, 1, 1, 1, 0]), np.array([3, 2])
    n = math.log(3)

    def value(first, second, **kwargs):
        return MoM(None, 0.25, first, second, **kwargs)(z, gold, mask, lengths).loss / n

    assert value("tokens", "tokens") == pytest.approx(0.25 + 0.75 * 2 / 4)
    assert value("sentence", "tokens") == pytest.approx(0.25 + 0.75 * 2 / 4)
    assert value("sentence", "sentence") == pytest.approx(0.25 + 0.75 * (1 / 3 + 1) / 2)
    assert value("sentence", "o_tokens") == pytest.approx(0.25 + 0.75 * (1 + 1) / 2)
    assert value("fixed", "fixed", fixed_length=10) == pytest.approx(0.25 * 4 / 20 + 0.75 * 2 / 20)


def test_sentences_without_annotation_take_no_part_in_the_mean_over_sentences():
    z, gold = np.random.default_rng(0).normal(size=(9, 3)), np.eye(3)[[0, 1, 1, 0, 2, 0, 1, 1, 0]]
    mask, lengths = np.array([0.0, 0, 1, 1, 1, 0, 1, 0, 0]), np.array([2, 3, 0, 2, 2])
    kept = slice(2, 7)
    for first, second in (
        ("sentence", "sentence"),
        ("sentence", "o_tokens"),
        ("fixed", "fixed"),
        ("tokens", "fixed"),
    ):
        settings = {"fixed_length": 7} if "fixed" in (first, second) else {}
        loss = MoM(None, 0.25, first, second, **settings)
        whole = loss(z, gold, mask, lengths)
        alone = loss(z[kept], gold[kept], mask[kept], np.array([3, 2]))
        assert whole.loss == pytest.approx(alone.loss)
        assert whole.d_logits[kept] == pytest.approx(alone.d_logits)
    n = math.log(3)  # every token loses it
    same = MoM(None, 0.25, "sentence", "o_tokens")(np.zeros((9, 3)), gold, mask, lengths)
    assert same.loss / n == pytest.approx(0.25 + 0.75 * (1 + 0) / 2)  # the second has no O that counts
    fixed = MoM(None, 0.25, "fixed", "fixed", fixed_length=7)(np.zeros((9, 3)), gold, mask, lengths)
    assert fixed.loss / n == pytest.approx((0.25 * 4 + 0.75 * 1) / 14)


def test_lengths_must_add_up():
    with pytest.raises(ValueError, match="L009"):
        MoM(normalizer="sentence")(np.zeros((3, 3)), np.eye(3), np.ones(3), np.array([2]))


def test_weights_must_be_resolved():
    with pytest.raises(ValueError, match="L008"):
        CrossEntropy(FIXED)(Z, GOLD, ONE)


COUNTS = {"O": 900, "a": 60, "b": 30, "c": 10}


def test_weight_presets_by_the_published_example():
    values = list(InverseFrequency().resolve(COUNTS).values())
    assert values == pytest.approx([0.2778, 4.167, 8.333, 25], abs=1e-3)
    raw = list(LogInverseFrequency(5, scale="raw").resolve(COUNTS).values())
    assert raw == pytest.approx([0.7085, 1.3153, 1.5721, 2.0170], abs=1e-4)
    assert InverseFrequency(scale="raw").resolve(COUNTS)["c"] == pytest.approx(100)
    assert np.mean(
        list(InverseFrequency(scale="class_mean_one").resolve(COUNTS).values())
    ) == pytest.approx(1)
    scaled = LogInverseFrequency(3).resolve(COUNTS)
    assert sum(COUNTS[c] * w for c, w in scaled.items()) == pytest.approx(sum(COUNTS.values()))


@pytest.mark.parametrize("scale", ["mean_one", "class_mean_one", "raw"])
@pytest.mark.parametrize("preset", [InverseFrequency, LogInverseFrequency, EffectiveNumber])
def test_unseen_classes_weigh_one_and_do_not_scale(preset, scale):
    found = preset(scale=scale).resolve({"y": 0, **COUNTS, "z": 0})
    assert found.pop("y") == found.pop("z") == 1.0
    assert found == pytest.approx(preset(scale=scale).resolve(COUNTS))
    if scale == "class_mean_one":
        assert sum(found.values()) == pytest.approx(len(COUNTS))
    assert set(preset(scale=scale).resolve({"a": 0, "b": 0}).values()) == {1.0}


def test_explicit_weights():
    assert LabelWeights({"a": 0.0, "b": 0.5}).resolve(COUNTS) == {"O": 1.0, "a": 0.0, "b": 0.5, "c": 1.0}
    assert LabelWeights({"a": 3}).resolve(COUNTS) == {"O": 1.0, "a": 3.0, "b": 1.0, "c": 1.0}
    with pytest.raises(ValueError, match=r"L005.*zz"):
        LabelWeights({"zz": 2.0}).resolve(COUNTS)


def test_a_negative_log_weight_is_refused_with_the_least_beta():
    with pytest.raises(ValueError, match=r"L006.*beta >= 0\.8889"):
        LogInverseFrequency(0.5).resolve(COUNTS)
    assert LogInverseFrequency(0.8889, scale="raw").resolve(COUNTS)["O"] >= 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Focal(-1.0),
        lambda: Focal(float("inf")),
        lambda: Focal("nan"),
        lambda: Focal(True),
        lambda: MoM(lam=-0.1),
        lambda: MoM(lam=1.1),
        lambda: MoM(normalizer="fixed"),
        lambda: MoM(fixed_length=5),
        lambda: LabelWeights({"a": -1.0}),
        lambda: LogInverseFrequency("x"),
        lambda: EffectiveNumber(1.0),
        lambda: EffectiveNumber(-0.1),
        lambda: Dice(smooth=0.0),
        lambda: Dice(alpha=-1.0),
        lambda: Dice(power=3),
        lambda: OneVersusRestFocal(-1.0),
        lambda: AUCMargin(margin=0.0),
        lambda: AUCMargin(dual_lr="x"),
        lambda: TwoTaskCrossEntropy(0.0),
        lambda: Dice(terms="gld"),
        lambda: OneVersusRestFocal(terms="all"),
        lambda: AUCMargin(form="stateles"),
        lambda: AUCMargin(activation="tanh"),
        lambda: AUCMargin("running", dual_lr=0.6),
        lambda: AUCMargin(dual_lr=0.2),
        lambda: InverseFrequency(unit="tags"),
        lambda: EffectiveNumber(scale="mean"),
        lambda: CrossEntropy(Focal()),
        lambda: Focal(2.0, "inverse"),
        lambda: MoM(normalizer="token"),
        lambda: MoM(normalizer="fixed", fixed_length="x"),
    ],
)
def test_bad_settings(make):
    with pytest.raises(ValueError, match="L001"):
        make()


def test_mom_wraps_losses_on_tokens_only():
    for base in (MoM(), AUCMargin(), lambda *a: None):
        with pytest.raises(ValueError, match="L002"):
            MoM(base)


def test_the_gold_term_of_dice_stays_small_on_confident_tokens():
    """1 - p has no digits left there; a power of it would blow rounding up."""
    z = np.array([[18.0, 0, 0], [90.0, 0, 0], [1000.0, 0, 0]], dtype="float32")
    gold, n = np.eye(3, dtype="float32")[[0, 0, 0]], np.ones(3, dtype="float32")
    for alpha in (0.01, 0.05, 0.5):
        loss = Dice(alpha, terms="gold")
        assert np.abs(loss(z, gold, n).d_logits).max() < 0.1
        _, u = loss.of_gold(gold_rows(z, gold).log_x, np.ones(3), 1.0)
        assert np.abs(u).max() * 1e-7 < 0.1


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_the_gold_term_of_dice_is_adjusted_no_further_than_1_minus_p_is_known(alpha):
    """log p is off by up to 1e-7, and with it 1 - p: below that the self-adjustment stays as it is."""

    def by_definition(x, rest):
        adjusted = rest**alpha * x
        return 1 - (2 * adjusted + 1) / (adjusted**2 + 2)

    loss = Dice(alpha, terms="gold")
    rest = np.array([1e-3, 1e-5, 2e-7, 5e-8, 1e-10, 0.0])
    log_x, ones = np.log1p(-rest), np.ones(6)
    f, u = loss.of_gold(log_x, ones, 1.0)
    assert f == pytest.approx(by_definition(1 - rest, np.maximum(rest, 1e-7)), abs=1e-12)
    # the slope of that, by the complex step: u = -x f'(x), without the floor's own slope
    step = 1e-30j
    moved = np.where(rest > 1e-7, rest - step, 1e-7)
    slope = by_definition(1 - rest + step, moved).imag / 1e-30
    assert u == pytest.approx(-(1 - rest) * slope, rel=1e-9)
    assert np.abs(u[3:]).max() < 1  # and no power of what is not known
    assert np.abs(u[2]) > 1e3 * alpha


def test_dice_that_pushes_right_answers_back_warns():
    with pytest.warns(UserWarning, match=r"LW005.*0\.62"):
        Dice(alpha=0.6)
    with pytest.warns(UserWarning, match="LW005"):
        Dice(alpha=0.051)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Dice(alpha=0.05)


def test_mom_without_entities_warns():
    with pytest.warns(UserWarning, match="LW001"):
        MoM(lam=0)


def test_numbers_that_arrive_as_text_are_numbers():
    assert Focal("2").gamma == 2.0 and MoM(lam="0.5").lam == 0.5
