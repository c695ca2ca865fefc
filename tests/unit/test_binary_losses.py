"""Losses of one yes or no per token: against finite differences, torch, and two columns of the token loss."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import registry

from spacy_longtail.losses import CrossEntropy, Dice, Focal, LabelWeights, MoM, OneVersusRestFocal
from spacy_longtail.losses.binary import binary_loss

LOSSES = [
    CrossEntropy(),
    Focal(0.0),
    Focal(0.5),
    Focal(3.0),
    Dice(),
    Dice(0.01, 0.01, 1),
    Dice(0.6, 0.1, 2),
    Dice(1.0, 1.0, 1),
    Dice(level="set"),
    Dice(0.05, 0.3, 1, level="set"),
    Dice(1.0, 1.0, 2, level="set"),
    MoM(None, 0.3),
    MoM(None, 1.0),
    MoM(Focal(2.0), 0.4),
    MoM(Dice(), 0.4),
    MoM(Dice(level="set"), 0.4),
    MoM(Dice(0.05, 0.3, 1, level="set"), 0.7),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
logits = st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=6)


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    z = np.array(rows, dtype="float64")
    return z, (rng.random(len(z)) < 0.4).astype(float), (rng.random(len(z)) < 0.8).astype(float)


@every_loss
@given(rows=logits, seed=st.integers(0, 2**31))
def test_the_gradient_is_the_slope(loss, rows, seed):
    z, y, mask = draw(rows, seed)
    step = np.random.default_rng(seed).normal(size=len(z))
    up, down = (binary_loss(loss, z + s * step, y, mask).loss for s in (1e-5, -1e-5))
    exact = (binary_loss(loss, z, y, mask).d_logits * step).sum()
    assert (up - down) / 2e-5 == pytest.approx(exact, abs=2e-5, rel=1e-4)


@every_loss
@given(rows=logits, seed=st.integers(0, 99))
def test_float32_agrees_with_float64(loss, rows, seed):
    z, y, mask = draw(rows, seed)
    a = binary_loss(loss, z, y, mask)
    b = binary_loss(loss, *(x.astype("float32") for x in (z, y, mask)))
    assert b.loss == pytest.approx(a.loss, rel=1e-3, abs=1e-4)
    assert b.d_logits == pytest.approx(a.d_logits, rel=1e-2, abs=1e-4)
    assert b.d_logits.dtype == np.float32 and isinstance(b.loss, float)


@every_loss
def test_masked_tokens_are_free_and_inputs_unchanged(loss):
    z, y, mask = np.array([2.0, -1.0, 0.5, 3.0]), np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
    before = z.copy(), y.copy(), mask.copy()
    own = binary_loss(loss, z, y, mask)
    alone = binary_loss(loss, z[[0, 2]], y[[0, 2]], np.ones(2))
    assert own.loss == pytest.approx(alone.loss)
    assert own.d_logits == pytest.approx([alone.d_logits[0], 0, alone.d_logits[1], 0])
    nothing = binary_loss(loss, z, y, np.zeros(4))
    assert nothing.loss == 0.0 and not nothing.d_logits.any()
    assert all(np.array_equal(a, b) for a, b in zip(before, (z, y, mask)))


@pytest.mark.parametrize(
    "loss", [CrossEntropy(), Focal(1.5), MoM(None, 0.3), MoM(Focal(2.0), 0.6)], ids=str
)
def test_a_loss_of_the_true_answer_is_that_of_two_tags(loss):
    """Logits 0 (no) and z (yes): a softmax over these is a sigmoid of z."""
    rng = np.random.default_rng(0)
    z, y, mask = rng.normal(size=20) * 4, rng.integers(0, 2, 20), np.ones(20)
    two = loss(np.stack([np.zeros(20), z], axis=1), np.eye(2)[y], mask)
    own = binary_loss(loss, z, y.astype(float), mask)
    assert own.loss == pytest.approx(two.loss)
    assert own.d_logits == pytest.approx(two.d_logits[:, 1])


def test_binary_focal_is_that_of_one_versus_rest():
    z, y = np.random.default_rng(1).normal(size=9), np.array([1.0, 0, 0] * 3)
    own = binary_loss(Focal(2.0), z, y, np.ones(9))
    rest = OneVersusRestFocal(2.0).rows(z[:, None], y[:, None])
    assert own.loss == pytest.approx(rest.f.mean())
    assert own.d_logits == pytest.approx(rest.d_rows[:, 0] / 9)


Z, Y = np.array([0.0, np.log(3), -np.log(3)]), np.array([1.0, 0.0, 0.0])  # s = 1/2, 3/4, 1/4


def test_values_by_hand():
    def value(loss):
        return binary_loss(loss, Z, Y, np.ones(3)).loss

    assert value(CrossEntropy()) == pytest.approx((np.log(2) + np.log(4) + np.log(4 / 3)) / 3)
    focal = (np.log(2) / 4 + 9 / 16 * np.log(4) + np.log(4 / 3) / 16) / 3
    assert value(Focal(2.0)) == pytest.approx(focal)
    # 1 - (2 X y + g) / (X^2 + y + g), g = 1: yes 1 - 2 / 2.25, no 1 - 1 / 1.5625 and 1 - 1 / 1.0625
    terms = [1 - 2 / 2.25, 1 - 1 / 1.5625, 1 - 1 / 1.0625]
    assert value(Dice()) == pytest.approx(sum(terms) / 3)
    assert value(MoM(Dice(), 0.2)) == pytest.approx((0.2 * terms[0] + terms[1] + terms[2]) / 3)
    # A = 2 * 1/2 + 1, B = 1/4 + 9/16 + 1/16 + 1 + 1; of the noes alone A = 1, B = 10/16 + 1
    everything, noes = 1 - 2 / 2.875, 1 - 1 / 1.625
    assert value(Dice(level="set")) == pytest.approx(everything)
    assert value(MoM(Dice(level="set"), 0.2)) == pytest.approx(0.2 * everything + 0.8 * noes)
    # X = (1 - s) s = 1/4, 3/16, 3/16; r = 1
    adjusting = Dice(1.0, 1.0, 1, level="set")
    assert value(adjusting) == pytest.approx(1 - (0.5 + 1) / (0.625 + 1 + 1))


def test_a_set_of_one_token_is_a_token():
    rng = np.random.default_rng(2)
    for z, y in zip(rng.normal(size=6), [0.0, 1] * 3):
        one = np.array([z]), np.array([y]), np.ones(1)
        for settings in ((), (0.05, 0.5, 1)):
            token, whole = (binary_loss(Dice(*settings, level=k), *one) for k in ("token", "set"))
            assert token.loss == pytest.approx(whole.loss)
            assert token.d_logits == pytest.approx(whole.d_logits)


def test_against_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=12) * 3, (rng.random(12) < 0.3).astype(float)
    t, target = torch.tensor(z, requires_grad=True), torch.tensor(y)
    s = torch.sigmoid(t)
    bce = torch.nn.functional.binary_cross_entropy_with_logits(t, target, reduction="none")
    x = (1 - s) ** 0.05 * s

    def coefficient(x, y):
        return 1 - (2 * (x * y).sum() + 0.3) / (x.sum() + y.sum() + 0.3)

    noes = target == 0
    for ours, theirs in (
        (CrossEntropy(), bce.mean()),
        (MoM(None, 0.3), 0.3 * bce.mean() + 0.7 * bce[noes].sum() / 12),
        (Dice(0.05, 0.3, 1), (1 - (2 * x * target + 0.3) / (x + target + 0.3)).mean()),
        (Dice(0.05, 0.3, 1, level="set"), coefficient(x, target)),
        (
            MoM(Dice(0.05, 0.3, 1, level="set"), 0.3),
            0.3 * coefficient(x, target) + 0.7 * coefficient(x[noes], target[noes]),
        ),
    ):
        t.grad = None
        theirs.backward(retain_graph=True)
        result = binary_loss(ours, z, y, np.ones(12))
        assert result.loss == pytest.approx(theirs.item())
        assert result.d_logits == pytest.approx(t.grad.numpy())


FIXED = LabelWeights({"x": 1.0})
REFUSED = [
    ("longtail.CrossEntropy.v1", {"weights": FIXED}),
    ("longtail.Focal.v1", {"weights": FIXED}),
    ("longtail.MoM.v1", {"base": CrossEntropy(FIXED)}),
    ("longtail.MoM.v1", {"normalizer": "sentence"}),
    ("longtail.MoM.v1", {"o_normalizer": "o_tokens"}),
    ("longtail.MoM.v1", {"base": OneVersusRestFocal()}),
    ("longtail.Dice.v1", {"terms": "gold"}),
    ("longtail.OneVersusRestFocal.v1", {}),
    ("longtail.AUCMargin.v1", {}),
    ("longtail.CompositionalAUC.v1", {}),
    ("longtail.TwoTaskCrossEntropy.v1", {}),
]


@pytest.mark.parametrize(("name", "settings"), REFUSED)
def test_what_is_no_yes_or_no_says_so(name, settings):
    assert "binary" not in registry.losses.get(name)(**settings).heads


def test_what_is_a_yes_or_no_says_so():
    assert all("binary" in loss.heads for loss in LOSSES)
    assert all(loss.heads == ("binary",) for loss in LOSSES if loss.level == "set")


def test_a_loss_of_a_set_is_for_sets():
    with pytest.raises(ValueError, match=r"L001.*level"):
        Dice(terms="gold", level="set")
    with pytest.raises(ValueError, match=r"L001.*level"):
        Dice(level="batch")
    with pytest.raises(ValueError, match=r"L002.*set"):
        Dice(level="set")(np.zeros((2, 3)), np.eye(3)[:2], np.ones(2))
    with pytest.raises(ValueError, match=r"L002.*normalizer"):
        MoM(Dice(level="set"), normalizer="sentence")


def test_confident_answers_do_not_overflow():
    z, y = np.array([80.0, -80.0, 80.0, -80.0], dtype="float32"), np.array([1.0, 1, 0, 0])
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        for loss in LOSSES:
            result = binary_loss(loss, z, y, np.ones(4))
            assert np.isfinite(result.loss) and np.isfinite(result.d_logits).all()
