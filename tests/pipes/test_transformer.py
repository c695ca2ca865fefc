"""`longtail_token_ner` over a shared transformer: a tiny BERT with random weights, made on disk."""

import numpy as np
import pytest

from tests.util import blank, examples, reloaded, tiny_bert, trained_once
from tests.util import entity_offsets as places

pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"), n_positions=64)


def pipeline(folder, head, architecture="spacy-transformers.TransformerModel.v3", **settings):
    nlp = blank()
    rate = settings.pop("head_rate", 1.0)
    spans = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 32, "stride": 24}
    encoder = {"@architectures": architecture, "name": str(folder), "get_spans": spans}
    encoder |= {"tokenizer_config": {"use_fast": True}, **settings}
    nlp.add_pipe("transformer", config={"model": encoder})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": listener}
    settings = {"model": model, "head": head, "scores_key": "entity_scores", "head_rate": rate}
    nlp.add_pipe("longtail_token_ner", name="ner", config=settings)
    return nlp


def trained(folder, head):
    return trained_once(pipeline, 40, folder=folder, head=head)


def texts_of(nlp):
    return [eg.reference.text for eg in examples(nlp)]


def entity_offsets(docs):
    return list(map(places, docs))


@pytest.mark.parametrize("head", ["softmax", "crf", "two_task"])
def test_a_shared_transformer(head, bert, tmp_path):
    nlp, history = trained(bert, head)
    assert history[-1]["ner"] < 0.5 * history[0]["ner"]
    assert history[-1]["transformer"] > 0  # the squared gradient that reached the encoder
    again, texts = reloaded(nlp, tmp_path), texts_of(nlp)
    for a, b in zip(nlp.pipe(texts), again.pipe(texts), strict=True):
        assert places(a) == places(b)
        assert np.allclose(*[d.spans["entity_scores"].attrs["scores"] for d in (a, b)], atol=1e-4)
    assert any(doc.ents for doc in nlp.pipe(texts))


def test_a_head_with_an_encoder_of_its_own_predicts_as_over_the_shared_one(bert):
    """replace_listeners, which sourcing a pipe into another pipeline needs."""
    nlp, _ = trained(bert, "softmax")
    texts = texts_of(nlp)
    expected = entity_offsets(nlp.pipe(texts))
    nlp.replace_listeners("transformer", "ner", ["model.tok2vec"])
    nlp.remove_pipe("transformer")
    assert entity_offsets(nlp.pipe(texts)) == expected and any(expected)
