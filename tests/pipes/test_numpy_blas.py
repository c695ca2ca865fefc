"""`use_numpy_blas`: other matrix products, the same pipeline."""

import numpy as np
import pytest
import spacy
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_longtail import use_numpy_blas
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
