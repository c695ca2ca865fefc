"""One contract for every registered loss, then each loss against its definition and torch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.util import registry

from spacy_longtail.losses import (
    AUCMargin,
    CompositionalAUC,
    CrossEntropy,
    Dice,
    Distillation,
    Focal,
    InverseFrequency,
    LabelWeights,
    LogInverseFrequency,
    MoM,
    OneVersusRestFocal,
    TwoTaskCrossEntropy,
)
from spacy_longtail.losses.token import TagLoss
from spacy_longtail.losses.two_task import TwoTaskLoss
from spacy_longtail.types import LossResult, TwoTaskState

WEIGHTS = np.array([0.3, 2.0, 5.0])
FIXED = LabelWeights({"x": 1.0})
STATE = TwoTaskState((0.7, 0.5), (0.2, 0.1), (0.4, 0.6))
LOSSES = [
    *(CrossEntropy(), CrossEntropy(FIXED), Focal(), Focal(0.0), Focal(0.5), Focal(5.0, FIXED)),
    *(OneVersusRestFocal(), OneVersusRestFocal(1.5)),
    *(Dice(), Dice(smooth=0.1), Dice(1.0, 1.0, 1), Dice(0.01, 0.01, 1), Dice(0.6, 0.1)),
    *(Dice(terms="gold"), Dice(1.0, 1.0, 1, "gold")),
    *(MoM(), MoM(lam=1.0), MoM(Focal(1.5, FIXED), 0.3), MoM(Dice(), 0.3)),
    MoM(OneVersusRestFocal(), 0.3),
    *(Distillation(), Distillation(Focal(1.5, FIXED))),
    *(AUCMargin(), AUCMargin("running", 0.5, 2.0)),
    *(CompositionalAUC(), CompositionalAUC(AUCMargin("running", begin_weight=1.0))),
    *(TwoTaskCrossEntropy(), TwoTaskCrossEntropy(3.0)),
]
logit = st.floats(-30, 30, width=32)


class TwoTask:
    """A two-task loss on the contract's matrix: columns are heads, gold tags are O, B, I."""

    preset = None

    def __init__(self, loss, n_updates):
        self.loss, self.state = loss, STATE._replace(n_updates=n_updates)

    def __call__(self, z, gold, mask):
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


class Binary:
    """A loss on the matrix that the contract hands out: every logit is a yes or no of its own."""

    preset = None

    def __init__(self, loss):
        self.loss = loss

    def __call__(self, z, gold, mask):
        yes, n_tags = (gold > 0).ravel(), z.shape[1]
        result = self.loss.binary(z.ravel(), yes, mask.repeat(n_tags))
        return LossResult(result.loss, result.d_logits.reshape(z.shape))


def cases():
    """Each loss as each of its heads calls it."""
    for loss in LOSSES:
        if isinstance(loss, TwoTaskLoss):
            yield from (pytest.param(TwoTask(loss, n), id=f"{loss} {n}") for n in (0, 1))
            continue
        bound = loss if loss.preset is None else loss.bind(WEIGHTS / WEIGHTS.sum())
        yield pytest.param(bound, id=str(loss))
        if "binary" in loss.heads:
            yield pytest.param(Binary(loss), id=f"binary {loss}")


every_case = pytest.mark.parametrize("loss", list(cases()))


def test_every_published_loss_is_among_them_and_has_what_its_heads_promise():
    published = {registry.losses.get(n) for n in registry.losses.get_all() if n.startswith("longtail.")}
    assert {type(loss) for loss in LOSSES} | {MoM} == published
    for loss in LOSSES:
        assert isinstance(loss, TwoTaskLoss if loss.heads == ("two_task",) else (TagLoss, Distillation))
    weighted = [CrossEntropy(FIXED), MoM(CrossEntropy(FIXED)), OneVersusRestFocal(), AUCMargin()]
    assert not any("binary" in loss.heads for loss in weighted)  # no yes or no has a class
    for around in (MoM, Distillation):
        with pytest.raises(ValueError, match="base"):
            around(Distillation())
    assert Distillation(Dice()).heads == ("softmax",) and Distillation(OneVersusRestFocal()).heads == ()


def batch(rows, seed, partial=False):
    rng, z = np.random.default_rng(seed), np.array(rows, dtype="float64")
    gold = np.eye(3)[rng.integers(0, 3, len(z))]
    if partial:
        gold = np.maximum(gold, np.eye(3)[rng.integers(0, 3, len(z))])
    return z, gold, (np.ones(len(z)) if len(z) < 3 else np.r_[0.0, np.ones(len(z) - 1)])


@every_case
@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(logit, logit, logit), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
    partial=st.booleans(),
)
def test_gradient_is_the_slope(loss, rows, seed, partial):
    # weights of several acceptable tags are held constant, so one gold tag there
    # (docs/methods.md, "Class weights")
    is_plain = loss.preset is None and getattr(loss, "lam", 1) == 1
    z, gold, mask = batch(rows, seed, partial and is_plain)
    step = np.random.default_rng(seed).normal(size=z.shape)
    up, down = (loss(z + s * step, gold, mask) for s in (1e-6, -1e-6))
    exact = (loss(z, gold, mask).d_logits * step).sum()
    assert (up.loss - down.loss) / 2e-6 == pytest.approx(exact, abs=2e-5, rel=1e-4)


@every_case
@settings(max_examples=25)
@given(rows=st.lists(st.tuples(logit, logit, logit), min_size=3, max_size=5), seed=st.integers(0, 99))
def test_float32_agrees_with_float64(loss, rows, seed):
    z, gold, mask = batch(rows, seed)
    a, b = loss(z, gold, mask), loss(z.astype("float32"), gold, mask.astype("float32"))
    assert b.loss == pytest.approx(a.loss, rel=1e-3, abs=1e-4) and isinstance(b.loss, float)
    assert b.d_logits == pytest.approx(a.d_logits, rel=1e-2, abs=1e-4)
    assert b.d_logits.dtype == np.float32


@every_case
def test_masked_tokens_are_free_inputs_unchanged_and_confident_logits_finite(loss):
    z, gold = np.array([[2.0, -1.0, 0.0], [0.5, 0.5, 1.0], [-3.0, 0.0, 0.0]]), np.eye(3)
    before = z.copy(), gold.copy()
    nothing = loss(z, gold, np.zeros(3))
    assert nothing.loss == 0.0 and not nothing.d_logits.any()
    mask = np.array([1.0, 0.0, 1.0])
    one = loss(z, gold, mask)
    assert not one.d_logits[1].any() and one.d_logits[2].any()
    z[1] = 30.0
    assert loss(z, gold, mask).loss == one.loss
    z[1] = before[0][1]
    assert np.array_equal(z, before[0]) and np.array_equal(gold, before[1]) and mask[1] == 0
    order = np.array([2, 0, 1])  # which does not matter
    other = loss(z[order], gold[order], mask[order])
    assert other.loss == pytest.approx(one.loss)
    assert other.d_logits == pytest.approx(one.d_logits[order])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        far = loss(np.array([[80, 0, -80], [-80, 80, 0]], dtype="float32"), gold[:2], np.ones(2))
    assert np.isfinite(far.loss) and np.isfinite(far.d_logits).all()


Z, GOLD, ONE = np.array([[1.0, 0.0, -1.0]]), np.array([[0.0, 1.0, 0.0]]), np.ones(1)


def test_the_papers_settings_are_the_defaults():
    assert (Focal().gamma, MoM().lam, OneVersusRestFocal().gamma) == (2.0, 0.2, 2.0)
    dice = Dice()
    assert (dice.alpha, dice.smooth, dice.power, dice.terms) == (0.0, 1.0, 2, "all")
    assert "crf" not in dice.heads and "crf" in Dice(terms="gold").heads


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


def test_the_weight_of_several_acceptable_tags_is_their_mean_by_probability():
    gold, p = np.array([[1.0, 0.0, 1.0]]), np.exp(Z[0]) / np.exp(Z[0]).sum()
    x = p[0] + p[2]
    w = (p[0] * WEIGHTS[0] + p[2] * WEIGHTS[2]) / x
    assert CrossEntropy(FIXED).bind(WEIGHTS)(Z, gold, ONE).loss == pytest.approx(-w * np.log(x))
    focal = Focal(1.5, FIXED).bind(WEIGHTS)(Z, gold, ONE)
    assert focal.loss == pytest.approx(-w * (1 - x) ** 1.5 * np.log(x))
    with pytest.raises(ValueError, match="no class weights"):
        CrossEntropy(FIXED)(Z, GOLD, ONE)


@pytest.mark.parametrize("base", [CrossEntropy(), Focal(1.5), Dice(), OneVersusRestFocal()], ids=str)
def test_mom_weighs_o_1_and_entities_lam(base):
    for tag, factor in ((0, 1.0), (1, 0.3), (2, 0.3)):
        gold = np.eye(3)[[tag]]
        own, plain = MoM(base, 0.3)(Z, gold, ONE), base(Z, gold, ONE)
        assert own.loss == pytest.approx(factor * plain.loss)
        assert own.d_logits == pytest.approx(factor * plain.d_logits)


def test_losses_against_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    z, ids = rng.normal(size=(9, 3)) * 4, rng.integers(0, 3, 9)
    t = torch.tensor(z, requires_grad=True)
    y = torch.nn.functional.one_hot(torch.tensor(ids), 3).double()
    p, s = torch.softmax(t, 1), torch.sigmoid(t)
    log_p = torch.log_softmax(t, 1)[torch.arange(9), torch.tensor(ids)]
    w = torch.tensor(WEIGHTS)[torch.tensor(ids)]
    is_o = torch.where(torch.tensor(ids) == 0, 1.0, 0.3)

    def dice(p, alpha, g, r):
        x = (1 - p) ** alpha * p
        return 1 - (2 * x * y + g) / (x**r + y + g)

    one_versus_rest = -y * (1 - s) ** 1.5 * torch.log(s) - (1 - y) * s**1.5 * torch.log(1 - s)
    focal = -w * (1 - log_p.exp()) ** 1.7 * log_p
    for ours, theirs in (
        (Dice(), dice(p, 0.0, 1.0, 2).sum(1).mean()),
        (Dice(0.01, 0.5, 1), dice(p, 0.01, 0.5, 1).sum(1).mean()),
        (Dice(0.01, 0.5, 1, "gold"), (y * dice(p, 0.01, 0.5, 1)).sum(1).mean()),
        (OneVersusRestFocal(1.5), one_versus_rest.sum(1).mean()),
        (CrossEntropy(FIXED).bind(WEIGHTS), -(w * log_p).mean()),
        (Focal(1.7, FIXED).bind(WEIGHTS), focal.mean()),
        (MoM(Focal(1.7, FIXED), 0.3).bind(WEIGHTS), (focal * is_o).mean()),
    ):
        t.grad = None
        theirs.backward(retain_graph=True)
        result = ours(z, np.eye(3)[ids], np.ones(9))
        assert result.loss == pytest.approx(theirs.item())
        assert result.d_logits == pytest.approx(t.grad.numpy())


# Yes or no


def test_values_of_yes_and_no_by_hand():
    z, y = np.array([0.0, np.log(3), -np.log(3)]), np.array([1.0, 0.0, 0.0])  # s = 1/2, 3/4, 1/4

    def value(loss):
        return loss.binary(z, y, np.ones(3)).loss

    assert value(CrossEntropy()) == pytest.approx((np.log(2) + np.log(4) + np.log(4 / 3)) / 3)
    focal = (np.log(2) / 4 + 9 / 16 * np.log(4) + np.log(4 / 3) / 16) / 3
    assert value(Focal(2.0)) == pytest.approx(focal)
    # 1 - (2 X y + g) / (X^2 + y + g), g = 1: yes 1 - 2 / 2.25, no 1 - 1 / 1.5625 and 1 - 1 / 1.0625
    terms = [1 - 2 / 2.25, 1 - 1 / 1.5625, 1 - 1 / 1.0625]
    assert value(Dice()) == pytest.approx(sum(terms) / 3)
    assert value(MoM(Dice(), 0.2)) == pytest.approx((0.2 * terms[0] + terms[1] + terms[2]) / 3)


# Two tasks


def auc(scores, target, state=None, **settings):
    """The entity head on scores, and a begin head without a positive."""
    logits = np.log(scores) - np.log1p(-scores)
    z, targets = np.stack([logits, logits], axis=1), np.stack([target, np.zeros(len(target))], axis=1)
    result, state = AUCMargin(**settings)(z, targets, np.ones(len(z)), state or TwoTaskState())
    assert not result.d_logits[:, 1].any() and state.a[1] == state.b[1] == 0
    return result.loss, result.d_logits[:, 0] / (scores * (1 - scores)), state


H, TARGET = np.array([0.9, 0.6, 0.5, 0.2, 0.2, 0.1]), np.array([1.0, 1, 0, 0, 0, 0])


def test_the_auc_margin_and_its_duals_by_the_worked_example():
    loss, d, _ = auc(H, TARGET)
    assert loss == pytest.approx(0.295)
    assert d == pytest.approx([-0.35, -0.65, 0.375, 0.225, 0.225, 0.175])
    # variances 0.0225 each, means 0.75 and 0.25: the shortfall is what the margin has over 0.5
    for margin, shortfall in ((2.0, 1.5), (0.7, 0.2), (0.4, 0.0)):
        assert auc(H, TARGET, margin=margin)[0] == pytest.approx(0.045 + shortfall**2)
    h, target, state = np.array([0.8, 0.2]), np.array([1.0, 0]), None
    _, _, state = auc(h, target, form="running")
    assert (state.a[0], state.b[0]) == pytest.approx((0.16, 0.04))
    assert state.alpha[0] == pytest.approx(0.176)  # 0.1 * 2 * (1 + 0.04 - 0.16)
    for _ in range(200):
        _, _, state = auc(h, target, state, form="running")
    assert (state.a[0], state.b[0], state.alpha[0]) == pytest.approx((0.8, 0.2, 0.4))
    loss, d, after = auc(h, np.zeros(2), state, form="running")
    assert loss == 0.0 and not d.any() and after == state


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
def test_the_auc_margin_is_the_mean_over_pairs_of_the_squared_shortfall(seed, n):
    rng = np.random.default_rng(seed)
    h, target = 0.01 + rng.random(n) * 0.4, (rng.random(n) < 0.5).astype(float)
    if 0 < target.sum() < n:  # and the margin is never met: the mean distance stays below 1
        pairs = [(1 - a + b) ** 2 for a in h[target > 0] for b in h[target == 0]]
        assert auc(h, target)[0] == pytest.approx(np.mean(pairs))


def test_compositional_auc_alternates_and_begin_weight_scales_the_begin_head():
    scores = np.random.default_rng(0).normal(size=(6, 2))
    targets = np.array([[1.0, 1], [1, 0], [0, 0], [0, 0], [1, 1], [0, 0]])
    for make in (AUCMargin, TwoTaskCrossEntropy):
        one, _ = make(begin_weight=1.0)(scores, targets, np.ones(6), STATE)
        ten, _ = make(begin_weight=10.0)(scores, targets, np.ones(6), STATE)
        assert ten.d_logits == pytest.approx(one.d_logits * [1, 10])
    loss = CompositionalAUC(AUCMargin("running"))
    scores, targets = np.random.default_rng(0).normal(size=(5, 5)), np.zeros((5, 5))
    targets[:, 2], targets[0] = 1, [1, 1, 0, 1, 0]
    even, state = loss(scores, targets, np.ones(5), TwoTaskState())
    assert state == TwoTaskState() and not even.d_logits[:, :2].any()
    expected = CrossEntropy()(scores[:, 2:], targets[:, 2:], np.ones(5))
    assert even.loss == expected.loss and np.array_equal(even.d_logits[:, 2:], expected.d_logits)
    odd, state = loss(scores, targets, np.ones(5), TwoTaskState(n_updates=1))
    assert state.a != (0.0, 0.0) and not odd.d_logits[:, 2:].any() and odd.d_logits[:, :2].any()


# Class weights

COUNTS = {"O": 900, "a": 60, "b": 30, "c": 10}


def test_class_weights_by_hand():
    values = list(InverseFrequency().resolve(COUNTS).values())
    assert values == pytest.approx([0.2778, 4.167, 8.333, 25], abs=1e-3)
    raw = list(LogInverseFrequency(5, scale="raw").resolve(COUNTS).values())
    assert raw == pytest.approx([0.7085, 1.3153, 1.5721, 2.0170], abs=1e-4)
    assert InverseFrequency(scale="raw").resolve(COUNTS)["c"] == pytest.approx(100)
    once = InverseFrequency().resolve({"O": 9, "a": 1})  # sums to the tokens, the rarest among them
    assert once == pytest.approx({"O": 5 / 9, "a": 5.0})
    scaled = LogInverseFrequency(3).resolve(COUNTS)
    assert sum(COUNTS[c] * w for c, w in scaled.items()) == pytest.approx(sum(COUNTS.values()))
    assert LabelWeights({"a": 0.0, "b": 0.5}).resolve(COUNTS) == {"O": 1.0, "a": 0.0, "b": 0.5, "c": 1.0}
    with pytest.raises(ValueError, match=r"L203.*zz"):
        LabelWeights({"zz": 2.0}).resolve(COUNTS)
    with pytest.raises(ValueError, match=r"L001.*0\.8889"):  # else a logarithm is negative
        LogInverseFrequency(0.5).resolve(COUNTS)
    assert LogInverseFrequency(0.8889, scale="raw").resolve(COUNTS)["O"] >= 0


@pytest.mark.parametrize("scale", ["mean_one", "raw"])
@pytest.mark.parametrize("preset", [InverseFrequency, LogInverseFrequency])
def test_unseen_classes_weigh_one_and_do_not_scale(preset, scale):
    found = preset(scale=scale).resolve({"y": 0, **COUNTS, "z": 0})
    assert found.pop("y") == found.pop("z") == 1.0
    assert found == pytest.approx(preset(scale=scale).resolve(COUNTS))
    assert set(preset(scale=scale).resolve({"a": 0, "b": 0}).values()) == {1.0}


REFUSED = [
    *((Focal, {"gamma": value}) for value in (-1.0, float("nan"), float("inf"))),
    (Focal, {"weights": "inverse"}),
    *((MoM, {"lam": value}) for value in (0, 1.1)),
    (MoM, {"base": AUCMargin()}),
    (Distillation, {"temperature": 0.5}),
    (Distillation, {"share": 1.5}),
    *(
        (Dice, setting)
        for setting in ({"smooth": 0.0}, {"alpha": -1.0}, {"power": 3}, {"terms": "some"})
    ),
    *((AUCMargin, setting) for setting in ({"margin": 0.0}, {"form": "stateles"})),
    (CompositionalAUC, {"auc": CrossEntropy()}),
    (LabelWeights, {"weights": {"a": -1.0}}),
    (LogInverseFrequency, {"beta": "x"}),
    (InverseFrequency, {"unit": "tags"}),
]


@pytest.mark.parametrize(("make", "setting"), REFUSED)
def test_bad_settings_are_refused_by_name(make, setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        make(**setting)
    assert Focal("2").gamma == 2.0 and MoM(lam="0.5").lam == 0.5  # as a command line gives them
