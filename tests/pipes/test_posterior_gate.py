"""`longtail_posterior_gate`: what it flags, beside what, and where it finds the primary."""

import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.pipes.gate.flagging import flagged_parts
from spacy_longtail.pipes.gate.posteriors import expected_mentions
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    blank,
    examples,
    one_pipe,
    small_ner,
    trained_once,
    two_sentences,
    words,
)

KEY = "weak_sentences"
PRIMARIES = {
    "longtail_token_ner": {"model": TOKEN_MODEL, "scores_key": "entity_scores"},
    "crf": {"model": TOKEN_MODEL, "head": "crf"},
    "longtail_ner": small_ner(scores_key="entity_scores"),
    "ner": small_ner(),
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "tok2vec"}
RARE = [i for i, text in enumerate(SENTENCES) if "|NAT]" in text or "|ART]" in text]


def primary(name="longtail_token_ner"):
    return one_pipe("longtail_token_ner" if name == "crf" else name, **PRIMARIES[name])


def gated(name="longtail_token_ner", **settings):
    nlp, _ = trained_once(primary, 40, name=name)
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"rare_labels": WEAK, **settings})
    return nlp


def shared():
    """A NER that listens."""
    nlp = blank()
    nlp.add_pipe("tok2vec", config={"model": SMALL})
    model = {**TOKEN_MODEL, "tok2vec": LISTENER}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
    return nlp


def flag(gate, *expected):
    """Let a gate flag sentences of one word each, in which so many mentions are expected."""
    doc = Doc(gate.vocab, words=["word"] * len(expected))
    for token in doc:
        token.is_sent_start = True
    gate.set_annotations([doc], np.array([[value, 0.0] for value in expected]))
    return doc


def places(doc):
    return [(span.start, span.end) for span in doc.spans[KEY]]


def ruler(nlp, label="SHIP", pattern="rained", overwrite=False, **settings):
    """A span ruler, whose one pattern is a word of a sentence that no gate flags."""
    rules = nlp.add_pipe("span_ruler", config={"spans_key": KEY, "overwrite": overwrite}, **settings)
    rules.add_patterns([{"label": label, "pattern": pattern}])
    return rules


@pytest.mark.parametrize("name", PRIMARIES)
def test_sentences_are_flagged_by_what_the_primary_expects(name):
    nlp = gated(name)
    gate = nlp.get_pipe("gate")
    docs = [words(nlp, text) for text in SENTENCES]
    docs.append(two_sentences(nlp).predicted)
    for token in docs[-1]:
        token.is_sent_start = token.i in (0, 6)
    docs = list(nlp.pipe(docs))
    (own,) = expected_mentions(nlp, docs)
    expected = own.mentions[:, [own.labels.index(label) for label in WEAK]]
    assert gate.predict(docs) == pytest.approx(expected, abs=1e-6)
    assert expected[:, 0].sum() == pytest.approx(3, abs=0.3)  # NAT
    flags = (expected >= 0.1).any(axis=1)
    assert np.flatnonzero(flags).tolist() == [*RARE, 9]
    for i, doc in enumerate(docs[:-1]):
        group = doc.spans[KEY]
        assert places(doc) == ([(0, len(doc))] if flags[i] else [])
        assert group.attrs["scores"] == pytest.approx([expected[i].sum()] if flags[i] else [], abs=1e-5)
        assert group.attrs["pipes"] == ["gate"] * len(group)
    assert places(docs[-1]) == [(6, len(docs[-1]))]
    assert nlp.evaluate(examples(nlp))["weak_sents_f"] == 1.0


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("gate", ["longtail_posterior_gate", "longtail_sentence_gate"])
def test_gates_and_rules_flag_together_in_any_order(gate, before):
    settings = {"model": GATE_MODEL, "rare_labels": WEAK}
    if gate == "longtail_posterior_gate":
        nlp = gated()
    else:
        nlp, _ = trained_once(one_pipe, 40, factory=gate, name="gate", **settings)
    ruler(nlp, pattern="hours", **({"before": "gate"} if before else {"after": "gate"}))
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary(), last=True)
    rain, storm = SENTENCES[3], SENTENCES[1]
    eg = Doc.from_docs([words(nlp, rain), words(nlp, storm)])
    for token in eg:
        token.is_sent_start = token.i in (0, 6)
    bare = eg.copy()
    bare.set_ents([])
    with nlp.select_pipes(disable=["weak_ner"]):
        doc = nlp(eg)
    assert sorted(places(doc)) == [(4, 5), (6, len(doc))]
    group = doc.spans[KEY]
    assert sorted(span.label_ for span in group) == ["", "SHIP"]
    own = dict(zip(map(tuple, zip(group.attrs["pipes"], group.attrs["scores"])), places(doc)))
    assert ("gate" in group.attrs["pipes"]) and (not before or ("", 1.0) in own)
    assert flagged_parts(doc, KEY, "weak_ner") == [(0, 6), (6, len(doc))]
    assert nlp.get_pipe("gate").score([Example(doc, bare)])["weak_sents_open"] == 1.0
    for _ in range(2):  # a ruler adds its spans again, the gate its own no second time
        with nlp.select_pipes(disable=["weak_ner"]):
            doc = nlp(doc)
        assert flagged_parts(doc, KEY, "weak_ner") == [(0, 6), (6, len(doc))]
        assert sum(not span.label_ for span in doc.spans[KEY]) == 1
        assert not before or len(doc.spans[KEY]) == 2


def secondary(**settings):
    return {"model": TOKEN_MODEL, "labels": WEAK, "merge": "fill", **settings}


def test_what_a_secondary_expects_counts_in_flagged_sentences():
    nlp = gated()
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary())
    nlp.get_pipe("weak_ner").initialize(lambda: examples(nlp))
    behind = expected_mentions(nlp, list(nlp.pipe(words(nlp, text) for text in SENTENCES)))[-1]
    assert np.flatnonzero(behind.mentions.sum(axis=1)).tolist() == RARE


def test_a_shared_encoder_does_not_run_again():
    nlp, _ = trained_once(shared, 40)
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"rare_labels": WEAK})
    calls = []
    layer = nlp.get_pipe("tok2vec").model.layers[0]
    forward = layer._func
    layer._func = lambda model, X, is_train: calls.append(len(X)) or forward(model, X, is_train)
    docs = list(nlp.pipe([words(nlp, text) for text in SENTENCES], batch_size=3))
    assert calls == [3, 3, 2]
    assert [i for i, doc in enumerate(docs) if doc.spans[KEY]] == RARE


@pytest.mark.parametrize("width", [16, 24])
def test_another_encoder_after_the_primary_changes_nothing(width):
    """Both write to doc.tensor, where the primary's listener reads when it counts again."""
    nlp, _ = trained_once(shared, 40)
    texts = [words(nlp, text) for text in SENTENCES]
    wanted = expected_mentions(nlp, list(nlp.pipe(texts)))[0].mentions
    nlp.add_pipe("tok2vec", name="second", config={"model": {**SMALL, "width": width}})
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"rare_labels": WEAK})
    nlp.get_pipe("second").initialize(lambda: examples(nlp), nlp=nlp)
    docs = list(nlp.pipe([words(nlp, text) for text in SENTENCES]))
    assert [i for i, doc in enumerate(docs) if doc.spans[KEY]] == RARE
    assert {doc.tensor.shape[1] for doc in docs} == {width}
    assert np.array_equal(expected_mentions(nlp, docs)[0].mentions, wanted)


def test_the_primary_is_the_last_that_counts_or_the_one_named():
    nlp = gated()
    config = {"model": TOKEN_MODEL, "include": ["PER"]}
    nlp.add_pipe("longtail_token_ner", name="people", before="gate", config=config)
    nlp.get_pipe("people").initialize(lambda: examples(nlp), nlp=nlp)
    gate = nlp.get_pipe("gate")
    with pytest.raises(ValueError, match=r"L210.*NAT, ART.*people.*PER"):
        nlp(words(nlp, SENTENCES[0]))
    gate.cfg["primary"] = "ner"
    with nlp.select_pipes(disable=["people"]):
        assert places(nlp(words(nlp, SENTENCES[0])))
    nlp.remove_pipe("people")
    gate.cfg["primary"] = None
    with nlp.select_pipes(enable=["gate"]):  # weights are read, whether or not it is enabled
        assert places(nlp(words(nlp, SENTENCES[0])))
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", before="gate", config=secondary())
    with nlp.select_pipes(disable=["weak_ner"]):
        assert places(nlp(words(nlp, SENTENCES[0])))  # a secondary is no primary


def test_a_budget_begins_where_the_saved_one_begins(tmp_path):
    nlp = blank()
    gate = nlp.add_pipe("longtail_posterior_gate", config={"rare_labels": WEAK, "budget": 0.25})
    gate.cfg["start"] = [0.9, 0.5, 0.1, 0.7]
    gate.restart()
    rows = (0.95, 0.5, 0.99, 0.2)
    first = [places(flag(gate, row)) for row in rows]
    assert any(first) and not all(first)
    nlp.to_disk(tmp_path)
    for again in (spacy.load(tmp_path), blank().from_config(nlp.config).from_bytes(nlp.to_bytes())):
        loaded = again.get_pipe("longtail_posterior_gate")
        assert loaded.cfg["start"] == pytest.approx(gate.cfg["start"])
        assert [places(flag(loaded, row)) for row in rows] == first
    assert places(flag(pickle.loads(pickle.dumps(gate)), 0.9)) == places(flag(gate, 0.9))
    nlp, _ = trained_once(primary, 40, name="crf")
    gate.initialize(list, nlp=nlp)
    assert gate.cfg["start"] is None


def test_a_gate_takes_back_what_it_flagged_itself_and_nothing_else():
    nlp = blank()
    gate, other = (
        nlp.add_pipe(
            "longtail_posterior_gate", name=name, config={"rare_labels": WEAK, "threshold": threshold}
        )
        for name, threshold in (("gate", 0.5), ("other", 0.7))
    )
    scores = np.array([[0.6, 0.0], [0.8, 0.0], [0.1, 0.0]])
    doc = flag(gate, *scores[:, 0])
    doc.spans[KEY] = [*doc.spans[KEY], Span(doc, 2, 3, label="SHIP")]
    doc.spans[KEY].attrs.update(scores=[0.6, 0.8], pipes=["gate", "gate"], about="rules")
    other.set_annotations([doc], scores)
    assert places(doc) == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert sorted(doc.spans[KEY].attrs["pipes"]) == ["", "gate", "gate", "other"]
    gate.cfg["threshold"] = 0.7
    gate.set_annotations([doc], scores)
    assert places(doc) == [(1, 2), (1, 2), (2, 3)]
    assert doc.spans[KEY].attrs["scores"] == pytest.approx([0.8, 0.8, 1.0])
    assert doc.spans[KEY].attrs["about"] == "rules"


@pytest.mark.parametrize(("before", "found"), [({"beam_width": 4}, "L210.*ner"), (None, "L210.*none")])
def test_a_gate_without_a_primary_before_it_is_refused(before, found):
    nlp = blank()
    gate = nlp.add_pipe("longtail_posterior_gate", config={"rare_labels": WEAK})
    ner = nlp.add_pipe("ner", config=small_ner(), **({"first": True} if before else {}))
    ner.cfg.update(before or {})
    with pytest.raises(ValueError, match=found):
        gate.predict([words(nlp, SENTENCES[0])])
    failed = []
    gate.set_error_handler(lambda name, pipe, docs, error: failed.append(len(docs)))
    assert not list(gate.pipe([nlp.make_doc(text) for text in "ab"])) and failed == [2]
