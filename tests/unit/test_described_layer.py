"""The layer whose weights come from descriptions: formula, gradient, what is trained."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Adam, chain, noop

from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads.outputs import rename_outputs
from spacy_longtail.layers import described
from spacy_longtail.layers.described import (
    NO_TYPE,
    described_linear,
    is_described,
    lay_out,
    set_descriptions,
)

SCHEMES = pytest.mark.parametrize("scheme", ["BIO", "BILUO"])
N_IN, N_WORDS, WIDTH = 5, 7, 4


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def untrained(scheme, types, residual=True):
    """A layer as it is initialized, and the codec of its outputs."""
    codec, layer = TagCodec(tuple(types), scheme), described_linear(WIDTH, residual)
    lay_out(layer, *codec.layout())
    layer.set_dim("nO", len(codec))
    set_descriptions(layer, np.eye(len(types), N_WORDS, dtype="f"))
    layer.initialize(X=np.zeros((1, N_IN), dtype="f"))
    return layer, codec


def made(scheme="BIO", types="ABC", residual=True, seed=0):
    """A layer with random weights, those of its own included."""
    rng = np.random.default_rng(seed)
    layer, codec = untrained(scheme, types, residual)
    for name in layer.param_names:
        values = layer.get_param(name)
        fresh = unit(rng.normal(size=values.shape)) if name == "D" else rng.normal(size=values.shape)
        layer.set_param(name, fresh.astype("f"))
    return layer, codec


def drawn(*shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype("f")


def weights_of(layer):
    """In double precision."""
    return {name: layer.get_param(name).astype("float64") for name in layer.param_names}


def by_hand(weights, codec, X):
    """z[t, k] = 8 <P_k h, Q_k d_t> / sqrt(width) + <W[t, k], h> + b[t, k], a number at a time."""
    W, b, P, Q, D = (weights[name] for name in ("W", "b", "P", "Q", "D"))
    z = np.zeros((len(X), len(codec)))
    for i, h in enumerate(X):
        for j, tag in enumerate(codec.tags):
            z[i, j] = W[j] @ h + b[j]
            if tag != "O":
                k, t = codec.prefixes.index(tag[0]), codec.labels.index(tag[2:])
                z[i, j] += 8 * (P[k] @ h) @ (Q[k] @ D[t]) / np.sqrt(WIDTH)
    return z


@SCHEMES
@given(seed=st.integers(0, 2**32), types=st.sampled_from(["A", "AB", "ABCDE"]))
def test_logits_are_those_of_the_formula(scheme, seed, types):
    layer, codec = made(scheme, types, seed=seed)
    X = drawn(3, N_IN, seed=seed)
    assert layer.predict(X) == pytest.approx(by_hand(weights_of(layer), codec, X), abs=1e-4)


@SCHEMES
@pytest.mark.parametrize("name", ["W", "b", "P", "Q", "X"])
def test_gradients_are_the_slopes(scheme, name):
    layer, codec = made(scheme)
    X, dY = drawn(6, N_IN, seed=1), drawn(6, len(codec), seed=2)
    dX = layer.begin_update(X)[1](dY)
    exact = dX if name == "X" else layer.get_grad(name)
    values = {**weights_of(layer), "X": X.astype("float64")}
    for at in np.ndindex(values[name].shape):
        step = np.zeros(values[name].shape)
        step[at] = 1e-5
        above, below = ({**values, name: values[name] + own} for own in (step, -step))
        moved = by_hand(above, codec, above["X"]) - by_hand(below, codec, below["X"])
        assert exact[at] == pytest.approx((moved * dY).sum() / 2e-5, rel=1e-4, abs=1e-4)


def test_gradients_add_up_and_descriptions_have_none():
    layer, codec = made()
    X, dY = drawn(4, N_IN, seed=2), drawn(4, len(codec), seed=3)
    layer.begin_update(X)[1](dY)
    once = {name: layer.get_grad(name).copy() for name in ("W", "b", "P", "Q")}
    layer.begin_update(X)[1](dY)
    assert all(layer.get_grad(name) == pytest.approx(2 * own) for name, own in once.items())
    assert not layer.has_grad("D")


@SCHEMES
def test_own_weights_start_at_zero_and_words_do_not(scheme):
    layer, codec = untrained(scheme, "AB")
    assert not layer.get_param("W").any() and not layer.get_param("b").any()
    n = len(codec.prefixes)
    assert layer.get_param("P").shape == (n, WIDTH, N_IN)
    assert layer.get_param("Q").shape == (n, WIDTH, N_WORDS)
    distinct = {layer.get_param(name)[k].tobytes() for name in "PQ" for k in range(n)}
    assert len(distinct) == 2 * n  # prefixes start differently
    z = layer.predict(drawn(3, N_IN, seed=0))
    assert not z[:, 0].any() and z[:, 1:].all()


@pytest.mark.parametrize("residual", [True, False])
def test_without_a_residual_types_have_no_weights_of_their_own(residual):
    layer, codec = made(residual=residual)
    layer.get_param("W")[1:], layer.get_param("b")[1:] = 0.0, 0.0
    optimizer = Adam(0.1, L2=0.1, use_averages=False)
    D = layer.get_param("D").copy()
    for seed in range(3):
        layer.begin_update(drawn(4, N_IN, seed=seed))[1](drawn(4, len(codec), seed=seed + 3))
        layer.finish_update(optimizer)
    W, b = layer.get_param("W"), layer.get_param("b")
    assert W[0].all() and b[0]  # of O
    assert W[1:].any() == b[1:].any() == residual
    assert np.array_equal(layer.get_param("D"), D)


def test_a_layer_that_was_saved_gives_the_same_logits():
    layer, codec = made("BILUO")
    X = drawn(3, N_IN, seed=4)
    other = described_linear(WIDTH, True).from_bytes(layer.to_bytes())
    assert np.array_equal(layer.predict(X), other.predict(X))
    assert other.attrs["type_of"].tolist() == codec.layout()[0].tolist()
    assert other.attrs["type_of"][0] == NO_TYPE


def test_renamed_outputs_keep_what_types_share_and_their_own_weights():
    layer, codec = made()
    model = chain(noop(), layer)
    model.set_ref("output_layer", layer)
    new = TagCodec((*codec.labels, "NEW"), "BIO")
    old = {name: layer.get_param(name).copy() for name in layer.param_names}
    X = drawn(3, N_IN, seed=5)
    z = layer.predict(X)
    rename_outputs(model, codec.tags, new.tags, [0.0] * len(new.tags))
    fresh = model.get_ref("output_layer")
    assert is_described(fresh) and fresh is not layer and fresh.id != layer.id
    lay_out(fresh, *new.layout())
    set_descriptions(fresh, np.concatenate([old["D"], unit(drawn(1, N_WORDS, seed=6))]))
    assert fresh.predict(X)[:, : len(codec)] == pytest.approx(z, rel=1e-5, abs=1e-5)
    assert not fresh.get_param("W")[len(codec) :].any() and not fresh.get_param("b")[len(codec) :].any()
    assert np.array_equal(fresh.get_param("P"), old["P"])


def agrees(layer, codec, X):
    return layer.predict(X) == pytest.approx(by_hand(weights_of(layer), codec, X), abs=1e-4)


def reverse_in_place(layer, name):
    """Put the same numbers at other places, so that the sum of squares stays."""
    values = layer.get_param(name)
    values[...] = values[::-1].copy()


@pytest.mark.parametrize(
    "change",
    [
        *(partial(reverse_in_place, name=name) for name in ("W", "b", "P", "Q", "D")),
        lambda layer: layer.set_param("D", layer.get_param("D")[::-1].copy()),
    ],
)
def test_predictions_follow_a_change_of_the_parameters(change):
    layer, codec = made()
    X = drawn(3, N_IN, seed=0)
    assert agrees(layer, codec, X)
    change(layer)
    assert agrees(layer, codec, X)


def test_weights_are_computed_once_while_nothing_changes(monkeypatch):
    layer, _ = made()
    X, computed, plain = drawn(3, N_IN, seed=0), [], described._from_words
    monkeypatch.setattr(described, "_from_words", lambda own: computed.append(own) or plain(own))

    for _ in range(3):
        layer.predict(X)

    assert computed == [layer]


def test_a_pickled_layer_has_no_remembered_weights():
    layer, _ = made()
    X = drawn(3, N_IN, seed=0)
    layer.predict(X)

    copy = pickle.loads(pickle.dumps(layer._func))

    assert copy._last is None
    assert copy(layer, X, is_train=False)[0] == pytest.approx(layer.predict(X))


def test_predictions_follow_another_layout_of_the_same_types():
    layer, codec = made()
    X = drawn(3, N_IN, seed=0)
    layer.predict(X)
    type_of, prefix_of = codec.layout()
    lay_out(layer, np.where(type_of < 0, type_of, 2 - type_of), prefix_of)
    weights = {**weights_of(layer), "D": weights_of(layer)["D"][::-1]}
    assert layer.predict(X) == pytest.approx(by_hand(weights, codec, X), abs=1e-4)


def test_a_gradient_that_is_asked_for_in_prediction_is_that_of_training():
    layer, _ = made()
    found, backprop = layer(drawn(3, N_IN, seed=0), is_train=False)
    _, wanted = layer.begin_update(drawn(3, N_IN, seed=0))
    assert backprop(np.ones_like(found)) == pytest.approx(wanted(np.ones_like(found)), abs=1e-5)
