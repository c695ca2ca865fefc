"""`longtail.BiLSTM.v1` against torch.nn.LSTM, and under the pipes."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Adam, Model

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
safetensors = pytest.importorskip("safetensors.torch", reason="needs the extra 'torch'")

from spacy_longtail.layers.torch_bilstm import orders_of  # noqa: E402
from spacy_longtail.models import BiLSTM  # noqa: E402
from tests.util import (  # noqa: E402
    one_pipe,
    params,
    toy_vectors,
    train,
    train_further,
)

PLAIN = {"include_static_vectors": False}
HASHED = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 10, **PLAIN}
HASHED |= {"attrs": ["NORM", "SHAPE"], "rows": [60, 30]}
CHARS = {"@architectures": "spacy.CharacterEmbed.v2", "width": 6, "nM": 4, "nC": 4, "rows": 50, **PLAIN}
JOINED = {"@layers": "concatenate.v1", "*": {"words": HASHED, "chars": CHARS}}
VECTORS = {"@architectures": "longtail.StaticVectors.v1", "width": 7}
ENCODER = {"@architectures": "longtail.BiLSTM.v1", "embed": HASHED, "hidden_width": 20}
ENCODER |= {"depth": 2, "dropout": 0.1}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)  # small models are slower with more


def rows_as_docs(width):
    """A stand-in for an embedding: documents are arrays already, and their gradients come back."""

    def forward(model, X, is_train):
        return [x.copy() for x in X], lambda d_X: d_X

    return Model("rows", forward, dims={"nO": width})


def arrays(lengths, width, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, width)).astype("f") for n in lengths]


def module_of(model):
    return model.get_ref("encode").shims[0].module


def weight_pairs(module, lstm):
    """Yield each weight of our module with that of torch's own bidirectional LSTM."""
    for side, suffix in ((module.forwards, ""), (module.backwards, "_reverse")):
        for i, layer in enumerate(side):
            for name, weight in layer.named_parameters():
                yield weight, getattr(lstm, name.removesuffix("_l0") + f"_l{i}" + suffix)


def reference(module):
    """The same weights in torch's own bidirectional LSTM."""
    lstm = torch.nn.LSTM(module.n_in, module.n_hidden, module.depth, bidirectional=True)
    with torch.no_grad():
        for weight, own in weight_pairs(module, lstm):
            own.copy_(weight)
    return lstm


def build(width=5, **kwargs):
    torch.manual_seed(0)
    model = BiLSTM(rows_as_docs(width), **{"hidden_width": 4, "dropout": 0.0, **kwargs})
    model.initialize(X=arrays([2, 3], width))
    return model


# The encoder against an oracle

LENGTHS = [[1], [3, 0, 5, 1, 5, 17, 2], [0, 4], [4, 0], [9, 8, 7, 2, 1, 1], [33, 1], [0, 0, 1]]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_states_are_those_of_torch_document_by_document(lengths, depth):
    model = build(depth=depth)
    lstm, X = reference(module_of(model)), arrays(lengths, 5)
    for Y in (model.predict(X), model.begin_update(X)[0]):
        assert [y.shape for y in Y] == [(n, 8) for n in lengths]
        for x, y in zip(X, Y, strict=True):
            if len(x):
                assert np.allclose(lstm(torch.tensor(x))[0].detach().numpy(), y, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_gradients_are_those_of_torch(depth):
    lengths = [3, 0, 5, 1, 5, 17, 2]
    model = build(depth=depth)
    module = module_of(model)
    lstm, X, d_Y = reference(module), arrays(lengths, 5), arrays(lengths, 8, seed=1)
    d_X = model.begin_update(X)[1]([d.copy() for d in d_Y])
    inputs = [torch.tensor(x, requires_grad=True) for x in X]
    full = [i for i, n in enumerate(lengths) if n]
    torch.autograd.backward([lstm(inputs[i])[0] for i in full], [torch.tensor(d_Y[i]) for i in full])
    for i, n in enumerate(lengths):
        assert d_X[i].shape == (n, 5)
        if n:
            assert np.allclose(inputs[i].grad.numpy(), d_X[i], atol=1e-5)
    for weight, wanted in weight_pairs(module, lstm):
        assert torch.allclose(weight.grad, wanted.grad, atol=1e-5)


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any))
def test_padding_at_most_doubles_the_rows(lengths):
    orders = orders_of(lengths)
    for order in orders:
        flat = torch.cat([i.flatten() for i in order.indices])
        assert len(flat) < 2 * sum(lengths)
        assert flat[order.places].tolist() == list(range(sum(lengths)))
    starts = np.cumsum([0, *lengths])
    for forward, backward in zip(*(order.indices for order in orders), strict=True):
        for a, b in zip(forward.T.tolist(), backward.T.tolist(), strict=True):
            n = lengths[np.searchsorted(starts, a[0], side="right") - 1]
            assert a[:n] == list(range(a[0], a[0] + n)) == b[:n][::-1]
            assert {*a, *b} == set(a[:n])  # padding repeats rows of the same document


@pytest.mark.parametrize("X", [[], arrays([0], 5), arrays([0, 0], 5)])
def test_no_words_at_all(X):
    model = build()
    assert [y.shape for y in model.predict(X)] == [(0, 8) for _ in X]
    if X:
        Y, backprop = model.begin_update(X)
        assert backprop(Y) == []
        model.finish_update(Adam(0.1))


@pytest.mark.parametrize("depth", [1, 2])
def test_dropout_acts_on_every_layer_in_training_alone(depth):
    model = build(depth=depth, dropout=0.5)
    X = arrays([400], 5)
    (plain,) = model.predict(X)
    assert np.array_equal(plain, model.predict(X)[0]) and (plain != 0).all()
    (dropped,) = model.begin_update(X)[0]
    zeros = dropped == 0
    assert 0.4 < zeros.mean() < 0.6
    # with one layer what is left is the plain state, scaled; with two the lower was thinned, too
    assert np.allclose(dropped[~zeros], 2 * plain[~zeros], atol=1e-6) == (depth == 1)


@pytest.mark.parametrize("setting", [{"hidden_width": "wide"}, {"depth": 0}, {"dropout": 1.0}])
def test_what_makes_no_sense_is_refused(setting):
    with pytest.raises(ValueError, match="L001"):
        BiLSTM(rows_as_docs(5), **setting)


# The encoder under the pipes


def own(encoder):
    return one_pipe(model={"@architectures": "longtail.TokenClassifier.v1", "tok2vec": encoder})


def test_tampered_files_are_refused_by_spacy_load(tmp_path):
    nlp = own(ENCODER)
    train(nlp, 1)
    nlp.to_disk(tmp_path)
    path = tmp_path / "ner" / "model"
    data = path.read_bytes()
    place = data.index(b"__metadata__") + 2000  # among the weights
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(ValueError, match=r"L221.*checksum"):
        spacy.load(tmp_path)
    path.write_bytes(data)
    for width in ("hidden_width", "embed.width"):
        with pytest.raises(ValueError):
            spacy.load(tmp_path, config={f"components.ner.model.tok2vec.{width}": 9})


@pytest.mark.parametrize("embed", [JOINED, VECTORS, {**ENCODER, "hidden_width": 3}])
def test_every_embedding_trains_along(embed):
    nlp = own({**ENCODER, "embed": embed})
    if embed is VECTORS:
        toy_vectors(nlp)
    train(nlp, 0)
    ner = nlp.get_pipe("ner")
    before, weights = params(ner), torch_params(ner)
    train_further(nlp, steps=3)
    pairs = [(a, b) for a, b in zip(before, params(ner), strict=True) if a.any()]
    assert not any(np.array_equal(a, b) for a, b in pairs)
    assert not any(torch.equal(a, b) for a, b in zip(weights, torch_params(ner), strict=True))


def torch_params(pipe):
    shims = [shim for node in pipe.model.walk() for shim in node.shims]
    return [p.detach().clone() for shim in shims for p in shim.module.parameters()]
