"""longtail.Adam.v1 against thinc's Adam.v1: the same updates, in place, whatever the settings."""

import itertools

import numpy as np
import pytest
from spacy.util import fix_random_seed
from thinc.api import Adam, Linear, PyTorchWrapper, chain

from spacy_longtail.layers.torch_layer import torch_layer
from spacy_longtail.training.optimizers import TorchAdam, check_averages, create_adam
from tests.util import blank

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")


SETTINGS = [
    *({}, {"L2": 0.1}, {"L2": 0.1, "L2_is_weight_decay": False}, {"grad_clip": 0.0}),
    {"grad_clip": 0.01, "L2": 0.01, "use_averages": False},
    {"beta1": 0.5, "beta2": 0.9, "eps": 1e-3},
]
N_STEPS = 20


def rates():
    return (0.02 / (1 + i) for i in itertools.count())


def gradients(shape, scale=1.0):
    rng = np.random.default_rng(0)
    return [(scale * rng.normal(size=shape)).astype("float32") for _ in range(N_STEPS)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-7])  # of the size of eps: where it is added shows
def test_the_updates_are_those_of_thinc(settings, scale):
    optimizers = Adam(rates(), **settings), create_adam(rates(), **settings)
    for key, shape, lr_scale in (
        ((1, "W"), (7, 5), 1.0),
        ((1, "b"), (5,), 3.0),
        ((2, "E"), (2, 3, 4), 0.5),
    ):
        start = np.random.default_rng(1).normal(size=shape).astype("float32")
        weights = [start.copy(), start.copy()]
        for gradient in gradients(shape, scale):
            for i, optimizer in enumerate(optimizers):
                weights[i], left = optimizer(key, weights[i], gradient.copy(), lr_scale=lr_scale)
                assert not left.any()
            assert np.abs(weights[0] - weights[1]).max() < 2e-6  # a few roundings of weights of about 1
            for optimizer in optimizers:
                optimizer.step_schedules()
        for kept in ("mom1", "mom2", "averages"):
            if getattr(optimizers[0], kept) is not None:
                a, b = (getattr(o, kept)[key] for o in optimizers)
                assert a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-7)
        assert optimizers[0].nr_update[key] == optimizers[1].nr_update[key] == N_STEPS
    assert optimizers[0].learn_rate == optimizers[1].learn_rate


def test_the_step_is_in_place_and_torch_made_it(monkeypatch):
    optimizer = create_adam(0.1, use_averages=False)
    calls = []
    step = TorchAdam._step
    monkeypatch.setattr(
        TorchAdam, "_step", lambda self, *given: calls.append(given[0]) or step(self, *given)
    )
    parameter = torch.nn.Parameter(torch.zeros(3, 2))
    gradient = torch.ones(3, 2)
    found, left = optimizer((1, "w"), parameter.data.numpy(), gradient.numpy())
    assert calls == [(1, "w")]
    assert (parameter < 0).all() and not gradient.any()
    assert np.shares_memory(found, parameter.data.numpy()) and left.shape == (3, 2)


@pytest.mark.parametrize("bend", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_memory_that_torch_cannot_share_is_left_to_thinc(bend, monkeypatch):
    monkeypatch.setattr(TorchAdam, "_step", lambda *_: pytest.fail("torch was called"))
    start = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    gradient = gradients((4, 3))[0]
    ours, _ = create_adam(0.1)((1, "w"), start.copy(), bend(gradient))
    theirs, _ = Adam(0.1)((1, "w"), start.copy(), bend(gradient))
    assert np.array_equal(ours, theirs)


def test_a_decay_of_everything_is_left_to_thinc():
    found = []
    for optimizer in (create_adam(1.0, L2=1.0), Adam(1.0, L2=1.0)):
        weights, gradient = np.ones(5, dtype="float32"), np.ones(5, dtype="float32")
        found.append(optimizer((1, "W"), weights, gradient)[0])
    assert np.array_equal(*found)


# Averages


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.frozen = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        self.frozen.requires_grad_(False)
        self.register_buffer("seen", torch.ones(2))

    def forward(self, x):
        return self.used(x) + self.seen


def stepped(optimizer, n_steps=N_STEPS, with_evaluation=False):
    """A layer of thinc and a module of torch after some steps, and their weights after each.

    with_evaluation (bool): Whether the averages predict something after each step.
    """
    fix_random_seed(0)
    model = chain(Linear(3, 3), torch_layer(Net()))
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    model.initialize(X=x)
    history = []
    for _ in range(n_steps):
        y, backprop = model.begin_update(x)
        backprop(np.ones_like(y))
        model.finish_update(optimizer)
        if with_evaluation:
            with model.use_params(optimizer.averages):
                model.predict(x)
        history.append(weights_of(model))
    return model, history


def weights_of(model):
    linear, wrapped = model.layers
    inner = {name: value.numpy().copy() for name, value in wrapped.shims[0].module.state_dict().items()}
    return {"W": linear.get_param("W").copy(), **inner}


MIXED = {"weight_mix": 0.25, "use_averages": False}


def test_a_quarter_of_what_training_changes_is_evaluated():
    """Of torch's parameters and of thinc's own."""
    optimizer = create_adam(0.05, **MIXED)
    before = weights_of(stepped(create_adam(0.05), 0)[0])
    model, _ = stepped(optimizer)
    after = weights_of(model)
    with model.use_params(optimizer.averages):
        mixed = weights_of(model)
    assert any(not np.array_equal(before[name], after[name]) for name in after)
    for name in after:
        assert mixed[name] == pytest.approx(0.75 * before[name] + 0.25 * after[name], abs=1e-6), name


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({**MIXED, "weight_mix": 0.0}, "L001"),
        ({**MIXED, "weight_mix": 1.5}, "L001"),
        ({"weight_mix": 0.5}, "L213"),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused(settings, code):
    with pytest.raises(ValueError, match=code):
        create_adam(0.05, **settings)


def test_training_goes_on_from_the_weights_not_from_their_averages():
    optimizer = create_adam(0.05, **MIXED)
    model, evaluated = stepped(optimizer, with_evaluation=True)
    _, expected = stepped(create_adam(0.05, **MIXED))
    assert all(np.array_equal(evaluated[-1][name], own) for name, own in expected[-1].items())
    with pytest.raises(KeyError), model.use_params(optimizer.averages):
        raise KeyError
    assert np.array_equal(weights_of(model)["used.weight"], expected[-1]["used.weight"])


@pytest.mark.parametrize("make", [Adam, create_adam])
def test_moving_averages_reach_torch_layers(make):
    optimizer = make(0.05, use_averages=True)
    model, history = stepped(optimizer)
    trained = model.layers[1].shims[0].module.used.weight.detach().numpy().copy()
    with model.use_params(optimizer.averages):
        averaged = weights_of(model)["used.weight"]
    expected, weights = np.zeros_like(averaged), [step["used.weight"] for step in history]
    for n, own in enumerate(weights, 1):
        decay = (1 + n) / (10 + n)
        expected = decay * expected + (1 - decay) * own
    assert averaged == pytest.approx(expected, abs=1e-5)
    assert not np.allclose(averaged, trained, atol=1e-3)
    assert np.array_equal(weights_of(model)["used.weight"], trained)


def foreign(**optimizer):
    """A pipeline over a torch layer of thinc, and the optimizer that its config names."""
    nlp = blank()
    tagger = nlp.add_pipe("tagger")
    tagger.model = chain(Linear(3, 3), PyTorchWrapper(Net()))
    nlp.config["training"]["optimizer"] = {"@optimizers": "longtail.Adam.v1", **optimizer}
    return nlp


@pytest.mark.parametrize(
    ("settings", "named"),
    [({}, "use_averages"), ({"use_averages": True}, "use_averages"), (MIXED, "weight_mix")],
)
def test_averages_that_a_foreign_torch_layer_would_not_get_are_refused(settings, named):
    with pytest.raises(ValueError, match=rf"L821.*{named}.*'tagger'"):
        check_averages(foreign(**settings))


def test_a_foreign_torch_layer_that_is_frozen_or_not_averaged_is_trained():
    check_averages(foreign(use_averages=False))
    frozen = foreign()
    frozen.config["training"]["frozen_components"] = ["tagger"]
    check_averages(frozen)
