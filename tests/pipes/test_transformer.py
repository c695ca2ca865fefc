"""`longtail_token_ner` over a shared transformer: a tiny BERT with random weights, made on disk."""

import json
import shutil

import numpy as np
import pytest
import spacy
from thinc.api import Adam

from tests.util import blank, examples, reloaded, run_python, run_spacy, tiny_bert, train, trained_once
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


NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def step(nlp, batches, optimizer):
    """One step as `spacy train` makes it: nlp.update would step a shared encoder one batch late."""
    for batch in batches:
        nlp.update(batch, sgd=False, drop=0.0)
    for _, pipe in nlp.pipeline:
        pipe.finish_update(optimizer)


def test_predictions_do_not_depend_on_the_batch(bert):
    nlp, _ = trained(bert, "crf")
    texts = [*texts_of(nlp), "", " ", "Oslo", " ".join(texts_of(nlp))]
    alone = entity_offsets(nlp(text) for text in texts)
    assert (
        alone
        == entity_offsets(nlp.pipe(texts, batch_size=2))
        == entity_offsets(nlp.pipe(texts, batch_size=64))
    )
    assert any(alone)


def test_a_head_with_an_encoder_of_its_own_predicts_as_over_the_shared_one(bert):
    """replace_listeners, which sourcing a pipe into another pipeline needs."""
    nlp, _ = trained(bert, "softmax")
    texts = texts_of(nlp)
    expected = entity_offsets(nlp.pipe(texts))
    nlp.replace_listeners("transformer", "ner", ["model.tok2vec"])
    nlp.remove_pipe("transformer")
    assert entity_offsets(nlp.pipe(texts)) == expected and any(expected)


def test_a_batch_in_parts_trains_the_encoder_as_the_whole_does(bert):
    """spaCy's accumulate_gradient over a shared transformer: the parts' gradients add up."""
    weights = []
    for n_parts in (1, 2):
        nlp = pipeline(bert, "softmax", transformer_config=dict(NO_DROPOUT))
        spacy.util.fix_random_seed(0)
        nlp.initialize(lambda: examples(nlp))
        optimizer = Adam(0.01, grad_clip=0.0, use_averages=False)
        data = examples(nlp)
        for _ in range(3):
            step(nlp, [data[part::n_parts] for part in range(n_parts)], optimizer)
        weights.append(nlp.get_pipe("ner").model.get_ref("output_layer").get_param("W").copy())
    assert np.abs(weights[0]).max() > 0.01
    assert np.allclose(*weights, atol=2e-4)


@pytest.mark.slow
def test_a_packaged_pipeline_holds_its_encoder(bert, tmp_path):
    """The folder that the encoder came from is gone, and there is no hub: it loads all the same."""
    folder = tmp_path / "bert"
    shutil.copytree(bert, folder)
    nlp = pipeline(folder, "crf")
    train(nlp, 20)
    expected = entity_offsets(nlp.pipe(texts_of(nlp)))
    nlp.to_disk(tmp_path / "model")
    shutil.rmtree(folder)
    run_spacy("package", tmp_path / "model", tmp_path, "--name", "rare", "--build", "none")
    (built,) = tmp_path.glob("en_rare-*/en_rare/en_rare-*")
    code = (
        "import json, spacy, sys; nlp = spacy.load(sys.argv[1]);"
        "docs = list(nlp.pipe(json.loads(sys.argv[2])));"
        "print(json.dumps([[(e.start, e.end, e.label_) for e in d.ents] for d in docs]))"
    )
    shown = run_python(code, built, json.dumps(texts_of(nlp)), HF_HUB_OFFLINE="1")
    assert json.loads(shown) == [[list(e) for e in doc] for doc in expected]
