"""`longtail.RichEmbed.v1`: subword vectors beside spaCy's attributes."""

import numpy as np
import pytest
from spacy.ml.models import MultiHashEmbed
from spacy.tokens import Doc
from spacy.util import fix_random_seed
from thinc.api import Adam, set_dropout_rate

from spacy_longtail.models import RichEmbed
from tests.util import blank, examples, toy_encoder, toy_vectors

SMALL = {"width": 8, "attrs": ["NORM", "SHAPE"], "rows": [50, 30]}


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """An encoder with subword vectors."""
    return str(toy_encoder(tmp_path_factory.mktemp("static")))


def doc_of(text, nlp=None):
    return Doc((nlp or blank()).vocab, words=text.split())


@pytest.mark.parametrize("has_vectors", [False, True])
def test_with_nothing_added_it_is_spacys(has_vectors):
    docs = [eg.predicted for eg in examples(toy_vectors(blank()))]
    found = []
    for make in (MultiHashEmbed, RichEmbed):
        fix_random_seed(0)
        model = make(include_static_vectors=has_vectors, **SMALL)
        model.initialize(X=docs)
        predicted, optimizer = model.predict(docs), Adam(0.01)
        for _ in range(2):
            rows, backprop = model.begin_update(docs)
            backprop([row * 0.1 for row in rows])
            model.finish_update(optimizer)
        found.append([*predicted, *weights(model)])
    for stock, rich in zip(*found, strict=True):
        assert np.array_equal(stock, rich)


def weights(model):
    """By shape and name, whatever the order of the layers."""
    found = [(node.get_param(name), name) for node in model.walk() for name in node.param_names]
    return [np.asarray(p) for p, _ in sorted(found, key=lambda own: (own[0].shape, own[1]))]


def test_everything_together_is_as_wide_as_it_says_and_every_part_counts(static):
    nlp = toy_vectors(blank())
    docs = [doc_of("Oslo rome zzz", nlp), doc_of("", nlp), doc_of("storm", nlp)]
    model = RichEmbed(**SMALL, include_static_vectors=True, subwords=static)
    model.initialize(X=docs)
    assert model.get_dim("nO") == 8
    assert [row.shape for row in model.predict(docs)] == [(3, 8), (0, 8), (1, 8)]
    (mix,) = [node for node in model.walk() if node.name == "maxout"]
    assert mix.get_dim("nI") == 8 * (2 + 1 + 1)
    rows = sorted(node.get_dim("nV") for node in model.walk() if node.name == "hashembed")
    assert rows == [30, 50]
    seeds = [node.attrs["seed"] for node in model.walk() if node.name == "hashembed"]
    assert len(set(seeds)) == len(seeds)
    set_dropout_rate(model, 0.5)
    found, backprop = model.begin_update(docs)
    backprop([np.random.default_rng(2).normal(size=row.shape).astype("f") for row in found])
    trained = [(node, name) for node in model.walk() for name in node.param_names]
    assert all(node.has_grad(name) and node.get_grad(name).any() for node, name in trained)
    for empty in ([], [doc_of("", nlp)] * 2):
        rows, backprop = model.begin_update(empty)
        assert [row.shape for row in rows] == [(0, 8)] * len(empty) and backprop(rows) == []


@pytest.mark.parametrize("subwords", [False, True])
def test_prediction_embeds_each_distinct_word_once_to_the_same_rows(subwords, static):
    """Rome and rome share their keys, but not their static vectors."""
    nlp = toy_vectors(blank()) if subwords else blank()
    added = {"include_static_vectors": True, "subwords": static} if subwords else {}
    texts = ["Oslo rome rome storm", "", "rome Rome zzz yyy ROME", "a a a a a a"]
    docs = [doc_of(text, nlp) for text in texts]
    model = RichEmbed(8, attrs=["LOWER"], rows=[50], **added)
    model.initialize(X=docs)
    (mix,) = [node for node in model.walk() if node.name == "maxout"]
    seen = []
    forward = mix._func
    mix._func = lambda model, rows, is_train: seen.append(len(rows)) or forward(model, rows, is_train)
    trained, _ = model.begin_update(docs)
    for a, b in zip(trained, model.predict(docs), strict=True):
        assert a.shape == b.shape and np.allclose(a, b, atol=1e-6)
    n_distinct = len({word if subwords else word.lower() for text in texts for word in text.split()})
    assert seen == [sum(map(len, docs)), n_distinct]


def test_what_is_taken_from_a_pipeline_needs_the_vectors_it_has_learnt_with():
    def with_vectors(columns):
        doc = doc_of("Oslo")
        doc.vocab.set_vector("Oslo", np.ones(columns, dtype="float32"))
        return doc

    model = RichEmbed(width=8, rows=[10, 10, 10, 10], include_static_vectors=True)
    model.initialize(X=[with_vectors(5)])
    assert model.predict([with_vectors(5)])[0].shape == (1, 8)
    for doc, code in ((doc_of("Oslo"), "L240"), (with_vectors(7), "L240.*5.*7")):
        for is_train in (False, True):
            with pytest.raises(ValueError, match=code):
                model([doc], is_train)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "L001"),
        ({"rows": [10]}, "L001"),
        ({"attrs": ["NORM", "NOISE"], "rows": [50, 30]}, r"L001.*attrs.*NOISE"),
        ({"attrs": [], "rows": []}, r"L824.*include_static_vectors"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RichEmbed(**settings)
