"""`longtail_posterior_gate`: what it flags, beside what, and where it finds the primary."""

import pickle
import warnings

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.pipes.gate.expected import expected_mentions
from spacy_longtail.pipes.gate.posterior_gate import PosteriorGate, Signals
from spacy_longtail.pipes.gate.weak_sentences import flagged_parts
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    blank,
    examples,
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
    nlp = blank()
    factory = "longtail_token_ner" if name == "crf" else name
    nlp.add_pipe(factory, name="ner", config=PRIMARIES[name])
    return nlp


def gated(name="longtail_token_ner", **settings):
    nlp, _ = trained_once(primary, 40, name=name)
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK, **settings})
    return nlp


def shared():
    """A NER that listens."""
    nlp = blank()
    nlp.add_pipe("tok2vec", config={"model": SMALL})
    model = {**TOKEN_MODEL, "tok2vec": LISTENER}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
    return nlp


def alone(**settings):
    """A gate of entity scores, for documents that are scored by hand."""
    nlp = blank()
    settings = {"weak_labels": WEAK, "signal": "entity_scores", **settings}
    return nlp, nlp.add_pipe("longtail_posterior_gate", name="gate", config=settings)


def scored(nlp, n_sentences, *ents):
    """A document of sentences of four words, with entities: first token, one past the last, score."""
    doc = Doc(nlp.vocab, words=["word"] * 4 * n_sentences)
    for token in doc:
        token.is_sent_start = token.i % 4 == 0
    write_scores(doc, "entity_scores", [ScoredSpan(a, b, "PER", p, ()) for a, b, p in ents])
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
    assert gate.predict(docs).expected == pytest.approx(expected, abs=1e-6)
    assert expected[:, 0].sum() == pytest.approx(3, abs=0.3)  # NAT
    flags = (expected >= 0.1).any(axis=1)
    assert np.flatnonzero(flags).tolist() == [*RARE, 9]
    for i, doc in enumerate(docs[:-1]):
        group = doc.spans[KEY]
        assert places(doc) == ([(0, len(doc))] if flags[i] else [])
        assert group.attrs["scores"] == pytest.approx([expected[i].sum()] if flags[i] else [], abs=1e-5)
        assert group.attrs["pipes"] == ["gate"] * len(group)
    assert places(docs[-1]) == [(6, len(docs[-1]))]
    assert gate.usage == (10, len(RARE) + 1)
    assert nlp.evaluate(examples(nlp))["weak_sents_f"] == 1.0


def test_each_type_has_its_threshold():
    nlp = gated(thresholds={"NAT": 5.0}, threshold=0.5)
    flagged = [bool(nlp(words(nlp, text)).spans[KEY]) for text in SENTENCES]
    assert flagged == ["|ART]" in text for text in SENTENCES]


@pytest.mark.parametrize("limit", [0.5, 0.9])
def test_sentences_are_flagged_by_their_least_sure_entity(limit):
    nlp, gate = alone(min_entity_score=limit)
    doc = scored(nlp, 4, (0, 1, 0.99), (1, 3, 0.7), (8, 9, 0.2), (12, 14, 1.0), (14, 15, limit))
    assert gate.predict([doc, doc]).least == pytest.approx([0.7, 1, 0.2, limit] * 2)
    expected = [0.7, 0.2] if limit > 0.7 else [0.2]
    gate(doc)
    assert [start // 4 for start, _ in places(doc)] == ([0, 2] if limit > 0.7 else [2])
    assert doc.spans[KEY].attrs["scores"] == pytest.approx([1 - score for score in expected])
    assert gate(scored(nlp, 0)).spans[KEY].attrs["scores"] == []
    with pytest.raises(ValueError, match=r"L283.*'gate'|L283.*gate"):
        gate(Doc(nlp.vocab, words=["word"]))


def test_both_signals_flag():
    nlp = gated(signal="both", threshold=0.5, min_entity_score=0.3)
    gate = nlp.get_pipe("gate")
    signals = Signals(
        np.asarray([[0.5, 0], [0, 0.4], [0.1, 0.1], [0.6, 0]]), np.asarray([1, 0.2, 0.3, 0])
    )
    assert gate.flags(signals).tolist() == [True, True, False, True]
    assert signals.scores == pytest.approx([0.5, 0.8, 0.7, 1.0])
    gate.cfg["signal"] = "expected"
    assert gate.flags(signals).tolist() == [True, False, False, True]
    gate.cfg["signal"] = "entity_scores"
    assert gate.flags(signals).tolist() == [False, True, False, True]


def test_predicting_moves_nothing_and_batches_do_not_matter():
    nlp, gate = alone(budget=0.25)
    gate.cfg["start"] = np.linspace(0, 1, 50).tolist()
    rng = np.random.default_rng(0)
    rows = [[(4 * i, 4 * i + 1, p) for i, p in enumerate(rng.random(3))] for _ in range(40)]
    found = {}
    for size in (1, 3, 7, 40):
        gate.restart()
        for _ in range(2):
            gate.predict([scored(nlp, 3, *row) for row in rows])
        assert gate.usage == (0, 0)
        docs = [scored(nlp, 3, *row) for row in rows]
        found[size] = [places(doc) for doc in gate.pipe(docs, batch_size=size)]
        assert gate.usage.sentences == 120
        assert gate.usage.flagged == sum(map(len, found[size])) <= 0.25 * 120 + 5
    assert found[1] == found[3] == found[7] == found[40]
    assert 0.1 < gate.usage.share <= 0.3


def test_a_budget_begins_where_the_saved_one_begins(tmp_path):
    nlp, gate = alone(budget=0.25)
    gate.cfg["start"] = [0.1, 0.5, 0.9, 0.3]
    gate.restart()
    docs = [scored(nlp, 1, (0, 1, p)) for p in (0.05, 0.5, 0.01, 0.8)]
    first = [places(gate(doc)) for doc in docs]
    assert any(first) and not all(first)
    nlp.to_disk(tmp_path)
    for again in (
        spacy.load(tmp_path),
        blank().from_config(nlp.config).from_bytes(nlp.to_bytes()),
    ):
        own = again.get_pipe("gate")
        assert own.usage == (0, 0) and own.cfg["start"] == pytest.approx(gate.cfg["start"])
        docs = [scored(again, 1, (0, 1, p)) for p in (0.05, 0.5, 0.01, 0.8)]
        assert [places(own(doc)) for doc in docs] == first
    assert (
        pickle.loads(pickle.dumps(nlp)).get_pipe("gate").usage == gate.usage == (4, sum(map(len, first)))
    )
    nlp.add_pipe("longtail_token_ner", name="ner", config=PRIMARIES["longtail_token_ner"], first=True)
    gate.initialize(list, nlp=nlp)
    assert gate.cfg["start"] is None and gate.usage == (0, 0)


def test_a_budget_without_a_start_is_warned_of_once():
    nlp, gate = alone(budget=0.1)
    with pytest.warns(UserWarning, match="LW061.*first 10 sent"):
        gate(scored(nlp, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gate(scored(nlp, 2))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("gate", ["longtail_posterior_gate", "longtail_sentence_gate"])
def test_gates_and_rules_flag_together_in_any_order(gate, before):
    nlp = gated() if gate == "longtail_posterior_gate" else trained_once(sentence_gated, 40)[0]
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


def test_a_rule_that_would_remove_what_a_gate_flags_is_refused():
    nlp = gated()
    uses = [
        lambda: ruler(nlp, overwrite=True),  # phrases are read by the components before
        lambda: nlp(words(nlp, SENTENCES[0])),
        lambda: nlp.get_pipe("gate").attach(nlp),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=r"L284.*'span_ruler' stands after 'gate'"):
            use()
    nlp, _ = trained_once(sentence_gated, 40)
    ruler(nlp, overwrite=True)
    weak = nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary())
    with pytest.raises(ValueError, match="L284"):
        weak.initialize(lambda: examples(nlp), nlp=nlp)
    nlp.get_pipe("span_ruler").overwrite = False
    weak.initialize(lambda: examples(nlp), nlp=nlp)


def secondary(**settings):
    return {"model": TOKEN_MODEL, "labels": WEAK, "merge": "fill", **settings}


def sentence_gated():
    nlp = blank()
    config = {"model": GATE_MODEL, "weak_labels": WEAK, "weak_weight": 0.7}
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=config)
    return nlp


def test_a_gate_takes_back_what_it_flagged_itself_and_nothing_else():
    nlp, gate = alone(min_entity_score=0.5)
    other = nlp.add_pipe(
        "longtail_posterior_gate",
        name="other",
        config={"weak_labels": WEAK, "signal": "entity_scores", "min_entity_score": 0.3},
    )
    doc = scored(nlp, 3, (0, 1, 0.4), (4, 5, 0.2))
    doc.spans[KEY] = [Span(doc, 9, 10, label="SHIP")]
    doc.spans[KEY].attrs["about"] = "rules"
    other(gate(doc))
    assert places(doc) == [(0, 4), (4, 8), (4, 8), (9, 10)]
    assert sorted(doc.spans[KEY].attrs["pipes"]) == ["", "gate", "gate", "other"]
    gate.cfg["min_entity_score"] = 0.3
    gate(doc)
    assert places(doc) == [(4, 8), (4, 8), (9, 10)]
    assert doc.spans[KEY].attrs["scores"] == pytest.approx([0.8, 0.8, 1.0])
    assert doc.spans[KEY].attrs["about"] == "rules"


def test_a_secondary_behind_it_reads_what_it_flags():
    def build():
        nlp = primary()
        nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
        nlp.add_pipe(
            "longtail_gated_ner", name="weak_ner", config=secondary(labels="auto", merge="span")
        )
        return nlp

    nlp = build()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message=".*LW081")
        nlp.initialize(lambda: examples(nlp))
    assert nlp.get_pipe("weak_ner").labels == tuple(WEAK)
    ruler(nlp, after="gate")  # which knows another type: the gate's are taken
    nlp.get_pipe("weak_ner").initialize(lambda: examples(nlp), nlp=nlp)
    assert nlp.get_pipe("weak_ner").labels == tuple(WEAK)
    nlp.remove_pipe("ner")  # the gate names the key of the scores, and writes none
    with pytest.raises(ValueError, match="L207"):
        nlp.get_pipe("weak_ner").initialize(lambda: examples(nlp), nlp=nlp)


def test_what_a_secondary_expects_counts_in_flagged_sentences():
    nlp = gated()
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary())
    nlp.get_pipe("weak_ner").initialize(lambda: examples(nlp))
    docs = list(nlp.pipe(words(nlp, text) for text in SENTENCES))
    behind = expected_mentions(nlp, docs)[-1]
    assert behind.name == "weak_ner"
    assert np.flatnonzero(behind.mentions.sum(axis=1)).tolist() == RARE


def test_a_shared_encoder_does_not_run_again():
    nlp, _ = trained_once(shared, 40)
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
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
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
    nlp.get_pipe("second").initialize(lambda: examples(nlp), nlp=nlp)
    docs = list(nlp.pipe([words(nlp, text) for text in SENTENCES]))
    assert [i for i, doc in enumerate(docs) if doc.spans[KEY]] == RARE
    assert {doc.tensor.shape[1] for doc in docs} == {width}
    assert np.array_equal(expected_mentions(nlp, docs)[0].mentions, wanted)


def test_the_primary_is_the_last_that_counts_or_the_one_named():
    nlp = gated()
    config = {"model": TOKEN_MODEL, "include": ["PER"]}
    nlp.add_pipe("longtail_token_ner", name="people", before="gate", config=config)
    people = nlp.get_pipe("people")
    people.initialize(lambda: examples(nlp), nlp=nlp)
    gate = nlp.get_pipe("gate")
    with pytest.raises(ValueError, match=r"L282.*'people'.*NAT, ART.*PER"):
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


def test_a_primary_that_is_missing_or_comes_later_is_refused():
    nlp = blank()
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
    for use in (lambda: nlp("It rained."), lambda: nlp.initialize(lambda: examples(nlp))):
        with pytest.raises(ValueError, match=r"L281.*sentencizer"):
            use()
    nlp.add_pipe("longtail_token_ner", name="ner", config=PRIMARIES["crf"])
    for own in (None, "ner", "sentencizer", "gate", "other"):
        nlp.get_pipe("gate").cfg["primary"] = own
        with pytest.raises(ValueError, match=f"L281.*{own or 'sentencizer'}"):
            nlp("It rained.")
    scores, gate = alone()
    with pytest.raises(ValueError, match=r"L283.*entity_scores"):
        scores.initialize()
    scores.add_pipe("longtail_token_ner", name="ner", config=PRIMARIES["longtail_token_ner"])
    with pytest.raises(ValueError, match="L250"):
        gate.initialize(lambda: examples(nlp), nlp=scores)


def test_a_beam_counts_nothing():
    nlp = blank()
    nlp.add_pipe("ner", config=small_ner()).cfg["beam_width"] = 4
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
    with pytest.raises(ValueError, match="L281"):
        nlp.get_pipe("gate").predict([nlp.make_doc("It rained.")])


def test_initialisation_takes_its_own_labels_alone():
    nlp = gated()
    gate = nlp.get_pipe("gate")
    gate.initialize(lambda: examples(nlp), nlp=nlp, labels=gate.label_data)
    with pytest.raises(ValueError, match="L212"):
        gate.initialize(lambda: examples(nlp), nlp=nlp, labels=["NAT"])
    assert gate.add_label("NAT") == 0 and gate.labels == tuple(WEAK)
    with pytest.raises(ValueError, match="L206"):
        gate.add_label("SHIP")


def test_a_sourced_gate_says_what_it_counts_by():
    nlp = gated()
    target = blank()
    target.add_pipe("ner", source=nlp)
    target.add_pipe("gate", source=nlp, name="opened")
    with pytest.warns(UserWarning, match="LW060.*'opened'"):
        assert places(target(words(target, SENTENCES[0])))
    gate = target.get_pipe("opened")
    gate.attach(target)
    assert gate.nlp is target
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places(target(words(target, SENTENCES[0])))
    other = blank()
    other.add_pipe("gate", source=nlp)
    with pytest.raises(ValueError, match="L281"):
        other.get_pipe("gate").attach(other)


def test_an_error_handler_gets_the_documents():
    nlp = blank()
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"weak_labels": WEAK})
    failed = []
    nlp.set_error_handler(lambda name, pipe, docs, error: failed.append((name, len(docs))))
    assert list(nlp.pipe(["It rained.", "It snowed."])) == []
    assert failed == [("gate", 2)]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"weak_labels": []}, "L204"),
        ({"weak_labels": ["NAT", "NAT"]}, "L204"),
        ({"budget": 0}, "L280"),
        ({"budget": 1.5}, "L001"),
        ({"budget": -0.1}, "L001"),
        ({"threshold": -1}, "L001"),
        ({"threshold": "nan"}, "L001"),
        ({"thresholds": {"NAT": -1}}, "L001"),
        ({"thresholds": {"PER": 1}}, "L001.*PER"),
        ({"signal": "both", "min_entity_score": 2}, "L001"),
        ({"min_entity_score": 0.9}, "L213.*min_entity_score"),
        ({"scores_key": "other"}, "L213.*scores_key"),
        ({"signal": "entity_scores", "threshold": 0.5}, "L213.*threshold"),
        ({"signal": "entity_scores", "thresholds": {"NAT": 0.5}}, "L213.*thresholds"),
        ({"signal": "entity_scores", "primary": "ner"}, "L213.*primary"),
        ({"budget": 0.03, "threshold": 0.5}, "L213.*threshold"),
        ({"budget": 0.03, "thresholds": {"NAT": 0.5}}, "L213.*thresholds"),
        ({"budget": 0.03, "signal": "both", "min_entity_score": 0.9}, "L213.*min_entity_score"),
        ({"signal": "both", "spans_key": "entity_scores"}, "L257"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, code):
    with pytest.raises(ValueError, match=code):
        blank().add_pipe("longtail_posterior_gate", config={"weak_labels": WEAK, **settings})


def test_settings_that_fit_are_kept():
    nlp = blank()
    settings = {
        "weak_labels": WEAK,
        "signal": "both",
        "budget": 1,
        "primary": "ner",
        "scores_key": "own",
    }
    gate = nlp.add_pipe("longtail_posterior_gate", config=settings)
    assert isinstance(gate, PosteriorGate)
    assert {name: gate.cfg[name] for name in settings} == settings
    assert gate.reads == ("expected", "entity_scores")
