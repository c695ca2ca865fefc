"""Encoders under the pipes: static vectors, frozen, thinc's concatenation, two learning rates."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from thinc.api import Adam, Optimizer

from spacy_longtail.models import StaticVectors
from tests.util import (
    LISTENER,
    SMALL,
    blank,
    entities,
    examples,
    params,
    reloaded,
    same_weights,
    small_ner,
    toy_vectors,
    train,
)

VECTORS = {"@architectures": "longtail.StaticVectors.v1", "width": 12}
FROZEN = {"@architectures": "longtail.FrozenEncoder.v1", "tok2vec": SMALL}
JOINED = {"@layers": "concatenate.v1", "*": {"cnn": SMALL, "vectors": VECTORS}}  # of thinc


def add_ner(nlp, encoder, factory="longtail_token_ner", **settings):
    if factory == "longtail_token_ner":
        model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": encoder}
    else:
        model = {**small_ner()["model"], "tok2vec": encoder}
    nlp.add_pipe(factory, name="ner", config={"model": model, **settings})
    return nlp


@pytest.mark.parametrize("encoder", [VECTORS, FROZEN, JOINED], ids=["vectors", "frozen", "joined"])
@pytest.mark.parametrize("factory", ["ner", "longtail_token_ner"])
def test_an_encoder_trains_saves_and_loads(encoder, factory, tmp_path):
    nlp = add_ner(toy_vectors(blank()), encoder, factory)
    history = train(nlp, 30)
    assert history[-1]["ner"] < 0.6 * history[0]["ner"]
    texts = [eg.reference.text for eg in examples(nlp)] + ["", " ", "Oslo"]
    expected = list(map(entities, nlp.pipe(texts)))
    for again in (reloaded(nlp, tmp_path), pickle.loads(pickle.dumps(nlp))):
        assert list(map(entities, again.pipe(texts))) == expected


def test_static_vectors_are_a_linear_map_of_the_table_they_learnt_with():
    nlp = toy_vectors(blank())
    model = StaticVectors(width=5)
    docs = [eg.predicted for eg in examples(nlp)]
    model.initialize(X=docs)
    table = np.concatenate([[token.vector for token in doc] for doc in docs])
    out = np.concatenate(model.predict(docs))
    assert model.get_dim("nO") == out.shape[1] == 5
    solved, _, rank, _ = np.linalg.lstsq(table, out, rcond=None)
    assert rank == 8 and np.allclose(table @ solved, out, atol=1e-5)
    unknown = [i for i, row in enumerate(table) if not row.any()]
    assert unknown and not out[unknown].any()


@pytest.mark.parametrize(("columns", "code"), [(0, "L240"), (3, "L240.*8 columns.* 3")])
def test_static_vectors_of_another_pipeline_are_refused(columns, code):
    """A component that is taken from a pipeline is not initialized."""
    model = StaticVectors(width=5)
    model.initialize(X=[toy_vectors(blank()).make_doc("Fram")])
    other = blank()
    if columns:
        other.vocab.set_vector("Fram", np.ones(columns, dtype="float32"))
    with pytest.raises(ValueError, match=code):
        model.predict([other.make_doc("Fram")])


def test_a_frozen_encoder_keeps_every_bit_while_the_head_learns():
    nlp = add_ner(toy_vectors(blank()), FROZEN)
    nlp.initialize(lambda: examples(nlp))
    encoder = SimpleNamespace(model=nlp.get_pipe("ner").model.get_ref("tok2vec"))
    before = params(encoder)
    optimizer = Adam(0.01, L2=0.1)
    for _ in range(3):
        nlp.update(examples(nlp), sgd=optimizer, drop=0.5)
    assert same_weights(params(encoder), before)
    assert nlp.get_pipe("ner").model.get_ref("output_layer").get_param("W").any()


@pytest.mark.parametrize(
    ("encoder", "code"), [({**FROZEN, "tok2vec": LISTENER}, "L241"), ({**VECTORS, "width": 0}, "L001")]
)
def test_what_makes_no_sense_is_refused(encoder, code):
    with pytest.raises(ValueError, match=code):
        add_ner(blank(), encoder)


class Recorder(Optimizer):
    """An optimizer that moves nothing and remembers how it was called."""

    def __init__(self):
        self.scales = {}

    def __call__(self, key, weights, gradient, *, lr_scale=1.0):
        self.scales[key] = lr_scale
        return weights, gradient * 0


@pytest.mark.parametrize("factory", ["longtail_ner", "longtail_token_ner"])
def test_the_head_has_its_own_rate(factory):
    nlp = add_ner(blank(), SMALL, factory, head_rate=7.5)
    nlp.initialize(lambda: examples(nlp))
    recorder, pipe = Recorder(), nlp.get_pipe("ner")
    nlp.update(examples(nlp), sgd=recorder)
    encoder = pipe.model.get_ref("tok2vec")
    if factory == "longtail_ner":
        encoder = encoder.layers[0]  # a parser's tok2vec ends in a projection of its own
    encoder = {node.id for node in encoder.walk()}
    assert {s for (node, _), s in recorder.scales.items() if node in encoder} == {1.0}
    assert {s for (node, _), s in recorder.scales.items() if node not in encoder} == {7.5}
    assert pickle.loads(pickle.dumps(nlp)).get_pipe("ner").head_rate == 7.5


def test_a_batch_in_parts_has_the_gradient_of_the_whole():
    """spaCy's accumulate_gradient: sub-batches are updated one after another, and stepped once."""
    found = []
    for n_parts in (1, 2, 4):
        nlp = add_ner(blank(), SMALL)
        spacy.util.fix_random_seed(0)
        nlp.initialize(lambda: examples(nlp))
        data, optimizer = examples(nlp), Adam(0.01, grad_clip=0.0, use_averages=False)
        for _ in range(2):
            for part in range(n_parts):
                nlp.update(data[part::n_parts], sgd=False, drop=0.0)
            nlp.get_pipe("ner").finish_update(optimizer)
        found.append(params(nlp.get_pipe("ner")))
    for other in found[1:]:
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found[0], other, strict=True))


def test_what_stands_beside_a_listener_is_of_the_head():
    nlp = toy_vectors(blank())
    nlp.add_pipe("tok2vec", config={"model": SMALL})
    add_ner(nlp, {**JOINED, "*": {"shared": LISTENER, "vectors": VECTORS}}, head_rate=4.0)
    nlp.initialize(lambda: examples(nlp))
    nlp.update(examples(nlp), sgd=False)
    recorder = Recorder()
    for _, pipe in nlp.pipeline:
        pipe.finish_update(recorder)
    vectors = next(n for n in nlp.get_pipe("ner").model.walk() if n.has_param("W") and n.has_dim("nM"))
    assert recorder.scales[vectors.id, "W"] == 4.0
    shared = {node.id for node in nlp.get_pipe("tok2vec").model.walk()}
    assert {s for (node, _), s in recorder.scales.items() if node in shared} == {1.0}
