import numpy as np
import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.pipes.gate.flagging import flagged_parts
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    TOKEN_MODEL,
    WEAK,
    blank,
    entities,
    examples,
    one_pipe,
    parse,
    small_ner,
    trained_once,
    two_sentences,
    words,
)


def weak_config(**settings):
    return {"model": TOKEN_MODEL, "labels": WEAK, "merge": "fill", **settings}


def build(gate=None, weak=None, ner=None):
    nlp = blank()
    if ner is not None:
        nlp.add_pipe("longtail_ner", name="ner", config=small_ner(**ner))
    config = {"model": GATE_MODEL, "rare_labels": WEAK, **(gate or {})}
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=config)
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=weak_config(**(weak or {})))
    return nlp


def pipeline(gate=None, weak=None, ner=None, steps=60):
    given = {"gate": gate, "weak": weak, "ner": ner}
    return trained_once(build, steps, **given) if steps else (build(**given), [])


def test_the_gate_learns_which_sentences_hold_a_rare_type():
    nlp, history = pipeline()
    assert history[-1]["gate"] < 0.3 * history[0]["gate"]
    for text in SENTENCES:
        doc = nlp(words(nlp, text))
        weak = "|NAT]" in text or "|ART]" in text
        group = doc.spans["weak_sentences"]
        assert [s.text for s in group] == ([doc.text.strip()] if weak else [])
        assert all(0.5 <= p <= 1 for p in group.attrs["scores"]) and len(group.attrs["scores"]) == len(
            group
        )


def test_gate_loss_is_the_weighted_cross_entropy_with_its_gradient():
    nlp, _ = pipeline(steps=0)
    nlp.initialize(lambda: examples(nlp))
    gate = nlp.get_pipe("gate")
    assert gate.cfg["weak_weight"] == pytest.approx(0.5)
    gate.cfg["weak_weight"] = 0.98
    weak = [Example(words(nlp, SENTENCES[1]), parse(nlp, SENTENCES[1]))]
    z = np.array([[np.log(0.6 / 0.4)]], dtype="float32")
    loss, d_z = gate.get_loss(weak, z)
    assert loss == pytest.approx(0.5006, abs=1e-4)  # docs/methods.md, "Sentence gate"
    assert d_z[0, 0] == pytest.approx(-0.392, abs=1e-4)
    data = examples(nlp)
    z = np.random.default_rng(0).normal(size=(len(data), 1)).astype("float32") * 3
    _, d_z = gate.get_loss(data, z)
    for i in range(len(data)):
        step = np.zeros_like(z)
        step[i] = 1e-2
        slope = (gate.get_loss(data, z + step)[0] - gate.get_loss(data, z - step)[0]) / 2e-2
        assert slope == pytest.approx(d_z[i, 0], abs=1e-3)


def test_a_sentence_is_learnt_from_unless_all_of_it_is_unannotated():
    """Two sentences, of which some tokens have no annotation; the second holds a NAT."""
    nlp, _ = pipeline(steps=0)
    nlp.initialize(lambda: examples(nlp))
    for missing, learnt in (
        ((0, 6), [False, True]),
        ((0, 5), [True, True]),  # one annotated token is enough
        ((6, 10), [True, True]),  # a rare type says it whatever else is annotated
    ):
        eg = two_sentences(nlp)
        for token in eg.predicted:
            token.is_sent_start = token.i in (0, 6)
        rare = [e for e in eg.reference.ents if e.label_ == "NAT"]
        eg.reference.set_ents(rare, missing=[eg.reference[slice(*missing)]], default="outside")
        _, d_z = nlp.get_pipe("gate").get_loss([eg], np.ones((2, 1), dtype="f"))
        assert (d_z[:, 0] != 0).tolist() == learnt


def test_the_secondary_learns_its_types_and_leaves_documents_without_a_flag_alone():
    nlp, history = pipeline()
    assert history[-1]["weak_ner"] < 0.1 * history[0]["weak_ner"]
    doc = nlp(words(nlp, SENTENCES[6]))
    assert entities(doc) == [("Storm Ida", "NAT")]
    closed = words(nlp, SENTENCES[6])
    nlp.get_pipe("gate").cfg["threshold"] = 1.01
    closed.set_ents([Span(closed, 0, 1, label="GEO")])
    doc = nlp(closed)
    assert entities(doc) == [("Rome", "GEO")]
    assert len(doc.spans["entity_scores"]) == 0
    assert doc.spans["entity_scores"].attrs["scores"] == []


def test_unannotated_sentences_are_not_scored():
    nlp, _ = pipeline(steps=0)
    nlp.initialize(lambda: examples(nlp))
    gate = nlp.get_pipe("gate")
    gate.cfg["threshold"] = 0.0  # opens everything
    data = examples(nlp)
    bare = [Example(words(nlp, text), words(nlp, text)) for text in SENTENCES]
    half = two_sentences(nlp)
    for token in half.predicted:
        token.is_sent_start = token.i in (0, 6)
    half.reference.set_ents(list(half.reference.ents), missing=[half.reference[0:6]])
    for eg in (*data, *bare, half):
        gate(eg.predicted)
    assert gate.score(data)["weak_sents_p"] == pytest.approx(4 / 8)
    assert gate.score(data)["weak_sents_open"] == 1.0
    assert gate.score([*data, *bare]) == gate.score(data)
    assert gate.score([half]) == dict.fromkeys(("weak_sents_p", "weak_sents_r", "weak_sents_f"), 1.0) | {
        "weak_sents_open": 1.0
    }
    assert gate.score(bare)["weak_sents_open"] == 0.0


@pytest.mark.parametrize("is_shared", [True, False])
def test_what_a_span_of_a_rule_touches_is_read_as_whole_sentences(is_shared):
    nlp, _ = pipeline()
    weak = nlp.get_pipe("weak_ner")
    weak.cfg["reads_documents"] = is_shared
    doc = words(nlp, SENTENCES[6])
    for spans in ([(0, 8), (1, 2)], [(0, 8), (4, 8), (5, 6)], [(0, 5), (3, 8)], [(2, 3)]):
        doc.spans["weak_sentences"] = [doc[a:b] for a, b in spans]  # without boundaries: one sentence
        assert [ent.place for ent in weak.predict([doc])[0]] == [(4, 6, "NAT")]
        assert flagged_parts(doc, "weak_sentences", "weak_ner") == [(0, 8)]
    for token in doc:
        token.is_sent_start = token.i in (0, 4, 6)
    for spans, parts in (
        ([(0, 4), (4, 6)], [(0, 4), (4, 6)]),  # next to each other: two
        ([(5, 6)], [(4, 6)]),
        ([(3, 5), (1, 2)], [(0, 4), (4, 6)]),
        ([(1, 7)], [(0, 4), (4, 6), (6, 8)]),
        ([(4, 4)], []),
    ):
        doc.spans["weak_sentences"] = [doc[a:b] for a, b in spans]
        assert flagged_parts(doc, "weak_sentences", "weak_ner") == parts


def learnt(corpus, **settings):
    """A gate and a secondary of its types, initialised on data."""
    nlp = build({"rare_labels": "auto", "auto_share": 0.2, **settings}, {"labels": "auto"})
    nlp.initialize(lambda: corpus)
    return nlp, nlp.get_pipe("gate")


def test_resampled_sentences_are_not_counted():
    nlp, gate = learnt(examples(blank()))
    nlp.config["corpora"]["train"] = {"@readers": "longtail.ResampledCorpus.v1"}
    with pytest.raises(ValueError, match=r"L004.*counts_corpus"):
        nlp.initialize(lambda: examples(nlp))
    gate.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=examples)


def test_types_and_weights_come_from_the_counts_and_nothing_earlier_is_kept():
    nlp, gate = learnt(examples(blank()))
    assert sorted(gate.labels) == ["ART", "NAT"] and gate.cfg["weak_weight"] == pytest.approx(0.5)
    counted = [*examples(nlp), two_sentences(nlp)]  # 4 of 8, and one of the two of the last
    gate.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: counted)
    assert gate.cfg["weak_weight"] == pytest.approx(1 - 5 / 10)
    gate.cfg["calibration"] = [3.0, 1.0]
    storms = [*examples(nlp), *examples(nlp)[6:7] * 3]  # NAT is no longer rare
    nlp.initialize(lambda: storms)
    weak = nlp.get_pipe("weak_ner")
    assert gate.labels == weak.labels == ("ART",) and gate.cfg["calibration"] is None
    assert gate.cfg["weak_weight"] == pytest.approx(1 - 2 / 11)
    assert weak.model.get_dim("nO") == len(weak.head.outputs) == 5
    again = blank().from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert again.get_pipe("gate").labels == again.get_pipe("weak_ner").labels == ("ART",)
    gate.initialize(lambda: examples(nlp), nlp=nlp, labels=["NAT"])
    assert gate.labels == ("NAT",)  # as `init labels` wrote them
    empty = [Example(Doc(nlp.vocab), Doc(nlp.vocab)) for _ in range(10)]
    nlp.initialize(lambda: empty + examples(nlp))  # the model is initialised on those with tokens


def test_a_balanced_gate_learns_from_as_many_other_sentences_always_the_same():
    nlp, gate = learnt(examples(blank()), rare_labels=["NAT"], data="balanced")
    assert gate.cfg["kept_share"] == pytest.approx(2 / 6) and gate.cfg["weak_weight"] is None
    many = []
    for i in range(600):
        doc = Doc(nlp.vocab, words=["word", str(i)])
        doc.set_ents([])
        many.append(Example(doc.copy(), doc))
    many += [eg for eg in examples(nlp) if "NAT" in {e.label_ for e in eg.reference.ents}]
    z = np.zeros((len(many), 1), dtype="f")
    _, d_z = gate.get_loss(many, z)
    counted = d_z[:, 0] != 0
    assert counted[600:].all() and np.allclose(d_z[600:], -0.5)  # plain cross-entropy
    assert 150 < counted[:600].sum() < 250  # a third of 600
    assert np.allclose(d_z[:600][counted[:600]], 0.5)
    _, again = gate.get_loss(many[300:], z[300:])
    assert np.array_equal(again, d_z[300:])
    with pytest.raises(ValueError, match="L205"):  # each of these sentences has a rare type
        learnt(examples(nlp)[:2], rare_labels=["PER", "GEO", "ART", "NAT"], data="balanced")


def test_rules_open_for_their_types_where_there_is_no_gate():
    nlp = blank()
    nlp.add_pipe("span_ruler", config={"spans_key": "weak_sentences"})
    weak = nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=weak_config(labels="auto"))
    for given in (None, nlp):
        with pytest.raises(ValueError, match="L210"):
            weak.initialize(lambda: examples(nlp), nlp=given)
    nlp.get_pipe("span_ruler").add_patterns([{"label": "NAT", "pattern": "Storm Ida"}])
    weak.initialize(lambda: examples(nlp), nlp=nlp)
    assert weak.labels == ("NAT",)


def test_the_labels_are_those_of_the_settings():
    nlp, _ = pipeline(steps=0)
    for name in ("gate", "weak_ner"):
        pipe = nlp.get_pipe(name)
        with pytest.raises(ValueError, match=r"L212.*PER"):
            pipe.initialize(lambda: examples(nlp), nlp=nlp, labels=["PER"])
        pipe.initialize(lambda: examples(nlp), nlp=nlp, labels=pipe.label_data)
    with pytest.raises(ValueError, match=r"L206.*SHIP"):
        nlp.get_pipe("gate").add_label("SHIP")


@pytest.mark.parametrize("kind", ["longtail_sentence_gate", "longtail_posterior_gate"])
def test_the_earlier_name_of_the_rare_types_works_with_a_warning(kind):
    nlp = one_pipe(model=TOKEN_MODEL)
    with pytest.warns(FutureWarning, match="LW114.*'gate'.*rare_labels"):
        gate = nlp.add_pipe(kind, name="gate", config={"weak_labels": WEAK})
    assert gate.labels == tuple(WEAK)
