"""`use_numpy_blas`: other matrix products, the same pipeline."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import NumpyOps

from spacy_longtail import use_numpy_blas
from spacy_longtail.layers import serving
from spacy_longtail.layers.serving import MAX_PRODUCTS, BlockOps
from tests.util import toy_docs

NAME = "longtail.numpy_blas.v1"


def kinds(nlp):
    """Whether the nodes of each component's model use BLIS."""
    return {name: {node.ops.use_blis for node in pipe.model.walk()} for name, pipe in nlp.components}


def trained(*factories, config=None):
    fix_random_seed(0)
    nlp = spacy.blank("en", config=config or {})
    for factory in factories:
        nlp.add_pipe(factory)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in toy_docs()]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples, sgd=optimizer)
    return nlp


@pytest.mark.parametrize("factory", ["ner", "longtail_ner", "longtail_token_ner"])
def test_predictions_stay(factory):
    nlp = trained(factory)
    texts = [doc.text for doc in toy_docs()]
    before = [doc.to_json() for doc in nlp.pipe(texts)]
    assert kinds(nlp) == {factory: {True}}
    assert use_numpy_blas(nlp) is nlp and kinds(nlp) == {factory: {False}}
    assert [doc.to_json() for doc in nlp.pipe(texts)] == before


def test_numpy_multiplies(monkeypatch):
    """Not BLIS under another name: what a model predicts comes from NumPy's products."""
    nlp = trained("longtail_token_ner")
    shapes, usual = [], np.dot

    def dot(a, b, **given):
        shapes.append(a.shape)
        return usual(a, b, **given)

    monkeypatch.setattr(np, "dot", dot)
    nlp("Anna went to Berlin .")
    assert not shapes
    use_numpy_blas(nlp)("Anna went to Berlin .")
    assert (5, 96) in shapes and len(shapes) > 4


def test_a_config_brings_it_into_training_and_into_what_is_loaded(tmp_path):
    nlp = trained(
        "longtail_token_ner", config={"nlp": {"after_pipeline_creation": {"@callbacks": NAME}}}
    )
    nlp = spacy.util.load_model_from_config(nlp.config)
    assert kinds(nlp) == {"longtail_token_ner": {False}}
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in toy_docs()]
    assert nlp.update(examples, sgd=nlp.initialize(lambda: examples))["longtail_token_ner"] > 0
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    # the output layer has grown since
    nodes = loaded.get_pipe("longtail_token_ner").model.walk()
    assert [node.name for node in nodes if node.ops.use_blis] == ["linear"]
    texts = [eg.text for eg in examples]
    assert [doc.to_json() for doc in loaded.pipe(texts)] == [doc.to_json() for doc in nlp.pipe(texts)]


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


@pytest.fixture
def is_faster(monkeypatch, request):
    monkeypatch.setattr(serving, "is_numpy_faster", lambda: request.param)


def with_shared_encoder():
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": listener}
    nlp.add_pipe("longtail_token_ner", config={"model": model})
    nlp.add_pipe("ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in toy_docs()]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples, sgd=optimizer)
    return nlp


def operations(nlp):
    """The kinds of operations of each component's model."""
    return {name: {type(node.ops) for node in pipe.model.walk()} for name, pipe in nlp.components}


@pytest.mark.parametrize("is_faster", [True], indirect=True)
def test_a_loaded_pipeline_takes_numpy_where_that_is_faster(is_faster, tmp_path):
    nlp = with_shared_encoder()
    nlp.to_disk(tmp_path)
    wanted = {"tok2vec": {BlockOps}, "longtail_token_ner": {BlockOps}, "ner": {NumpyOps}}
    loaded = spacy.load(tmp_path)
    assert operations(loaded) == wanted
    other = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert operations(other) == wanted
    texts = [doc.text for doc in toy_docs()]
    entities = [doc.to_json()["ents"] for doc in nlp.pipe(texts)]
    assert any(entities)
    assert [doc.to_json()["ents"] for doc in loaded.pipe(texts)] == entities
    with ThreadPoolExecutor(4) as pool:
        assert [doc.to_json()["ents"] for doc in pool.map(loaded, texts)] == entities
    assert kinds(use_numpy_blas(loaded))["tok2vec"] == {False}


@pytest.mark.parametrize("is_faster", [False], indirect=True)
def test_a_loaded_pipeline_stays_with_blis_where_numpy_is_not_faster(is_faster, tmp_path):
    with_shared_encoder().to_disk(tmp_path)
    assert set().union(*operations(spacy.load(tmp_path)).values()) == {NumpyOps}
