"""`longtail_token_ner` over a shared transformer: a tiny BERT with random weights, made on disk."""

import numpy as np
import pytest
import spacy

from tests.util import SENTENCES, blank, examples, parse, train

pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)

    folder = tmp_path_factory.mktemp("bert")
    words = sorted({w.lower() for s in SENTENCES for w in (t.text for t in parse(blank(), s))})
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *map(chr, range(97, 123))]
    (folder / "vocab.txt").write_text("\n".join(vocab), encoding="utf8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def pipeline(bert, head):
    nlp = blank()
    encoder = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": str(bert),
        "tokenizer_config": {"use_fast": True},
        "get_spans": {
            "@span_getters": "spacy-transformers.strided_spans.v1",
            "window": 32,
            "stride": 24,
        },
    }
    nlp.add_pipe("transformer", config={"model": encoder})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": listener}
    settings = {"model": model, "head": head, "scores_key": "entity_scores"}
    nlp.add_pipe("longtail_token_ner", name="ner", config=settings)
    return nlp


@pytest.mark.parametrize("head", ["softmax", "crf", "two_task"])
def test_a_shared_transformer(head, bert, tmp_path):
    nlp = pipeline(bert, head)
    history = train(nlp, 40)
    assert history[-1]["ner"] < 0.5 * history[0]["ner"]
    assert history[-1]["transformer"] > 0  # the squared gradient that reached the encoder
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    texts = [eg.reference.text for eg in examples(nlp)]
    for a, b in zip(nlp.pipe(texts), again.pipe(texts), strict=True):
        assert [(e.text, e.label_) for e in a.ents] == [(e.text, e.label_) for e in b.ents]
        scores = [d.spans["entity_scores"].attrs["scores"] for d in (a, b)]
        assert np.allclose(*scores, atol=1e-4)
    assert any(doc.ents for doc in nlp.pipe(texts))
