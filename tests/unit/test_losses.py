"""Every registered loss: one contract for all, then each against its definition and torch."""

from dataclasses import fields, is_dataclass, replace

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
from spacy_longtail.losses.base import BinaryLoss, SoftmaxLoss, TwoTaskGold, TwoTaskLoss
from spacy_longtail.types import TwoTaskState

PER_3 = LabelWeights({"PER": 3.0})

# A new loss gets a row here: settings that cover its branches. Everything below then tests it.
SETTINGS = {
    "longtail.CrossEntropy.v1": [{}, {"weights": PER_3}],
    "longtail.Focal.v1": [{}, {"gamma": 0.0}, {"gamma": 0.5}, {"gamma": 5.0, "weights": PER_3}],
    "longtail.OneVersusRestFocal.v1": [{}, {"gamma": 1.5}],
    "longtail.Dice.v1": [
        {},
        {"smooth": 0.1},
        {"alpha": 1.0, "smooth": 1.0, "power": 1},
        {"alpha": 0.01, "smooth": 0.01, "power": 1},
        {"alpha": 0.6, "smooth": 0.1},
        {"terms": "gold"},
        {"terms": "gold", "alpha": 1.0, "power": 1},
    ],
    "longtail.MoM.v1": [{}, {"lam": 1.0}, {"base": Focal(1.5, PER_3), "lam": 0.3}, {"base": Dice()}],
    "longtail.Distillation.v1": [{}, {"base": Focal(1.5)}, {"base": MoM(Dice()), "share": 0.9}],
    "longtail.AUCMargin.v1": [{}, {"form": "running", "margin": 0.5, "begin_weight": 2.0}],
    "longtail.CompositionalAUC.v1": [{}, {"auc": AUCMargin("running", begin_weight=1.0)}],
    "longtail.TwoTaskCrossEntropy.v1": [{}, {"begin_weight": 3.0}],
}
NAMES = sorted(name for name in registry.losses.get_all() if name.startswith("longtail."))
CASES = [(name, kwargs) for name in NAMES for kwargs in SETTINGS.get(name, [])]
every_loss = pytest.mark.parametrize(("name", "kwargs"), CASES)

Z = np.array([[1.0, 0.0, -1.0]])  # one token: p = (.6652, .2447, .0900)
logit = st.floats(-30, 30, width=32)
tokens = st.lists(st.tuples(logit, logit, logit, st.integers(0, 2)), min_size=1, max_size=5)


def make(name, kwargs):
    return registry.losses.get(name)(**kwargs)


def train(loss, logits, tags):
    """Value and gradient of a loss in every way that its kind can train, summed up.

    logits: (n_tokens, 3). tags: Gold columns, O, B or I. A loss that writes to either raises.
    """
    logits.flags.writeable = tags.flags.writeable = False
    formula = loss.formula
    value, d_logits = 0.0, np.zeros_like(logits)
    if isinstance(formula, SoftmaxLoss | Distillation):
        f, d = formula.rows(logits, tags)
        value, d_logits = value + f.sum(), d_logits + d
    if isinstance(formula, BinaryLoss):
        f, d = formula.binary_rows(logits, np.eye(3, dtype=logits.dtype)[tags])
        value, d_logits = value + f.sum(), d_logits + d
    if isinstance(formula, TwoTaskLoss):
        state = TwoTaskState((0.7, 0.5), (0.2, 0.1), (0.4, 0.6))
        for n_updates in (0, 1):
            result = train_two_task(formula, logits, tags, state._replace(n_updates=n_updates))
            value += result.loss
            d_logits[:, :2] += result.d_scores[:, :2]
            if formula.has_tag_head:
                d_logits += result.d_scores[:, 2:]
    return float(value), d_logits


def train_two_task(formula, logits, tags, state):
    """The first two columns are entity and begin; a tag head has all three."""
    scores = np.hstack([logits[:, :2], logits]) if formula.has_tag_head else logits[:, :2]
    gold = TwoTaskGold((tags > 0).astype(logits.dtype), (tags == 1).astype(logits.dtype), tags)
    return formula(scores, gold, np.ones(len(tags), dtype=logits.dtype), state)


def columns(rows, dtype="float64"):
    *logits, tags = zip(*rows)
    return np.array(logits, dtype=dtype).T, np.array(tags)


# The contract


def test_every_published_loss_has_settings():
    assert sorted(SETTINGS) == NAMES


@every_loss
def test_a_loss_is_of_a_kind_that_something_trains(name, kwargs):
    kinds = SoftmaxLoss | BinaryLoss | TwoTaskLoss | Distillation
    assert isinstance(make(name, kwargs).formula, kinds)


@every_loss
@settings(max_examples=25)
@given(rows=tokens, seed=st.integers(0, 2**31))
def test_the_gradient_is_the_slope(name, kwargs, rows, seed):
    loss, (logits, tags) = make(name, kwargs), columns(rows)
    step = np.random.default_rng(seed).normal(size=logits.shape)

    above, _ = train(loss, logits + 1e-6 * step, tags)
    below, _ = train(loss, logits - 1e-6 * step, tags)
    _, gradient = train(loss, logits, tags)

    assert (above - below) / 2e-6 == pytest.approx((gradient * step).sum(), abs=1e-4, rel=1e-4)


@every_loss
@settings(max_examples=25)
@given(rows=tokens)
def test_float32_agrees_with_float64(name, kwargs, rows):
    loss = make(name, kwargs)

    value, gradient = train(loss, *columns(rows, "float64"))
    value_32, gradient_32 = train(loss, *columns(rows, "float32"))

    assert value_32 == pytest.approx(value, rel=1e-3, abs=1e-4)
    assert gradient_32 == pytest.approx(gradient, rel=1e-2, abs=1e-4)


@every_loss
def test_the_order_of_tokens_does_not_matter(name, kwargs):
    loss, order = make(name, kwargs), np.array([2, 0, 1])
    logits = np.array([[2.0, -1.0, 0.0], [0.5, 0.5, 1.0], [-3.0, 0.0, 0.0]])
    tags = np.array([0, 1, 2])

    value, gradient = train(loss, logits, tags)
    other_value, other_gradient = train(loss, logits[order], tags[order])

    assert other_value == pytest.approx(value)
    assert other_gradient == pytest.approx(gradient[order])


@every_loss
def test_extreme_logits_overflow_nowhere(name, kwargs):
    logits = np.array([[80, 0, -80], [-80, 80, 0]], dtype="float32")

    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient = train(make(name, kwargs), logits, np.array([0, 1]))

    assert np.isfinite(value) and np.isfinite(gradient).all()


@every_loss
def test_a_loss_is_equal_to_itself_made_again_and_to_no_other(name, kwargs):
    loss = make(name, kwargs)
    others = [make(*case) for case in CASES if case != (name, kwargs)]

    assert loss == make(name, kwargs)
    assert repr(loss) == repr(make(name, kwargs))
    assert loss not in others
    assert repr(loss) not in map(repr, others)


@every_loss
def test_replacing_a_setting_by_itself_changes_nothing(name, kwargs):
    loss = make(name, kwargs)

    for field in fields(loss):
        assert replace(loss, **{field.name: getattr(loss, field.name)}) == loss


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_fields_that_cannot_be_set_afterwards(name):
    loss = make(name, {})

    assert is_dataclass(loss)
    with pytest.raises(AttributeError):
        setattr(loss, fields(loss)[0].name, 0.5)


# MoM and class weights: what a loss weighs


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [
        (MoM(Focal(3.0)), "formula", Focal(3.0)),
        (MoM(), "formula", CrossEntropy()),
        (Focal(), "entity_factor", 1.0),
        (MoM(lam=0.3), "entity_factor", 0.3),
        (MoM(MoM(lam=0.5), 0.5), "entity_factor", 0.25),
        (Distillation(MoM(lam=0.3)), "entity_factor", 0.3),
        (MoM(Focal(weights=PER_3)), "class_weights", PER_3),
        (Distillation(MoM(Focal(weights=PER_3), 0.3)), "class_weights", PER_3),
        (CrossEntropy(), "is_likelihood", True),
        (MoM(lam=1.0), "is_likelihood", True),
        (CrossEntropy(PER_3), "is_likelihood", False),
        (Focal(0.0), "is_likelihood", False),
        (MoM(), "is_likelihood", False),
        (MoM(CrossEntropy(PER_3), 1.0), "is_likelihood", False),
        (MoM(Focal(), 1.0), "is_likelihood", False),
        (Dice(), "is_likelihood", False),
    ],
    ids=str,
)
def test_what_a_loss_says_of_itself(loss, name, value):
    assert getattr(loss, name) == value


@pytest.mark.parametrize("around", [MoM, Distillation])
@pytest.mark.parametrize("base", [Distillation(), AUCMargin()], ids=str)
def test_only_losses_of_tokens_can_be_wrapped(around, base):
    with pytest.raises(ValueError, match=r"base\n.*TokenLoss"):
        around(base=base)


def test_distillation_needs_a_base_that_trains_a_softmax():
    with pytest.raises(ValueError, match=r"L002.*softmax"):
        Distillation(MoM(OneVersusRestFocal()))


# Formulas by hand


def test_the_papers_settings_are_the_defaults():
    assert Focal() == Focal(gamma=2.0, weights=None)
    assert MoM() == MoM(base=None, lam=0.2)
    assert OneVersusRestFocal() == OneVersusRestFocal(gamma=2.0)
    assert Dice() == Dice(alpha=0.0, smooth=1.0, power=2, terms="all")


@pytest.mark.parametrize(
    ("loss", "value", "gradient"),
    [
        (CrossEntropy(), 1.4076, [0.6652, -0.7553, 0.0900]),
        (Focal(2.0), 0.8029, [0.7256, -0.8239, 0.0982]),
        (Dice(), 0.5917, [0.2619, -0.2557, -0.0062]),
        (Dice(alpha=1.0, smooth=1.0, power=1), 0.6310, [-0.0389, -0.0388, 0.0777]),
    ],
    ids=str,
)
def test_the_worked_example_of_the_methods_page(loss, value, gradient):
    f, d_logits = loss.rows(Z, np.array([1]))

    assert f[0] == pytest.approx(value, abs=1e-4)
    assert d_logits[0] == pytest.approx(gradient, abs=1e-4)


@pytest.mark.parametrize(
    ("loss", "values"),
    [
        (Focal(1.7), [0.0634, 0.8735, 2.0508]),
        (Dice(), [0.1104, 0.5917, 0.7756]),
        (Dice(0.01, 0.5, 1), [0.6389, 1.1541, 1.4686]),
        (Dice(0.01, 0.5, 1, "gold"), [0.1585, 0.4335, 0.5724]),
    ],
    ids=str,
)
def test_a_softmax_has_the_values_that_torch_computes_from_the_formulas(loss, values):
    f, _ = loss.formula.rows(np.repeat(Z, 3, axis=0), np.array([0, 1, 2]))

    assert f == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize(
    ("gamma", "values"), [(1.5, [0.3324, 1.1096, 1.8868]), (2.0, [0.2186, 0.8978, 1.5770])]
)
def test_one_versus_rest_focal_has_the_values_that_torch_computes(gamma, values):
    f, _ = OneVersusRestFocal(gamma).binary_rows(np.repeat(Z, 3, axis=0), np.eye(3))

    assert f.sum(axis=1) == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize(
    "loss",
    [CrossEntropy(), Focal(1.5), Dice(terms="gold").formula],
    ids=lambda loss: type(loss).__name__,
)
def test_a_gold_loss_trains_a_softmax_as_a_function_of_p_gold(loss):
    x = 0.24472847
    f, u = loss.of_gold(np.log([x]))

    value, d_logits = loss.rows(Z, np.array([1]))

    assert value == pytest.approx(f)
    assert d_logits[0] == pytest.approx(u[0] * np.array([0.66524096, x - 1, 0.09003057]))


def test_values_of_yes_and_no_by_hand():
    logits, yes = np.array([0.0, np.log(3), -np.log(3)]), np.array([1.0, 0.0, 0.0])  # s = 1/2, 3/4, 1/4

    cross_entropy = CrossEntropy().binary_rows(logits, yes).f
    focal = Focal(2.0).binary_rows(logits, yes).f
    dice = Dice().binary_rows(logits, yes).f

    assert cross_entropy == pytest.approx([np.log(2), np.log(4), np.log(4 / 3)])
    assert focal == pytest.approx([np.log(2) / 4, 9 / 16 * np.log(4), np.log(4 / 3) / 16])
    # 1 - (2 s y + 1) / (s^2 + y + 1): yes 1 - 2 / 2.25, no 1 - 1 / 1.5625 and 1 - 1 / 1.0625
    assert dice == pytest.approx([1 - 2 / 2.25, 1 - 1 / 1.5625, 1 - 1 / 1.0625])


# Two tasks

SCORES = np.array([0.9, 0.6, 0.5, 0.2, 0.2, 0.1])
ENTITY = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])


def run_auc(scores, entity, state=None, **settings):
    """Loss, gradient on the scores and next state: the entity output has the scores, begin none."""
    logits = np.log(scores) - np.log1p(-scores)
    gold = TwoTaskGold(entity, np.zeros(len(entity)), np.zeros(len(entity), dtype="int64"))
    result = AUCMargin(**settings)(
        np.stack([logits, logits], axis=1), gold, np.ones(len(logits)), state or TwoTaskState()
    )
    return result.loss, result.d_scores[:, 0] / (scores * (1 - scores)), result.state


@pytest.mark.parametrize(("margin", "shortfall"), [(2.0, 1.5), (1.0, 0.5), (0.7, 0.2), (0.4, 0.0)])
def test_the_margin_is_the_distance_that_the_class_means_should_have(margin, shortfall):
    loss, _, _ = run_auc(SCORES, ENTITY, margin=margin)

    variances = 0.0225 + 0.0225  # the means are 0.75 and 0.25
    assert loss == pytest.approx(variances + shortfall**2)


def test_the_first_step_of_the_running_form():
    _, _, state = run_auc(np.array([0.8, 0.2]), np.array([1.0, 0.0]), form="running")

    assert (state.a[0], state.b[0]) == pytest.approx((0.16, 0.04))
    assert state.alpha[0] == pytest.approx(0.176)  # 0.1 * 2 * (1 + 0.04 - 0.16)


def test_the_running_form_converges_to_the_optimum_of_the_batch():
    scores, entity, state = np.array([0.8, 0.2]), np.array([1.0, 0.0]), TwoTaskState()

    for _ in range(200):
        _, _, state = run_auc(scores, entity, state, form="running")

    assert (state.a[0], state.b[0], state.alpha[0]) == pytest.approx((0.8, 0.2, 0.4))


def test_an_output_without_positives_is_not_updated():
    before = TwoTaskState((0.7, 0.5), (0.2, 0.1), (0.4, 0.6))

    loss, d_scores, after = run_auc(np.array([0.8, 0.2]), np.zeros(2), before, form="running")

    assert loss == 0.0
    assert d_scores.tolist() == [0.0, 0.0]
    assert after == before


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
def test_the_auc_margin_is_the_mean_over_pairs_of_the_squared_shortfall(seed, n):
    rng = np.random.default_rng(seed)
    scores, entity = 0.01 + rng.random(n) * 0.4, (rng.random(n) < 0.5).astype(float)
    if 0 < entity.sum() < n:  # the margin is never met: the mean distance stays below 1
        positives, negatives = scores[entity > 0], scores[entity == 0]
        pairs = [(1 - a + b) ** 2 for a in positives for b in negatives]
        assert run_auc(scores, entity)[0] == pytest.approx(np.mean(pairs))


def two_task_batch(n_columns):
    scores = np.random.default_rng(0).normal(size=(6, n_columns))
    entity, begin = np.array([1.0, 1, 0, 0, 1, 0]), np.array([1.0, 0, 0, 0, 1, 0])
    return scores, TwoTaskGold(entity, begin, np.array([1, 2, 0, 0, 1, 0])), np.ones(6)


@pytest.mark.parametrize(("n_updates", "trains_auc"), [(0, False), (1, True), (2, False), (3, True)])
def test_updates_of_compositional_auc_alternate(n_updates, trains_auc):
    result = CompositionalAUC()(*two_task_batch(5), TwoTaskState(n_updates=n_updates))

    assert result.d_scores[:, :2].any() == trains_auc
    assert result.d_scores[:, 2:].any() != trains_auc


@pytest.mark.parametrize("make_loss", [AUCMargin, TwoTaskCrossEntropy])
def test_begin_weight_scales_the_begin_output(make_loss):
    batch = two_task_batch(2)

    one = make_loss(begin_weight=1.0)(*batch, TwoTaskState())
    ten = make_loss(begin_weight=10.0)(*batch, TwoTaskState())

    assert ten.d_scores == pytest.approx(one.d_scores * [1, 10])


def test_an_even_update_of_compositional_auc_is_cross_entropy_on_the_tags():
    scores, gold, mask = two_task_batch(5)

    result = CompositionalAUC()(scores, gold, mask, TwoTaskState(n_updates=0))

    f, d_rows = CrossEntropy().rows(scores[:, 2:], gold.tags)
    assert result.loss == pytest.approx(f.mean())
    assert result.d_scores[:, 2:] == pytest.approx(d_rows / 6)
    assert not result.d_scores[:, :2].any()
    assert result.state == TwoTaskState(n_updates=0)


def test_an_odd_update_of_compositional_auc_is_the_auc_margin():
    scores, gold, mask = two_task_batch(5)
    auc, state = AUCMargin("running"), TwoTaskState(n_updates=1)

    result = CompositionalAUC(auc)(scores, gold, mask, state)

    alone = auc(scores[:, :2], gold, mask, state)
    assert (result.loss, result.state) == (alone.loss, alone.state)
    assert result.d_scores[:, :2].tolist() == alone.d_scores.tolist()
    assert not result.d_scores[:, 2:].any()


# Class weights

COUNTS = {"O": 900, "a": 60, "b": 30, "c": 10}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (InverseFrequency(), [0.2778, 4.1667, 8.3333, 25]),
        (InverseFrequency(scale="raw"), [1.1111, 16.6667, 33.3333, 100]),
        (LogInverseFrequency(scale="raw"), [0.0458, 1.2218, 1.5229, 2.0]),
        (LogInverseFrequency(5, scale="raw"), [0.7085, 1.3153, 1.5721, 2.0170]),
        (LogInverseFrequency(3), [0.8406, 2.1675, 2.6401, 3.4252]),  # the mean over tokens is 1
        (LabelWeights({"a": 0.0, "b": 0.5}), [1.0, 0.0, 0.5, 1.0]),
    ],
    ids=str,
)
def test_class_weights_by_hand(weights, expected):
    assert list(weights.resolve(COUNTS).values()) == pytest.approx(expected, abs=1e-4)


def test_label_weights_of_unknown_types_are_refused():
    with pytest.raises(ValueError, match=r"L203.*zz"):
        LabelWeights({"zz": 2.0}).resolve(COUNTS)


def test_a_beta_that_makes_a_weight_negative_is_refused():
    with pytest.raises(ValueError, match=r"L001.*0\.8889"):
        LogInverseFrequency(0.5).resolve(COUNTS)
    assert LogInverseFrequency(0.8889, scale="raw").resolve(COUNTS)["O"] >= 0


@pytest.mark.parametrize("scale", ["mean_one", "raw"])
@pytest.mark.parametrize("make_weights", [InverseFrequency, LogInverseFrequency])
def test_unseen_classes_weigh_one_and_do_not_change_the_others(make_weights, scale):
    seen = make_weights(scale=scale).resolve(COUNTS)
    with_unseen = make_weights(scale=scale).resolve({"y": 0, **COUNTS})

    assert with_unseen == {"y": 1.0, **seen}


@pytest.mark.parametrize("make_weights", [InverseFrequency, LogInverseFrequency])
def test_classes_that_are_all_unseen_weigh_one(make_weights):
    assert make_weights().resolve({"a": 0, "b": 0}) == {"a": 1.0, "b": 1.0}


# Settings


@pytest.mark.parametrize(
    ("make_loss", "setting"),
    [
        (Focal, {"gamma": -1.0}),
        (Focal, {"gamma": float("nan")}),
        (Focal, {"gamma": float("inf")}),
        (Focal, {"weights": "inverse"}),
        (MoM, {"lam": 0}),
        (MoM, {"lam": 1.1}),
        (Distillation, {"temperature": 0.5}),
        (Distillation, {"share": 1.5}),
        (Dice, {"smooth": 0.0}),
        (Dice, {"alpha": -1.0}),
        (Dice, {"power": 3}),
        (Dice, {"terms": "some"}),
        (AUCMargin, {"margin": 0.0}),
        (AUCMargin, {"form": "stateles"}),
        (CompositionalAUC, {"auc": CrossEntropy()}),
        (LabelWeights, {"weights": {"a": -1.0}}),
        (LogInverseFrequency, {"beta": "x"}),
        (InverseFrequency, {"unit": "tags"}),
    ],
)
def test_bad_settings_are_refused_by_name(make_loss, setting):
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        make_loss(**setting)


@pytest.mark.parametrize(
    ("make_loss", "setting"),
    [(Focal, {"gama": 3}), (AUCMargin, {"activation": "none"}), (MoM, {"l": 1})],
)
def test_unknown_settings_are_refused_by_name(make_loss, setting):
    (name,) = setting
    with pytest.raises((TypeError, ValueError), match=name):
        make_loss(**setting)


def test_numbers_may_be_text_as_a_command_line_gives_them():
    assert Focal("2") == Focal(2.0)
    assert MoM(lam="0.5") == MoM(lam=0.5)
