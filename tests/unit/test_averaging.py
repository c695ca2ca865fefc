"""Teachers averaged: the mean of their tags' probabilities, what is read from it, what is refused."""

import numpy as np
import pytest
import spacy
from spacy.util import fix_random_seed

from spacy_longtail.types import ENTITY_SCORES
from spacy_longtail.unlabelled.averaging import average
from spacy_longtail.unlabelled.teacher import PoolTeacher
from tests.util import SENTENCES, TOKEN_MODEL, blank, examples, trained_once, words

TYPES = ["PER", "GEO", "ART", "NAT"]
OWN = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": TOKEN_MODEL["tok2vec"]}


def pipeline(**settings):
    nlp = blank()
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": TOKEN_MODEL, **settings})
    return nlp


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Pipelines on disk: each head as trained by one seed and by another, the types in another order."""
    folder = tmp_path_factory.mktemp("teachers")
    for head in ("softmax", "crf"):
        trained_once(pipeline, 25, head=head)[0].to_disk(folder / head)
        other = pipeline(head=head)
        other.get_pipe("ner").set_types(TYPES[::-1])
        fix_random_seed(1)
        data = examples(other)
        optimizer = other.initialize(lambda: data)
        for _ in range(12):
            other.update(data, sgd=optimizer)
        other.to_disk(folder / f"{head}-1")
    return folder


def averaged(folder, *names):
    first, *others = (spacy.load(folder / name) for name in names)
    average(first, names[0], others, names[1:])
    return first


def docs_of(nlp):
    return [words(nlp, text) for text in SENTENCES]


def marginals(nlp):
    return nlp.get_pipe("ner").marginals(docs_of(nlp))


def test_entities_and_scores_are_those_of_the_mean(saved):
    nlp = averaged(saved, "crf", "crf-1", "softmax")
    PoolTeacher.of(nlp, "crf", TYPES)
    p, codec = marginals(nlp), nlp.get_pipe("ner").codec
    read, at = [], 0
    for doc in nlp.pipe(docs_of(nlp)):
        rows = p[at : at + len(doc)]
        at += len(doc)
        group = doc.spans[ENTITY_SCORES]
        for ent, score in zip(group, group.attrs["scores"], strict=True):
            tags = [f"{'B' if i == ent.start else 'I'}-{ent.label_}" for i in range(ent.start, ent.end)]
            own = [rows[i, codec.tags.index(t)] for i, t in zip(range(ent.start, ent.end), tags)]
            assert score == pytest.approx(np.mean(own), abs=1e-6)
            read.append(ent)
    assert read


def test_sentences_are_those_of_the_first(saved):
    """A chain ends where the first pipeline ends a sentence, in each of the others, too."""
    text = "Maria sailed to Oslo Rome . Old Maria met Jon Berg Storm . Ida passed ."
    first, one, other = (spacy.load(saved / name) for name in ("crf", "crf", "crf-1"))
    first.add_pipe("sentencizer", first=True)
    means = []
    for starts in (True, False):
        docs = [nlp.make_doc(text) for nlp in (one, other)]
        for doc in docs:
            for i, token in enumerate(doc):
                token.is_sent_start = starts and (i == 0 or doc[i - 1].text == ".")
        p, q = (nlp.get_pipe("ner").marginals([doc]) for nlp, doc in zip((one, other), docs))
        tags = other.get_pipe("ner").codec.tags
        means.append((p + q[:, [tags.index(tag) for tag in one.get_pipe("ner").codec.tags]]) / 2)
    mean, without = means
    assert np.abs(without - mean).max() > 1e-3  # else it would say nothing
    average(first, "crf", [other], ["crf-1"])
    np.testing.assert_allclose(first.get_pipe("ner").marginals([first(text)]), mean, atol=1e-6)


def test_the_vocabularies_do_not_grow(saved):
    first, other = (spacy.load(saved / name) for name in ("softmax", "softmax-1"))
    average(first, "softmax", [other], ["softmax-1"])
    with first.memory_zone():
        for doc in first.pipe(f"Qz{i} sailed to Vx{i} ." for i in range(20)):
            assert len(doc)
    assert not any(f"Qz{i}" in nlp.vocab.strings for i in range(20) for nlp in (first, other))


def test_pipelines_that_cannot_be_averaged(saved):
    def other(**settings):
        return trained_once(pipeline, 2, **settings)[0]

    several, judged, calibrated = (spacy.load(saved / "crf") for _ in range(3))
    several.add_pipe("entity_ruler")
    judged.get_pipe("ner").cfg["thresholds"] = {"PER": 0.5}
    calibrated.get_pipe("ner").cfg["calibration"] = {"*": (1.0, 0.0)}
    heads = [other(head="sigmoid"), other(head="two_task")]
    for nlp in (*heads, other(include=["PER"]), other(scheme="BILUO"), several, judged, calibrated):
        with pytest.raises(ValueError, match=r"L514.*the other"):
            average(spacy.load(saved / "crf"), "crf", [nlp], ["the other"])
