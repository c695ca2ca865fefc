"""The gate's torch architectures: against sums written out a sentence, and in a pipeline."""

import numpy as np
import pytest

from tests.util import SENTENCES, SMALL, examples, one_pipe, reloaded, train, words

torch = pytest.importorskip("torch")

from spacy_longtail.layers.torch_gates import (  # noqa: E402
    RNNCNN,
    LSTMAttention,
    SelfAttention,
    Sentences,
)
from spacy_longtail.layers.torch_layer import from_safetensors, to_safetensors  # noqa: E402

NAMES = ["RNNCNNGate", "LSTMAttentionGate", "SelfAttentionGate"]
LENGTHS = [3, 1, 7, 2]


def modules():
    torch.manual_seed(0)
    made = [RNNCNN(4, 0.0, 5), LSTMAttention(4, 0.0, 5), SelfAttention(4, 0.0, 3, 6, 5)]
    for module in made:  # the outputs are 0 before training
        torch.nn.init.normal_(module.output.weight)
        module.eval()
    return made


def states_of(module, rows):
    """The states of one sentence, by torch's own bidirectional LSTM."""
    lstm = torch.nn.LSTM(5, 4, bidirectional=True)
    ours = module.states
    own = dict(ours.forwards[0].named_parameters())
    back = dict(ours.backwards[0].named_parameters())
    lstm.load_state_dict({**own, **{f"{name}_reverse": value for name, value in back.items()}})
    states, (last, _) = lstm(rows.unsqueeze(1))
    return states[:, 0], last[:, 0].flatten()


@pytest.mark.parametrize("i", range(3), ids=NAMES)
def test_a_logit_is_what_the_paper_says(i):
    module = modules()[i]
    rows = torch.randn(sum(LENGTHS), 5)
    found = module(rows, LENGTHS)
    assert found.shape == (4, 1)
    for sentence, logit in zip(rows.split(LENGTHS), found, strict=True):
        h, last = states_of(module, sentence)
        if i == 0:
            words = torch.tanh(torch.cat([h, sentence], 1) @ module.words.weight.T + module.words.bias)
            reduced = words.max(dim=0).values
        elif i == 1:
            reduced = torch.softmax(h @ last, dim=0) @ h
        else:
            first, _, second = module.attend
            weights = torch.softmax(torch.tanh(h @ first.weight.T) @ second.weight.T, dim=0)
            reduced = (weights.T @ h).flatten()
        expected = reduced @ module.output.weight[0] + module.output.bias[0]
        assert logit.item() == pytest.approx(expected.item(), abs=1e-5)
    fresh = [RNNCNN(4, 0.0), LSTMAttention(4, 0.0), SelfAttention(4, 0.0, 3, 6)][i]  # of any width
    loaded = from_safetensors(fresh, to_safetensors(module), torch.device("cpu")).eval()
    assert torch.equal(loaded(rows, LENGTHS), found)


def test_weights_over_a_sentence_sum_to_one_however_large_the_scores():
    sentences = Sentences(torch.tensor(LENGTHS))
    scores = torch.randn(sum(LENGTHS), 2) * 500
    weights = sentences.softmax(scores)
    assert torch.allclose(sentences.sum(weights), torch.ones(4, 2))
    assert torch.isfinite(weights).all()
    assert torch.equal(sentences.max(scores)[1], scores[3])


def flagged(nlp):
    docs = nlp.pipe(words(nlp, text) for text in SENTENCES)
    return [len(doc.spans["weak_sentences"]) for doc in docs]


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_saves_and_loads(name, tmp_path):
    model = {"@architectures": f"longtail.{name}.v1", "tok2vec": SMALL, "hidden_width": 8}
    nlp = one_pipe("longtail_sentence_gate", "gate", model=model, rare_labels=["NAT", "ART"])
    history = train(nlp, 60)
    assert history[-1]["gate"] < 0.3 * history[0]["gate"]
    expected = [int("|NAT]" in text or "|ART]" in text) for text in SENTENCES]
    assert flagged(nlp) == expected
    again = reloaded(nlp, tmp_path)
    assert flagged(again) == expected
    docs = [eg.predicted for eg in examples(nlp)]
    logits = [np.asarray(pipe.get_pipe("gate").logits(docs)) for pipe in (nlp, again)]
    assert np.allclose(*logits, atol=1e-6)
    assert nlp("").spans["weak_sentences"] is not None
