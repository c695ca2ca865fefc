"""`use_numpy_blas`: other matrix products, the same pipeline."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from thinc.api import NumpyOps

from spacy_longtail import use_numpy_blas
from spacy_longtail.layers import serving
from spacy_longtail.layers.serving import MAX_PRODUCTS, BlockOps
from tests.util import (
    LISTENER,
    SMALL,
    TOKEN_MODEL,
    from_bytes,
    one_pipe,
    reloaded,
    small_ner,
    toy_docs,
    train,
)

NAME = "longtail.numpy_blas.v1"


def kinds(nlp):
    """Whether the nodes of each component's model use BLIS."""
    return {name: {node.ops.use_blis for node in pipe.model.walk()} for name, pipe in nlp.components}


def predicted(nlp, pipe=map):
    """Return what the pipeline finds in the texts of the toy corpus."""
    return [doc.to_json() for doc in pipe(nlp, [doc.text for doc in toy_docs()])]


@pytest.mark.parametrize(
    ("factory", "settings"),
    [
        ("ner", small_ner()),
        ("longtail_ner", small_ner()),
        ("longtail_token_ner", {"model": TOKEN_MODEL}),
    ],
)
def test_predictions_stay(factory, settings):
    nlp = one_pipe(factory, **settings)
    train(nlp, 10)
    before = predicted(nlp)
    assert kinds(nlp) == {"ner": {True}}
    assert use_numpy_blas(nlp) is nlp and kinds(nlp) == {"ner": {False}}
    assert predicted(nlp) == before


def test_a_config_brings_it_into_training_and_into_what_is_loaded(tmp_path):
    config = one_pipe().config
    config["nlp"]["after_pipeline_creation"] = {"@callbacks": NAME}
    nlp = spacy.util.load_model_from_config(config)
    assert kinds(nlp) == {"ner": {False}}
    assert train(nlp, 1)[0]["ner"] > 0
    loaded = reloaded(nlp, tmp_path)
    # the output layer has grown since
    nodes = loaded.get_pipe("ner").model.walk()
    assert [node.name for node in nodes if node.ops.use_blis] == ["linear"]
    assert predicted(loaded) == predicted(nlp)


@pytest.mark.parametrize("shape", [(1, 96, 19), (33, 480, 288), (70, 288, 288), (0, 96, 5), (3, 0, 4)])
@pytest.mark.parametrize("trans2", [False, True])
def test_products_in_blocks_are_those_of_the_whole(shape, trans2):
    n_rows, n_inner, n_columns = shape
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_inner)).astype("float32")
    y = rng.normal(size=(n_columns, n_inner) if trans2 else (n_inner, n_columns)).astype("float32")
    wanted = x @ (y.T if trans2 else y)
    out = np.zeros((n_rows, n_columns), dtype="float32")
    assert BlockOps().gemm(x, y, trans2=trans2) == pytest.approx(wanted, abs=1e-4)
    assert BlockOps().gemm(x, y, out=out, trans2=trans2) is out
    assert out == pytest.approx(wanted, abs=1e-4)


def test_no_block_is_large_enough_for_threads_of_openblas():
    sizes = []

    class Logged(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **settings):
            plain = [np.asarray(array) for array in inputs]
            if ufunc is np.matmul:
                sizes.append(plain[0].size * plain[1].shape[1])
            return getattr(ufunc, method)(*plain, **settings)

    x, y = np.ones((70, 480), dtype="float32"), np.ones((288, 480), dtype="float32")
    product = BlockOps().gemm(x.view(Logged), y.view(Logged), trans2=True)
    assert (product == 480.0).all()
    assert sum(sizes) == 70 * 480 * 288 and max(sizes) <= MAX_PRODUCTS


@pytest.mark.parametrize(("chosen", "expected"), [("numpy", True), ("blis", False)])
def test_a_variable_decides_without_measuring(chosen, expected, monkeypatch):
    monkeypatch.setenv(serving.VARIABLE, chosen)
    monkeypatch.setattr(BlockOps, "gemm", None)  # measuring would call it

    assert serving.is_numpy_faster.__wrapped__() is expected


def test_a_variable_of_another_value_is_refused(monkeypatch):
    monkeypatch.setenv(serving.VARIABLE, "mkl")

    with pytest.raises(
        ValueError, match=r"L001.*'SPACY_LONGTAIL_BLAS' must be numpy or blis, found 'mkl'"
    ):
        serving.is_numpy_faster.__wrapped__()


@pytest.fixture
def is_faster(monkeypatch, request):
    monkeypatch.setattr(serving, "is_numpy_faster", lambda: request.param)


def with_shared_encoder():
    nlp = one_pipe("tok2vec", "tok2vec", model=SMALL)
    nlp.add_pipe("longtail_token_ner", config={"model": {**TOKEN_MODEL, "tok2vec": LISTENER}})
    nlp.add_pipe("ner", config=small_ner())
    return nlp


def operations(nlp):
    """The kinds of operations of each component's model."""
    return {name: {type(node.ops) for node in pipe.model.walk()} for name, pipe in nlp.components}


@pytest.mark.parametrize("is_faster", [True], indirect=True)
def test_a_loaded_pipeline_takes_numpy_where_that_is_faster(is_faster, tmp_path):
    nlp = with_shared_encoder()
    train(nlp, 25)
    loaded = reloaded(nlp, tmp_path)
    for own in (loaded, from_bytes(nlp)):
        assert operations(own) == {
            "tok2vec": {BlockOps},
            "longtail_token_ner": {BlockOps},
            "ner": {NumpyOps},
        }
    expected = predicted(nlp)
    assert any(doc["ents"] for doc in expected)
    assert predicted(loaded) == expected
    with ThreadPoolExecutor(4) as pool:
        assert predicted(loaded, pool.map) == expected
    assert kinds(use_numpy_blas(loaded))["tok2vec"] == {False}


@pytest.mark.parametrize("is_faster", [True], indirect=True)
def test_the_encoder_of_a_loaded_longtail_ner_takes_numpy_where_that_is_faster(is_faster, tmp_path):
    nlp = one_pipe("longtail_ner", **small_ner())
    train(nlp, 10)

    loaded = reloaded(nlp, tmp_path)

    tok2vec = loaded.get_pipe("ner").model.get_ref("tok2vec")
    assert {type(node.ops) for node in tok2vec.walk()} == {BlockOps}
    assert predicted(loaded) == predicted(nlp)


@pytest.mark.parametrize("is_faster", [False], indirect=True)
def test_a_loaded_pipeline_stays_with_blis_where_numpy_is_not_faster(is_faster, tmp_path):
    nlp = with_shared_encoder()
    train(nlp, 1)
    assert set().union(*operations(reloaded(nlp, tmp_path)).values()) == {NumpyOps}


def test_numpy_multiplies(monkeypatch):
    """Not BLIS under another name: what a model predicts comes from NumPy's products."""
    nlp = one_pipe()
    train(nlp, 10)
    shapes, usual = [], np.dot

    def dot(a, b, **given):
        shapes.append(a.shape)
        return usual(a, b, **given)

    monkeypatch.setattr(np, "dot", dot)
    nlp("Anna went to Berlin .")
    assert not shapes
    use_numpy_blas(nlp)("Anna went to Berlin .")
    assert (5, 96) in shapes and len(shapes) > 4
