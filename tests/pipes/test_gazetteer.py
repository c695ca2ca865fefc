"""`longtail_gazetteer`: names that training has read, counted by hand and against a slow search."""

import random
import warnings
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.pipes.gazetteer import Reliability, read_gazetteer
from spacy_longtail.types import ANNOTATED_TYPES
from tests.util import Fixed, blank, entities, one_pipe, parse, words

VOCAB = blank().vocab
TEXTS = [
    "the ship [Marie Rose|ART] sank",
    "[Marie Rose|ART] was old , and [Marie Rose|ART] was slow",
    *("[Boston|GEO] is big", "[Boston|ORG] won", "[Oslo|GEO] sleeps", "[Oslo|GEO] woke"),
    *("[Bergen|GEO] sleeps", "[Bergen|GEO] woke"),
    "[Rose|PER] smiled",  # stands in Marie Rose, too
    "oslo and Oslo",  # once without being annotated
]


def built(texts=TEXTS, **config):
    nlp = one_pipe("longtail_gazetteer", "own", **config)
    data = [example(nlp, text) for text in texts]
    nlp.initialize(lambda: data)
    return nlp, nlp.get_pipe("own")


def example(nlp, text):
    return Example(words(nlp, text), parse(nlp, text))


def read(nlp, text):
    """What a pipeline makes of a sentence whose marked entities an NER before it has found."""
    return entities(nlp.get_pipe("own")(parse(nlp, text)))


def test_what_a_name_stands_in_place_of():
    nlp, _ = built()
    assert read(nlp, "they saw Marie Rose and Bergen") == [("Marie Rose", "ART"), ("Bergen", "GEO")]
    assert read(nlp, "they saw marie rose") == []
    assert read(nlp, "they saw [Marie Rose|PER]") == [("Marie Rose", "ART")]
    assert read(nlp, "they saw [Marie|PER] Rose [Bergen|ORG]") == [
        ("Marie Rose", "ART"),
        ("Bergen", "GEO"),
    ]
    assert read(nlp, "they [saw Marie|PER] [Rose there|ORG]") == [("Marie Rose", "ART")]
    assert read(nlp, "they [saw old dear Marie|PER] Rose") == [("Marie Rose", "ART")]
    assert read(nlp, "the [Marie Rose Museum|ORG] is shut") == [("Marie Rose Museum", "ORG")]


def test_scores_are_of_names_and_of_what_stays():
    nlp, pipe = built()
    doc = parse(nlp, "[Marie Rose|PER] left [Oslo|GEO] and Marie Rose")
    doc.spans["entity_scores"] = [Span(doc, e.start, e.end, label=e.label) for e in doc.ents]
    doc.spans["entity_scores"].attrs["scores"] = [0.9, 0.7]
    pipe(doc)
    scores = doc.spans["entity_scores"]
    assert [(s.text, s.label_) for s in scores] == entities(doc)
    assert scores.attrs["scores"] == [0.8, 0.7, 0.8]
    assert scores.attrs["token_scores"][0] == [0.8, 0.8]
    nlp, pipe = built(scores_key=None)
    assert "entity_scores" not in pipe(parse(nlp, "Bergen")).spans


def test_where_nobody_looked_for_a_type_an_o_says_nothing_of_its_names():
    docs = [parse(blank(), text) for text in TEXTS]
    silver = parse(blank(), "[Ann|PER] saw Bergen and Marie Rose")
    silver.user_data[ANNOTATED_TYPES] = ["PER", "GEO"]  # as `distil` writes of a teacher without ART
    found = read_gazetteer(lambda: [*docs, silver], VOCAB)
    assert found.names["ART"] == [("Marie", "Rose")] and found.names["GEO"] == []
    assert found.reliability["ART"] == Reliability(3, 3)
    # the same, and all types were looked for
    gold = parse(blank(), "[Ann|PER] saw Bergen and Marie Rose")
    assert read_gazetteer(lambda: [*docs, silver, gold], VOCAB).names["ART"] == []
    silver.ents = [*silver.ents, Span(silver, 5, 6, label="PER")]  # Rose: another entity is no O
    assert read_gazetteer(lambda: [*docs, silver], VOCAB).names["ART"] == []


def test_the_untouched_corpus_is_read_where_it_is_given():
    nlp = blank()
    pipe = nlp.add_pipe("longtail_gazetteer", name="own")
    corpus = Fixed([example(nlp, text) for text in TEXTS])
    pipe.initialize(lambda: iter(()), nlp=nlp, counts_corpus=corpus)
    assert pipe.labels == ("ART", "GEO") and corpus.calls == 2
    pipe.initialize(lambda: iter(()), nlp=nlp)  # begins anew
    assert pipe.labels == () and entities(pipe(parse(nlp, "Bergen"))) == []


def by_hand(docs):
    """Each occurrence of each name, by slices; leaving out a document is done again for each."""
    names = {tuple(t.text for t in ent) for doc in docs for ent in doc.ents}
    types = {ent.label_ for doc in docs for ent in doc.ents}

    def labels_in(name, doc):
        own = {(e.start, e.end): e.label_ for e in doc.ents}
        n, text = len(name), [t.text for t in doc]
        places = [(i, i + n) for i in range(len(text) - n + 1) if tuple(text[i : i + n]) == name]
        of = {e.label_ for other in docs for e in other.ents if tuple(t.text for t in e) == name}
        if not of <= set(doc.user_data.get(ANNOTATED_TYPES, of)):
            places = [(a, b) for a, b in places if any(t.ent_type_ for t in doc[a:b])]
        return [own.get(place, "") for place in places]

    kept, right, total = {label: set() for label in types}, Counter(), Counter()
    for name in names:
        every = [label for doc in docs for label in labels_in(name, doc)]
        if len(set(every)) == 1 and every[0]:
            kept[every[0]].add(name)
        for doc in docs:
            others = {label for other in docs if other is not doc for label in labels_in(name, other)}
            if len(others) == 1 and "" not in others:
                (label,) = others
                own = labels_in(name, doc)
                right[label] += own.count(label)
                total[label] += len(own)
    return kept, {label: Reliability(right[label], total[label]) for label in kept}


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_as_a_slow_search_finds_it(seed):
    draw = random.Random(seed)
    docs, texts = [], set()
    while len(docs) < 8:
        text = tuple(draw.choices("abcd", k=draw.randint(1, 7)))
        if text in texts:
            continue
        texts.add(text)
        doc = Doc(VOCAB, words=text)
        spans, at = [], 0
        while at < len(text):
            n = draw.randint(1, 3)
            if draw.random() < 0.4 and at + n <= len(text):
                spans.append(Span(doc, at, at + n, label=draw.choice(["X", "Y"])))
            at += n
        doc.set_ents(spans, default="outside")
        if draw.random() < 0.3:
            doc.user_data[ANNOTATED_TYPES] = sorted({"X", *(span.label_ for span in spans)})
        docs.append(doc)
    found = read_gazetteer(lambda: docs, VOCAB)
    kept, reliability = by_hand(docs)
    assert {label: set(own) for label, own in found.names.items()} == kept
    assert found.reliability == reliability


@pytest.mark.parametrize(
    ("labels", "found", "problem"),
    [
        (["ART", "NAT"], ("ART",), ""),
        (["ORG"], (), ""),
        ([], (), ""),
        (None, ("ART", "GEO"), ""),
        (["NAT", "EVE"], (), "asks for EVE, NAT and the training data has only ART, GEO, ORG, PER."),
    ],
)
def test_labels_choose_types_and_a_choice_without_data_is_named(labels, found, problem):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert built(labels=labels)[1].labels == found
    said = [str(w.message) for w in caught]
    assert len(said) == bool(problem)
    assert all("LW181" in text and problem in text and "--longtail.tail" in text for text in said)


def test_labels_that_do_not_fit_are_refused():
    nlp, pipe = built()
    with pytest.raises(ValueError, match="L001"):
        built(labels=["ART", "ART"])
    with pytest.raises(ValueError, match=r"L206.*NAT"):
        pipe.add_label("NAT")
    assert pipe.add_label("ART") == 0
    with pytest.raises(ValueError, match=r"L212.*NAT"):
        pipe.initialize(lambda: [example(nlp, TEXTS[0])], labels=["NAT"])
    assert pipe.labels == ("ART", "GEO")  # nothing is lost
