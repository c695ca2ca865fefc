import numpy as np
import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.pipes.gate.flagging import flagged_parts
from spacy_longtail.pipes.gate.learning import learn_counts, sentence_targets
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    TOKEN_MODEL,
    WEAK,
    blank,
    corpus_of,
    entities,
    examples,
    from_bytes,
    one_pipe,
    start_sentences,
    trained_once,
    two_sentences,
    words,
)

SECONDARY = {"model": TOKEN_MODEL, "merge": "fill"}


def build(labels=WEAK, **gate):
    """A gate and its secondary. labels (Union[List[str], str]): Of the secondary."""
    nlp = one_pipe(
        "longtail_sentence_gate", "gate", **{"model": GATE_MODEL, "rare_labels": WEAK, **gate}
    )
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config={**SECONDARY, "labels": labels})
    return nlp


def trained():
    return trained_once(build, 60)


@pytest.fixture
def initialized():
    nlp = build()
    nlp.initialize(lambda: examples(nlp))
    return nlp


def test_the_gate_learns_which_sentences_hold_a_rare_type():
    nlp, history = trained()
    assert history[-1]["gate"] < 0.3 * history[0]["gate"]
    for text in SENTENCES:
        doc = nlp(words(nlp, text))
        group, is_rare = doc.spans["weak_sentences"], "|NAT]" in text or "|ART]" in text
        assert [span.text for span in group] == [doc.text.strip()] * is_rare
        assert len(group.attrs["scores"]) == len(group)
        assert all(0.5 <= p <= 1 for p in group.attrs["scores"])


def test_the_loss_of_a_gate_is_the_weighted_cross_entropy_of_the_methods_page(initialized):
    gate = initialized.get_pipe("gate")
    assert gate.cfg["weak_weight"] == pytest.approx(0.5)
    gate.cfg["weak_weight"] = 0.98
    z = np.array([[np.log(0.6 / 0.4)]], dtype="float32")
    loss, d_z = gate.get_loss(examples(initialized)[1:2], z)
    assert loss == pytest.approx(0.5006, abs=1e-4)  # docs/methods.md, "Sentence gate"
    assert d_z[0, 0] == pytest.approx(-0.392, abs=1e-4)


def test_the_gradient_of_a_gate_is_the_slope_of_its_loss(initialized):
    gate, data, rng = initialized.get_pipe("gate"), examples(initialized), np.random.default_rng(0)
    z, steps = 3 * rng.normal(size=(len(data), 1)), 1e-2 * np.eye(len(data))
    _, d_z = gate.get_loss(data, z.astype("f"))
    for i, step in enumerate(steps[:, :, None]):
        up, down = (gate.get_loss(data, own.astype("f"))[0] for own in (z + step, z - step))
        assert (up - down) / 2e-2 == pytest.approx(d_z[i, 0], abs=1e-3)


@pytest.mark.parametrize(
    ("missing", "learnt"),
    [
        ((0, 6), [False, True]),
        ((0, 5), [True, True]),  # one annotated token is enough
        ((6, 10), [True, True]),  # a rare type says it whatever else is annotated
    ],
)
def test_a_sentence_is_learnt_from_unless_all_of_it_is_unannotated(missing, learnt, initialized):
    """Two sentences, of which some tokens have no annotation; the second holds a NAT."""
    eg = two_sentences(initialized, bounded=True)
    rare = [e for e in eg.reference.ents if e.label_ == "NAT"]
    eg.reference.set_ents(rare, missing=[eg.reference[slice(*missing)]], default="outside")
    _, d_z = initialized.get_pipe("gate").get_loss([eg], np.ones((2, 1), dtype="f"))
    assert (d_z[:, 0] != 0).tolist() == learnt


def test_the_secondary_leaves_documents_without_a_flag_alone():
    nlp, _ = trained()
    assert entities(nlp(words(nlp, SENTENCES[6]))) == [("Storm Ida", "NAT")]
    nlp.get_pipe("gate").cfg["threshold"] = 1.01
    doc = words(nlp, SENTENCES[6])
    doc.set_ents([Span(doc, 0, 1, label="GEO")])
    doc = nlp(doc)
    assert entities(doc) == [("Rome", "GEO")]
    assert len(doc.spans["entity_scores"]) == 0
    assert doc.spans["entity_scores"].attrs["scores"] == []


def test_a_gate_is_scored_on_types_that_the_corpus_calls_otherwise(tmp_path):
    trained()[0].to_disk(tmp_path / "model")
    texts = [text.replace("|NAT]", "|STORM]") for text in SENTENCES]
    labels = ["PER", "GEO", "ART", "STORM"]
    corpus = corpus_of(tmp_path / "corpus", labels, train=texts, dev=texts, test=texts)

    found = evaluate_model(tmp_path / "model", corpus / "test.spacy", labels, [], names={"NAT": "STORM"})

    assert found.scores.weak_sents_f == 1.0


def test_unannotated_sentences_are_not_scored(initialized):
    nlp, gate = initialized, initialized.get_pipe("gate")
    gate.cfg["threshold"] = 0.0  # opens everything
    data = examples(nlp)
    bare = [Example(words(nlp, text), words(nlp, text)) for text in SENTENCES]
    half = two_sentences(nlp, bounded=True)
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
@pytest.mark.parametrize(
    "spans", [[(0, 8), (1, 2)], [(0, 8), (4, 8), (5, 6)], [(0, 5), (3, 8)], [(2, 3)]]
)
def test_a_sentence_that_a_span_of_a_rule_touches_is_read_as_a_whole(spans, is_shared):
    nlp, _ = trained()
    weak, doc = nlp.get_pipe("weak_ner"), words(nlp, SENTENCES[6])
    weak.cfg["reads_documents"] = is_shared
    doc.spans["weak_sentences"] = [doc[a:b] for a, b in spans]
    assert [ent.place for ent in weak.candidates([doc])[0]] == [(4, 6, "NAT")]


@pytest.mark.parametrize(
    ("starts", "spans", "parts"),
    [
        ([0], [(0, 5), (3, 8)], [(0, 8)]),
        ([0, 4, 6], [(0, 4), (4, 6)], [(0, 4), (4, 6)]),  # next to each other: two
        ([0, 4, 6], [(5, 6)], [(4, 6)]),
        ([0, 4, 6], [(3, 5), (1, 2)], [(0, 4), (4, 6)]),
        ([0, 4, 6], [(1, 7)], [(0, 4), (4, 6), (6, 8)]),
        ([0, 4, 6], [(4, 4)], []),
    ],
)
def test_flagged_parts_are_the_sentences_that_spans_touch(starts, spans, parts):
    doc = start_sentences(words(blank(), SENTENCES[6]), *starts)
    doc.spans["weak_sentences"] = [doc[a:b] for a, b in spans]
    assert flagged_parts(doc, "weak_sentences", "weak_ner") == parts


def learnt(corpus, **settings):
    """A gate and a secondary of its types, initialised on data."""
    nlp = build("auto", **{"rare_labels": "auto", "auto_share": 0.2, **settings})
    nlp.initialize(lambda: corpus)
    return nlp, nlp.get_pipe("gate")


def test_resampled_sentences_are_not_counted():
    nlp, gate = learnt(examples(blank()))
    nlp.config["corpora"]["train"] = {"@readers": "longtail.ResampledCorpus.v1"}
    with pytest.raises(ValueError, match=r"L004.*counts_corpus"):
        nlp.initialize(lambda: examples(nlp))
    gate.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=examples)


def test_types_and_weights_come_from_the_counts():
    nlp, gate = learnt(examples(blank()))
    assert sorted(gate.labels) == ["ART", "NAT"] and gate.cfg["weak_weight"] == pytest.approx(0.5)
    counted = [*examples(nlp), two_sentences(nlp)]  # 4 of 8, and one of the two of the last
    gate.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: counted)
    assert gate.cfg["weak_weight"] == pytest.approx(1 - 5 / 10)


def test_nothing_is_kept_of_an_earlier_initialization():
    nlp, gate = learnt(examples(blank()))
    gate.cfg["calibration"] = [3.0, 1.0]
    storms = [*examples(nlp), *examples(nlp)[6:7] * 3]  # NAT is no longer rare
    nlp.initialize(lambda: storms)
    weak = nlp.get_pipe("weak_ner")
    assert gate.labels == weak.labels == ("ART",) and gate.cfg["calibration"] is None
    assert gate.cfg["weak_weight"] == pytest.approx(1 - 2 / 11)
    assert weak.model.get_dim("nO") == len(weak.tokens.head.outputs) == 5


def test_types_of_the_counts_are_saved():
    again = from_bytes(learnt(examples(blank()))[0])
    assert set(again.get_pipe("gate").labels) == set(again.get_pipe("weak_ner").labels) == {"ART", "NAT"}


def test_types_of_init_labels_go_before_those_of_the_counts():
    nlp, gate = learnt(examples(blank()))
    gate.initialize(lambda: examples(nlp), nlp=nlp, labels=["NAT"])
    assert gate.labels == ("NAT",)


def test_a_gate_is_initialized_on_documents_with_tokens():
    empty = [Example(Doc(blank().vocab), Doc(blank().vocab)) for _ in range(10)]
    assert learnt(empty + examples(blank()))[1].labels


def test_a_balanced_gate_learns_from_as_many_other_sentences_always_the_same():
    nlp, gate = learnt(examples(blank()), rare_labels=["NAT"], data="balanced")
    assert gate.cfg["kept_share"] == pytest.approx(2 / 6) and gate.cfg["weak_weight"] is None
    plain = [Doc(nlp.vocab, words=["word", str(i)], ents=["O", "O"]) for i in range(600)]
    many = [Example(doc.copy(), doc) for doc in plain]
    many += [eg for eg in examples(nlp) if "NAT" in {e.label_ for e in eg.reference.ents}]
    z = np.zeros((len(many), 1), dtype="f")
    _, d_z = gate.get_loss(many, z)
    counted = d_z[:, 0] != 0
    assert counted[600:].all() and np.allclose(d_z[600:], -0.5)  # plain cross-entropy
    assert 150 < counted[:600].sum() < 250  # a third of 600
    assert np.allclose(d_z[:600][counted[:600]], 0.5)
    _, again = gate.get_loss(many[300:], z[300:])
    assert np.array_equal(again, d_z[300:])


def test_rules_open_for_their_types_where_there_is_no_gate():
    nlp = blank()
    nlp.add_pipe("span_ruler", config={"spans_key": "weak_sentences"})
    weak = nlp.add_pipe("longtail_gated_ner", name="weak_ner", config={**SECONDARY, "labels": "auto"})
    for given in (None, nlp):
        with pytest.raises(ValueError, match="L210"):
            weak.initialize(lambda: examples(nlp), nlp=given)
    nlp.get_pipe("span_ruler").add_patterns([{"label": "NAT", "pattern": "Storm Ida"}])
    weak.initialize(lambda: examples(nlp), nlp=nlp)
    assert weak.labels == ("NAT",)


def test_the_labels_are_those_of_the_settings():
    nlp = build()
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


def two_words(nlp, types=(), **how):
    """Return an example of two words, of which the first is an entity of each type."""
    doc = words(nlp, "Ida hit")
    doc.set_ents([Span(doc, 0, 1, label=label) for label in types], **how)
    return Example(doc.copy(), doc)


def test_sentences_without_annotation_are_not_counted():
    nlp = blank()
    data = [two_words(nlp, ["NAT"]), two_words(nlp)]
    bare = [two_words(nlp, default="missing")] * 8
    assert learn_counts(data + bare, ["NAT"], [], {"data": "full"}, "gate") == {"weak_weight": 0.5}


@pytest.mark.parametrize("labels", [["NAT"], []])
def test_sentences_that_were_not_annotated_with_a_rare_type_are_not_counted(labels):
    nlp = blank()
    data = [two_words(nlp, ["NAT"]), *(two_words(nlp, ["PER"]) for _ in range(9))]
    others = [two_words(nlp, ["PER"]) for _ in range(5)]
    for eg in others:
        eg.reference.user_data["annotated_types"] = ["PER"]
    cfg = {"data": "full", "auto_share": 0.1}
    assert learn_counts(data + others, labels, [], cfg, "gate")["weak_weight"] == pytest.approx(0.9)


def test_a_sentence_that_was_not_annotated_with_a_type_does_not_teach_its_absence():
    eg = two_words(blank())
    eg.reference.user_data["annotated_types"] = ["PER"]
    assert sentence_targets([eg], ["NAT"], 1.0)[1].tolist() == [[False]]
