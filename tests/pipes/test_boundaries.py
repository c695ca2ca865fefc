"""Gold without sentence boundaries, as most tools write it: the pipeline's boundaries hold."""

import random
import warnings

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_longtail.pipes.gate.learning import learn_counts
from spacy_longtail.pipes.neighbours import boundary_setters
from tests.util import (
    GATE_MODEL,
    LISTENER,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    blank,
    entity_offsets,
    one_pipe,
    parse,
    start_sentences,
)

GATE = {"model": GATE_MODEL, "rare_labels": ["NAT", "ART"]}
WEIGHTS = {"@losses": "longtail.CrossEntropy.v1", "weights": {"@misc": "longtail.inverse_frequency.v1"}}
WEAK = {"model": TOKEN_MODEL, "labels": ["NAT", "ART"], "merge": "fill", "loss": WEIGHTS}


def documents(nlp, bounded, n_docs=6):
    """Documents of eight sentences, of which four hold a NAT or an ART."""
    data, rng = [], random.Random(0)
    for _ in range(n_docs):
        gold = Doc.from_docs([parse(nlp, text) for text in rng.sample(SENTENCES, len(SENTENCES))])
        reference = Doc(nlp.vocab, words=[t.text for t in gold])
        reference.set_ents([Span(reference, e.start, e.end, label=e.label_) for e in gold.ents])
        if bounded:
            start_sentences(reference, *(sent.start for sent in gold.sents))
        data.append(Example(Doc(nlp.vocab, words=[t.text for t in gold]), reference))
    return data


def pipeline(before="sentencizer", gate=None, weak=None):
    nlp = one_pipe("longtail_sentence_gate", "gate", **GATE | (gate or {}))
    if before:
        nlp.add_pipe(before, name="sents", first=True)
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config={**WEAK, **(weak or {})})
    return nlp


def initialize(nlp, data, names=("gate", "weak_ner")):
    for name in names:
        nlp.get_pipe(name).initialize(lambda: data, nlp=nlp, counts_corpus=lambda nlp: data)


@pytest.mark.parametrize("settings", [{}, {"data": "balanced"}])
def test_counts_do_not_depend_on_gold_boundaries(settings):
    counts = []
    for bounded in (True, False):
        nlp = pipeline(gate={"rare_labels": ["NAT"], **settings}, weak={"labels": ["NAT"]})
        initialize(nlp, documents(nlp, bounded))
        cfg = nlp.get_pipe("gate").cfg
        weights = nlp.get_pipe("weak_ner").tokens.class_values
        counts.append((cfg["weak_weight"], cfg["kept_share"], weights))
    assert counts[0] == counts[1]
    assert counts[0][:2] == ((None, pytest.approx(1 / 3)) if settings else (pytest.approx(0.75), 1.0))


def test_gate_and_secondary_learn_from_gold_annotation_without_boundaries():
    nlp = pipeline()
    data = documents(nlp, bounded=False)
    fix_random_seed(0)
    initialize(nlp, data)
    optimizer = nlp.create_optimizer()
    optimizer.learn_rate = 0.01
    for _ in range(40):
        fresh = [
            Example(Doc(nlp.vocab, words=[t.text for t in eg.reference]), eg.reference) for eg in data
        ]
        nlp.update(fresh, sgd=optimizer, annotates=["sents"])
    for eg in documents(nlp, bounded=True, n_docs=2):
        doc = nlp(Doc(nlp.vocab, words=[t.text for t in eg.reference]))
        rare = [e for e in eg.reference.ents if e.label_ in ("NAT", "ART")]
        assert len(doc.spans["weak_sentences"]) == 4
        assert entity_offsets(doc) == [(e.start, e.end, e.label_) for e in rare]


def test_an_entity_across_a_boundary_that_is_set_is_in_both_sentences():
    reference = Doc(blank().vocab, words=["Mt", ".", "Ida", "fell", ".", "So", "?"])
    reference.set_ents([Span(reference, 0, 3, label="NAT")])
    eg = Example(start_sentences(reference.copy(), 0, 2, 5), reference)
    counts = learn_counts([eg], ["NAT"], [], {"data": "full"}, "gate")
    assert counts == {"weak_weight": pytest.approx(1 / 3)}  # 2 of 3 sentences


def test_components_that_work_already_set_boundaries():
    nlp = blank()
    for name, factory in (("tok2vec", "tok2vec"), ("own", "parser"), ("trained", "senter")):
        nlp.add_pipe(factory, name=name)
    gate = nlp.add_pipe("longtail_sentence_gate", name="gate", config=GATE)
    nlp.add_pipe("sentencizer")

    def setters():
        return [n for n in nlp.component_names if nlp.get_pipe(n) in boundary_setters(nlp, gate)]

    assert setters() == []  # yet to be trained
    with nlp.select_pipes(disable=["tok2vec", "trained"]):  # frozen
        assert setters() == ["trained"]
        nlp.config["training"]["annotating_components"] = ["tok2vec", "trained"]
        assert setters() == ["tok2vec", "trained"]  # which it may listen to
    nlp.add_pipe("sentencizer", name="first", first=True)
    assert setters() == ["first"]


@pytest.mark.parametrize("settings", [{}, {"data": "balanced"}])
def test_a_corpus_of_nothing_but_weak_sentences_is_refused(settings):
    nlp = pipeline(before=None, gate=settings)
    with pytest.raises(ValueError, match=r"L205.*6 of 6 sentences"):
        initialize(nlp, documents(nlp, bounded=False), ["gate"])


@pytest.mark.parametrize(
    ("sents", "bounded", "is_shared", "says"),
    [
        ("sentencizer", False, True, "sentence by sentence"),
        ("sentencizer", True, True, "sentence by sentence"),
        ("sentencizer", True, False, "sentence by sentence"),
        (None, True, True, "gold documents"),
    ],
)
def test_pipes_that_learn_from_whole_documents_say_so(sents, bounded, is_shared, says):
    model = {**TOKEN_MODEL, "tok2vec": LISTENER if is_shared else SMALL}
    nlp = pipeline(sents, weak={"model": model, "loss": None})
    nlp.add_pipe("tok2vec", config={"model": SMALL}, first=True)
    data = [*documents(nlp, bounded, 2), Example(nlp.make_doc(""), nlp.make_doc(""))]

    def said(annotates=()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nlp.update(data, sgd=sgd, annotates=annotates)
        return [str(w.message) for w in caught if "LW107" in str(w.message)]

    sgd = nlp.initialize(lambda: documents(nlp, True, 2))
    messages = said()
    by_gold = bounded and not is_shared  # which learns from gold sentences
    assert {m.split("'")[1] for m in messages} == ({"gate"} if by_gold else {"gate", "weak_ner"})
    assert all(says in message for message in messages)
    for eg in data:
        eg.predicted = nlp.get_pipe("sents")(eg.predicted) if sents else eg.reference.copy()
    assert not said(["sents"] if sents else [])
