"""Pipelines put together by hand: parts taken from others, listeners replaced, loops without a config."""

import copy
import warnings

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from tests.util import small_ner

ENCODER = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 16,
    "depth": 2,
    "embed_size": 100,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
    "pretrained_vectors": None,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
TAGGER = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": LISTENER}
GATE = {"@architectures": "longtail.SentenceGate.v1", "tok2vec": LISTENER}
PARSER = {**small_ner()["model"], "tok2vec": LISTENER}
LISTENERS = {
    "longtail_token_ner": {"model": TAGGER},
    "longtail_ner": {"model": PARSER},
    "longtail_sentence_gate": {"model": GATE, "weak_labels": ["NAT"]},
    "longtail_gated_ner": {"model": TAGGER, "labels": ["NAT"], "spans_key": None, "merge": "fill"},
}
SENTENCES = [
    (["Ann", "saw", "Ida", "."], [(0, 1, "PER"), (2, 3, "NAT")]),
    (["It", "rained", "on", "Bob", "."], [(3, 4, "PER")]),
    (["Storm", "Ida", "came", "late", "."], [(0, 2, "NAT")]),
]


def gold(nlp, order, bounded=True):
    words, ents, starts = [], [], []
    for i in order:
        own, spans = SENTENCES[i]
        ents += [(a + len(words), b + len(words), label) for a, b, label in spans]
        starts += [True, *[False] * (len(own) - 1)]
        words += own
    doc = Doc(nlp.vocab, words=words, sent_starts=starts if bounded else None)
    doc.ents = [Span(doc, a, b, label) for a, b, label in ents]
    return doc


def examples(nlp, bounded=True):
    docs = [gold(nlp, order, bounded) for order in ((0, 1, 2), (1, 0), (2, 1, 0), (1, 2))]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]


def listening(factory):
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": ENCODER})
    nlp.add_pipe(factory, name="own", config=LISTENERS[factory])
    return nlp


def gated(sentencizer=True, weak=LISTENER):
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": ENCODER})
    ner = {"model": TAGGER, "include": ["PER"], "scores_key": "entity_scores"}
    nlp.add_pipe("longtail_token_ner", name="ner", config=ner)
    if sentencizer:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=LISTENERS["longtail_sentence_gate"])
    own = {"model": {**TAGGER, "tok2vec": weak}, "labels": ["NAT"]}
    nlp.add_pipe("longtail_gated_ner", name="weak", config=own)
    return nlp


@pytest.mark.parametrize("factory", sorted(LISTENERS))
def test_a_listener_without_its_encoder_says_that_it_reads_zeros(factory):
    nlp = listening(factory)
    nlp.initialize(lambda: examples(nlp))
    text = "Ann saw Ida . It rained on Bob ."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(text)
        assert list(nlp.pipe(["", text, " "]))
        nlp.evaluate(examples(nlp))
    alone = spacy.blank("en")
    alone.add_pipe("own", source=nlp)
    with pytest.warns(UserWarning, match=r"LW106.*'own'"):
        alone(text)
    with pytest.warns(UserWarning, match="LW106"), nlp.select_pipes(disable="tok2vec"):
        list(nlp.pipe([text]))
    nlp.replace_listeners("tok2vec", "own", ["model.tok2vec"])
    moved = spacy.blank("en")
    moved.add_pipe("own", source=nlp)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved(text)


def test_a_secondary_reads_as_it_was_trained_once_it_has_an_encoder_of_its_own(tmp_path):
    nlp = gated()
    sgd = nlp.initialize(lambda: examples(nlp))
    for _ in range(4):
        nlp.update(examples(nlp), sgd=sgd, annotates=["sentencizer"])
    nlp.get_pipe("gate").cfg["threshold"] = 0.0

    def read(pipeline):
        docs = [Doc(pipeline.vocab, words=[t.text for t in eg.x]) for eg in examples(pipeline)]
        docs = [pipeline.get_pipe(name)(doc) for doc in docs for name in ["tok2vec"]]
        for doc in docs:
            for name in ("ner", "sentencizer", "gate"):
                doc = pipeline.get_pipe(name)(doc)
        found = pipeline.get_pipe("weak").predict(docs)
        return [(ent.place, pytest.approx(ent.score, abs=1e-6)) for ents in found for ent in ents]

    before = read(nlp)
    assert before
    nlp.replace_listeners("tok2vec", "weak", ["model.tok2vec"])
    assert read(nlp) == before
    nlp.to_disk(tmp_path / "model")
    assert read(spacy.load(tmp_path / "model")) == before
    assert read(copy.deepcopy(spacy.load(tmp_path / "model"))) == before
    loaded = spacy.load(tmp_path / "model")  # trained anew it has an encoder that reads sentences
    loaded.initialize(lambda: examples(loaded))
    assert not loaded.get_pipe("weak").cfg["reads_documents"]


@pytest.mark.parametrize(
    ("sentencizer", "bounded", "weak", "says"),
    [
        (True, False, LISTENER, "sentence by sentence"),
        (True, True, LISTENER, "sentence by sentence"),
        (False, True, LISTENER, "gold documents"),
        (True, False, ENCODER, "sentence by sentence"),
        (True, True, ENCODER, "sentence by sentence"),
    ],
)
def test_a_gate_that_learns_from_whole_documents_says_so(sentencizer, bounded, weak, says):
    nlp = gated(sentencizer, weak)
    data = [*examples(nlp, bounded), Example(nlp.make_doc(""), nlp.make_doc(""))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sgd = nlp.initialize(lambda: data)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nlp.update(data, sgd=sgd)
    said = [str(w.message) for w in found if "LW107" in str(w.message)]
    if says is None:
        assert not said
        return
    by_gold = bounded and weak is ENCODER  # which learns from gold sentences
    assert {message.split("'")[1] for message in said} == ({"gate"} if by_gold else {"gate", "weak"})
    assert all(says in message for message in said)
    for eg in data:
        eg.predicted = nlp.get_pipe("sentencizer")(eg.predicted) if sentencizer else eg.reference.copy()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nlp.update(data, sgd=sgd, annotates=["sentencizer"] if sentencizer else [])
    assert not [w for w in found if "LW107" in str(w.message)]
