"""`longtail_posterior_gate`: what it flags, beside what, and where it finds the primary."""

import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_longtail.pipes.gate.flagging import flagged_parts
from spacy_longtail.pipes.scores.probabilities import read_probabilities
from spacy_longtail.pipes.transition.actions import beginnings, columns_of
from spacy_longtail.pipes.transition.ner import LongtailNER
from spacy_longtail.sentences import sentence_lengths
from spacy_longtail.unlabelled.expectations import KEY as EXPECTED
from spacy_longtail.unlabelled.expectations import record_expectations
from tests.util import (
    GATE_MODEL,
    LISTENER,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    blank,
    entities,
    examples,
    from_bytes,
    one_pipe,
    reloaded,
    small_ner,
    start_sentences,
    trained_once,
    two_sentences,
    words,
)

KEY = "weak_sentences"
SCORED = {"scores_key": "entity_scores"}
PRIMARIES = {
    "softmax": {"factory": "longtail_token_ner", "model": TOKEN_MODEL, **SCORED},
    "crf": {"factory": "longtail_token_ner", "model": TOKEN_MODEL, "head": "crf"},
    "transition": {"factory": "longtail_ner", **small_ner(**SCORED)},
    "stock": {"factory": "ner", **small_ner()},
}
RARE = [i for i, text in enumerate(SENTENCES) if "|NAT]" in text or "|ART]" in text]


def primary(name, steps=40):
    return trained_once(one_pipe, steps, **PRIMARIES[name])[0]


def add_gate(nlp, name="gate", **settings):
    config = {"rare_labels": WEAK, **settings}
    return nlp.add_pipe("longtail_posterior_gate", name=name, config=config)


def gated(name="softmax", **settings):
    nlp = primary(name)
    add_gate(nlp, **settings)
    return nlp


def read(nlp, **settings):
    """Return the sentences of the toy corpus after all components."""
    return list(nlp.pipe([words(nlp, text) for text in SENTENCES], **settings))


def shared(factory="longtail_token_ner"):
    """A NER that listens."""
    nlp = one_pipe("tok2vec", "tok2vec", model=SMALL)
    model = small_ner()["model"] if factory == "ner" else TOKEN_MODEL
    nlp.add_pipe(factory, name="ner", config={"model": {**model, "tok2vec": LISTENER}})
    return nlp


def mentions(pipe, docs):
    """The expected mentions of NAT and ART in each sentence, which the primary's model gives."""
    labels = list(pipe.labels)
    if isinstance(pipe, LongtailNER):
        begins = beginnings(pipe.model, columns_of(pipe.moves), docs, labels)
    else:
        begins = pipe.tokens.marginals(docs) @ pipe.tokens.codec.beginnings()
    begins = begins[:, [labels.index(label) for label in WEAK]]
    ends = np.cumsum([n for doc in docs for n in sentence_lengths(doc)])[:-1]
    return np.array([rows.sum(axis=0) for rows in np.split(begins, ends)])


def flag(gate, *expected):
    """Let a gate flag sentences of one word each, in which so many mentions are expected."""
    doc = Doc(gate.vocab, words=["word"] * len(expected), sent_starts=[True] * len(expected))
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
    docs = [*read(nlp), nlp(two_sentences(nlp, bounded=True).predicted)]
    expected = mentions(nlp.get_pipe("ner"), docs)
    assert nlp.get_pipe("gate").predict(docs) == pytest.approx(expected, abs=1e-6)
    assert expected[:, 0].sum() == pytest.approx(3, abs=0.3)  # NAT
    assert np.flatnonzero((expected >= 0.1).any(axis=1)).tolist() == [*RARE, 9]
    for i, doc in enumerate(docs[:-1]):
        group = doc.spans[KEY]
        assert places(doc) == ([(0, len(doc))] if i in RARE else [])
        assert group.attrs["scores"] == pytest.approx([expected[i].sum()] if i in RARE else [], abs=1e-5)
        assert group.attrs["pipes"] == ["gate"] * len(group)
    assert places(docs[-1]) == [(6, len(docs[-1]))]
    assert nlp.evaluate(examples(nlp))["weak_sents_f"] == 1.0


TRAINED_GATE = {"factory": "longtail_sentence_gate", "name": "gate", "model": GATE_MODEL}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(
    "build", [gated, lambda: trained_once(one_pipe, 40, rare_labels=WEAK, **TRAINED_GATE)[0]]
)
def test_gates_and_rules_flag_together_in_any_order(build, place):
    nlp = build()
    ruler(nlp, pattern="hours", **{place: "gate"})
    rain_and_storm = Doc.from_docs([words(nlp, SENTENCES[3]), words(nlp, SENTENCES[1])])
    bare = start_sentences(rain_and_storm, 0, 6).copy()
    bare.set_ents([])
    doc = nlp(rain_and_storm)
    group = doc.spans[KEY]
    spans = [(4, 5, "SHIP"), (6, len(doc), "")]
    assert sorted((span.start, span.end, span.label_) for span in group) == spans
    assert "gate" in group.attrs["pipes"]
    assert place == "after" or ("", 1.0) in zip(group.attrs["pipes"], group.attrs["scores"])
    assert flagged_parts(doc, KEY, "weak_ner") == [(0, 6), (6, len(doc))]
    assert nlp.get_pipe("gate").score([Example(doc, bare)])["weak_sents_open"] == 1.0
    for _ in range(2):  # a ruler adds its spans again, the gate its own no second time
        doc = nlp(doc)
        assert flagged_parts(doc, KEY, "weak_ner") == [(0, 6), (6, len(doc))]
        assert sum(not span.label_ for span in doc.spans[KEY]) == 1
        assert place == "after" or len(doc.spans[KEY]) == 2


SECONDARY = {"model": TOKEN_MODEL, "labels": WEAK, "merge": "fill"}


def test_what_a_secondary_expects_counts_in_flagged_sentences():
    nlp = gated()
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=SECONDARY)
    nlp.get_pipe("weak_ner").initialize(lambda: examples(nlp))
    record_expectations(nlp)
    mentions = [doc.user_data[EXPECTED]["weak_ner"]["mentions"].sum() for doc in read(nlp)]
    assert np.flatnonzero(mentions).tolist() == RARE


def test_a_shared_encoder_does_not_run_again():
    nlp, _ = trained_once(shared, 40)
    add_gate(nlp)
    calls = []
    layer = nlp.get_pipe("tok2vec").model.layers[0]
    forward = layer._func
    layer._func = lambda model, X, is_train: calls.append(len(X)) or forward(model, X, is_train)
    assert [i for i, doc in enumerate(read(nlp, batch_size=3)) if doc.spans[KEY]] == RARE
    assert calls == [3, 3, 2]


@pytest.mark.parametrize("width", [16, 24])
@pytest.mark.parametrize("factory", ["longtail_token_ner", "ner"])
def test_another_encoder_after_the_primary_changes_nothing(factory, width):
    """Both encoders write to doc.tensor."""
    nlp, _ = trained_once(shared, 40, factory=factory)
    add_gate(nlp)
    wanted = nlp.get_pipe("gate").predict(read(nlp))
    nlp.add_pipe("tok2vec", name="second", before="gate", config={"model": {**SMALL, "width": width}})
    nlp.get_pipe("second").initialize(lambda: examples(nlp), nlp=nlp)
    record_expectations(nlp)
    docs = read(nlp)
    assert {doc.tensor.shape[1] for doc in docs} == {width}
    assert np.array_equal(nlp.get_pipe("gate").predict(docs), wanted)
    own = np.array([doc.user_data[EXPECTED]["ner"]["mentions"].sum(axis=0) for doc in docs])
    labels = docs[0].user_data[EXPECTED]["ner"]["labels"]
    np.testing.assert_allclose(own[:, [labels.index(label) for label in WEAK]], wanted, rtol=1e-6)


@pytest.mark.parametrize("name", PRIMARIES)
def test_a_gate_with_a_source_reads_the_ner_of_its_new_pipeline(name, tmp_path):
    nlp = primary("softmax", steps=3)  # another model, of which other probabilities come
    nlp.get_pipe("ner").cfg["write_probabilities"] = True
    nlp.add_pipe("gate", source=gated(name))
    for own in (nlp, reloaded(nlp, tmp_path)):
        docs = read(own)
        expected = mentions(nlp.get_pipe("ner"), docs)
        assert own.get_pipe("gate").predict(docs) == pytest.approx(expected, abs=1e-6)


def test_a_gate_with_a_source_in_a_config_reads_the_ner_that_is_trained(tmp_path):
    gated().to_disk(tmp_path)
    config = one_pipe(**PRIMARIES["softmax"]).config.copy()
    config["components"]["ner"]["write_probabilities"] = True
    config["components"]["gate"] = {"source": str(tmp_path)}
    config["nlp"]["pipeline"] = ["ner", "gate"]
    nlp = blank().from_config(config)
    nlp.initialize(lambda: examples(nlp))
    docs = read(nlp)
    expected = mentions(nlp.get_pipe("ner"), docs)
    assert nlp.get_pipe("gate").predict(docs) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["softmax", "stock"])
def test_a_gate_with_a_source_behind_a_ner_that_writes_nothing_is_refused(name):
    nlp = primary(name, steps=3)
    nlp.add_pipe("gate", source=gated())
    with pytest.raises(ValueError, match=r"L810.*gate found no probabilities.*write_probabilities"):
        nlp(words(nlp, SENTENCES[0]))


def test_a_stock_ner_before_a_gate_becomes_ours_with_the_same_entities(tmp_path):
    nlp = primary("stock")
    stock = nlp.get_pipe("ner")
    found = [entities(doc) for doc in read(nlp)]
    add_gate(nlp)
    assert nlp.get_pipe_meta("ner").factory == "longtail_ner"
    assert [entities(doc) for doc in read(nlp)] == found
    assert nlp.config["components"]["ner"]["model"]["hidden_width"] == 16
    stock.add_label("SHIP")  # who holds the stock component still changes the pipeline
    assert "SHIP" in nlp.get_pipe("ner").labels
    assert [entities(doc) for doc in read(reloaded(nlp, tmp_path))] == found


@pytest.mark.parametrize("name", ["stock", "softmax"])
def test_a_saved_pipeline_with_a_stock_ner_or_without_the_setting_loads(name, tmp_path):
    """As pipelines of 0.3.0: the primary was not asked to write probabilities."""
    nlp = primary(name)
    nlp.get_pipe("ner").cfg.pop("write_probabilities", None)
    nlp.to_disk(tmp_path)
    config = nlp.config.copy()
    config["components"]["ner"].pop("write_probabilities", None)
    config["components"]["gate"] = {"factory": "longtail_posterior_gate", "rare_labels": WEAK}
    config["nlp"]["pipeline"] = ["ner", "gate"]
    blank().from_config(config).get_pipe("gate").to_disk(tmp_path / "gate")
    config.to_disk(tmp_path / "config.cfg")
    docs = read(spacy.load(tmp_path))
    assert [i for i, doc in enumerate(docs) if doc.spans[KEY]] == RARE


def test_probabilities_travel_with_a_document():
    nlp = gated()
    gate, doc = nlp.get_pipe("gate"), nlp(words(nlp, SENTENCES[1]))
    tags, p = read_probabilities(doc, "ner", "test")
    assert tags[0] == "O" and p.shape == (len(doc), len(tags)) and p.dtype == "float32"
    store = DocBin(store_user_data=True)
    store.add(doc)
    (stored,) = DocBin().from_bytes(store.to_bytes()).get_docs(nlp.vocab)
    for copy in (pickle.loads(pickle.dumps(doc)), stored, Doc(nlp.vocab).from_bytes(doc.to_bytes())):
        assert np.array_equal(gate.predict([copy]), gate.predict([doc]))


def test_a_gate_names_its_primary_or_takes_the_last_that_writes():
    nlp = gated(primary="ner")
    config = {"model": TOKEN_MODEL, "include": ["PER"], "write_probabilities": True}
    nlp.add_pipe("longtail_token_ner", name="people", before="gate", config=config)
    nlp.get_pipe("people").initialize(lambda: examples(nlp), nlp=nlp)
    gate, text = nlp.get_pipe("gate"), words(nlp, SENTENCES[0])
    assert places(nlp(text))
    gate.cfg["primary"] = None
    with pytest.raises(ValueError, match=r"L812.*NAT, ART.*PER"):
        nlp(text)
    gate.cfg["primary"] = "nobody"
    with pytest.raises(ValueError, match=r"L810.*'nobody'.*ner, people"):
        nlp(text)


def test_a_secondary_before_a_gate_is_no_primary():
    nlp = gated()
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", before="gate", config=SECONDARY)
    with nlp.select_pipes(disable=["weak_ner"]):
        assert places(nlp(words(nlp, SENTENCES[0])))
    assert not nlp.get_pipe("weak_ner").cfg["write_probabilities"]


def test_a_disabled_primary_is_named():
    nlp = gated()
    with nlp.select_pipes(enable=["gate"]), pytest.raises(ValueError, match=r"L810.*any component"):
        nlp(words(nlp, SENTENCES[0]))


def test_tokens_that_changed_after_the_primary_are_refused():
    nlp = gated()
    nlp.add_pipe("merge_entities", before="gate")
    with pytest.raises(ValueError, match=r"L811.*10 tokens.*8 tokens"):
        nlp(words(nlp, SENTENCES[1]))


def test_a_budget_begins_where_the_saved_one_begins(tmp_path):
    nlp = blank()
    gate = add_gate(nlp, budget=0.25)
    gate.cfg["start"] = [0.9, 0.5, 0.1, 0.7]
    gate.restart()
    rows = (0.95, 0.5, 0.99, 0.2)
    first = [places(flag(gate, row)) for row in rows]
    assert any(first) and not all(first)
    for again in (reloaded(nlp, tmp_path), from_bytes(nlp)):
        loaded = again.get_pipe("gate")
        assert loaded.cfg["start"] == pytest.approx(gate.cfg["start"])
        assert [places(flag(loaded, row)) for row in rows] == first
    assert places(flag(pickle.loads(pickle.dumps(gate)), 0.9)) == places(flag(gate, 0.9))


def test_a_budget_that_is_initialized_again_forgets_where_it_began():
    gate = gated("crf", budget=0.25).get_pipe("gate")
    gate.cfg["start"] = [0.9, 0.5, 0.1, 0.7]
    gate.initialize(list, nlp=gated("crf"))
    assert gate.cfg["start"] is None


def test_a_gate_takes_back_what_it_flagged_itself_and_nothing_else():
    nlp = blank()
    gate, other = add_gate(nlp, threshold=0.5), add_gate(nlp, "other", threshold=0.7)
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


# a parser whose actions have no probabilities of their own, since it looks at other tokens
LOOKING = {"model": {**small_ner()["model"], "extra_state_tokens": True}}


@pytest.mark.parametrize(
    ("factory", "settings"),
    [("beam_ner", {}), ("entity_ruler", {}), ("ner", LOOKING), ("longtail_ner", LOOKING)],
)
def test_a_gate_without_a_primary_that_has_probabilities_is_refused(factory, settings):
    nlp = one_pipe(factory, **settings)
    add_gate(nlp)
    with pytest.raises(ValueError, match=r"L210.*gate needs an NER that can write.*found ner"):
        nlp.initialize(lambda: examples(nlp))


def test_a_gate_before_its_primary_is_refused():
    nlp = blank()
    add_gate(nlp)
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": TOKEN_MODEL})
    with pytest.raises(ValueError, match=r"L210.*found none"):
        nlp.initialize(lambda: examples(nlp))


def test_a_document_that_a_gate_cannot_read_goes_to_the_error_handler():
    nlp = blank()
    gate = add_gate(nlp)
    failed = []
    gate.set_error_handler(lambda name, pipe, docs, error: failed.append(len(docs)))
    assert not list(gate.pipe([nlp.make_doc(text) for text in "ab"])) and failed == [2]
