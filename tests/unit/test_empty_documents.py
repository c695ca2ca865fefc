"""Architectures that are used directly read documents without tokens, too."""

from importlib.util import find_spec

import numpy as np
import pytest
from spacy.util import registry

from spacy_longtail.layers.reading import Asked
from tests.util import MRC_MODEL, SENTENCES, SMALL, blank, tiny_bert, words

TORCH = pytest.mark.skipif(not find_spec("torch"), reason="needs the extra torch")
GATES = ["RNNCNNGate", "LSTMAttentionGate", "SelfAttentionGate"]
BILSTM = {"@architectures": "longtail.BiLSTM.v1", "embed": SMALL, "hidden_width": 8}
CLASSIFIER = {"@architectures": "longtail.TokenClassifier.v1", "nO": 5}
MODELS = [
    pytest.param({"@architectures": "longtail.SentenceGate.v1", "tok2vec": SMALL}, id="SentenceGate"),
    *(
        pytest.param({"@architectures": f"longtail.{name}.v1", "tok2vec": SMALL}, id=name, marks=TORCH)
        for name in GATES
    ),
    pytest.param({**CLASSIFIER, "tok2vec": SMALL}, id="TokenClassifier"),
    pytest.param({**CLASSIFIER, "tok2vec": BILSTM}, id="TokenClassifier over BiLSTM", marks=TORCH),
    pytest.param(BILSTM, id="BiLSTM", marks=TORCH),
    pytest.param({"@architectures": "longtail.FrozenEncoder.v1", "tok2vec": SMALL}, id="FrozenEncoder"),
    pytest.param({"@architectures": "longtail.RichEmbed.v1", "width": 8}, id="RichEmbed"),
]


def build(block):
    model = registry.resolve({"model": block})["model"]
    nlp = blank()
    model.initialize(X=[words(nlp, text) for text in SENTENCES])
    return nlp, model


def rows(output):
    """The rows of all documents, whatever a model hands out."""
    if isinstance(output, list):
        return np.concatenate(output)
    return getattr(output, "dataXd", output)


@pytest.mark.parametrize("block", MODELS)
@pytest.mark.parametrize("n", [1, 2])
def test_documents_without_tokens_alone_have_no_rows_and_teach_nothing(block, n):
    nlp, model = build(block)
    docs = [nlp.make_doc("") for _ in range(n)]
    full = rows(model.predict([words(nlp, SENTENCES[0])]))
    assert rows(model.predict(docs)).shape == (0, full.shape[1])
    output, backprop = model.begin_update(docs)
    assert rows(output).shape == (0, full.shape[1])
    backprop(output)


@pytest.mark.parametrize("block", MODELS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_document_without_tokens_among_others_changes_nothing(block, at):
    nlp, model = build(block)
    full = [words(nlp, SENTENCES[0]), words(nlp, SENTENCES[1])]
    docs = [*full[:at], nlp.make_doc(""), *full[at:]]
    np.testing.assert_allclose(rows(model.predict(docs)), rows(model.predict(full)), atol=1e-6)
    output, backprop = model.begin_update(docs)
    backprop(output)


def test_a_transformer_reads_documents_without_tokens(tmp_path):
    block = {"@architectures": "longtail.Transformer.v1", "name": str(tiny_bert(tmp_path, width=8))}
    nlp, model = build(block)
    empty, full = nlp.make_doc(""), words(nlp, SENTENCES[0])
    for own in (model, registry.resolve({"model": block})["model"].from_bytes(model.to_bytes())):
        assert own.predict([empty])[0].shape == (0, 8)
    found = model.predict([full, empty])
    np.testing.assert_allclose(found[0], model.predict([full])[0], atol=1e-6)
    assert found[1].shape == (0, 8)


def test_a_question_to_a_sentence_without_tokens_has_no_answer():
    nlp = blank()
    model = registry.resolve({"model": MRC_MODEL})["model"]
    question = words(nlp, SENTENCES[0])
    model.initialize(X=[Asked(question, 3)])
    reading, backprop = model.begin_update([Asked(question, len(question))])
    assert reading.vectors.shape == (0, 16) and reading.logits.shape == (0, 2)
    backprop(reading)
