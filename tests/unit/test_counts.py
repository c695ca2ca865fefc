import math

import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_longtail.corpus.counts import CorpusCounts, count_doc, count_docs
from spacy_longtail.corpus.examples import keep_types
from spacy_longtail.sentences import sentence_lengths
from spacy_longtail.types import SentenceCounts
from tests.util import blank, examples, parse, two_sentences

NLP = blank()
BILU = {"B-PER": 1, "I-PER": 0, "L-PER": 1, "U-PER": 1, "B-GEO": 1, "I-GEO": 1, "L-GEO": 1, "U-GEO": 0}


def test_a_document_is_counted_by_type():
    assert count_doc(parse(NLP, "[Jon Berg|PER] met [Ann|PER] in [New York City|GEO] .")) == (
        SentenceCounts(
            tokens={"PER": 3, "GEO": 3},
            length=9,
            mentions={"PER": 2, "GEO": 1},
            singles={"PER": 1, "GEO": 0},
        )
    )


def test_white_space_and_tokens_without_annotation_are_not_counted():
    doc = Doc(NLP.vocab, words=["Ann", "\n", "left", "now"], ents=["B-PER", "O", "O", ""])
    assert count_doc(doc).length == 2
    assert count_doc(Doc(NLP.vocab, words=["no", "annotation"])).length == 0


def test_a_unit_may_be_added_several_times():
    doc = examples(NLP)[0].reference
    twice = CorpusCounts()
    twice.add(count_doc(doc), 2)
    assert twice == count_docs([doc, doc])


def test_rareness_is_in_bits_and_zero_for_a_type_of_all_tokens():
    counts = CorpusCounts(n_tokens=1024)
    counts.tokens.update(a=64, b=8, all=1024)
    assert counts.rareness() == {"a": 4.0, "b": 7.0, "all": 0.0}
    assert math.copysign(1, counts.rareness()["all"]) == 1  # not -0.0


@pytest.mark.parametrize(
    ("unit", "prefixes", "expected"),
    [
        ("type", "BILU", {"O": 3, "PER": 3, "GEO": 3}),
        ("tag", "BI", {"O": 3, "B-PER": 2, "I-PER": 1, "B-GEO": 1, "I-GEO": 2}),
        ("tag", "BILU", {"O": 3, **BILU}),
    ],
)
def test_classes_of_a_tag_scheme(unit, prefixes, expected):
    counts = count_docs([parse(NLP, "[Jon Berg|PER] met [Ann|PER] in [New York City|GEO] .")])
    assert counts.classes(unit, ["PER", "GEO"], prefixes) == expected


def test_a_document_without_boundaries_is_one_sentence():
    doc = two_sentences(NLP).reference
    assert sentence_lengths(doc).tolist() == [6, len(doc) - 6]
    assert sentence_lengths(Doc(NLP.vocab, words=["a", "b"])).tolist() == [2]
    assert sentence_lengths(Doc(NLP.vocab)).tolist() == []


def test_dropped_types_become_o_and_the_rest_is_unchanged():
    reference = parse(NLP, "[Ann|PER] took the [Fram|ART] home .")
    reference.set_ents(list(reference.ents), missing=[reference[4:5]], default="unmodified")
    eg = Example(Doc(NLP.vocab, words=[t.text for t in reference]), reference)
    assert keep_types(eg, {"PER"}).get_aligned_ner() == ["U-PER", "O", "O", "O", None, "O"]
    assert eg.get_aligned_ner()[3] == "U-ART"
    assert keep_types(eg, {"PER", "ART"}) is eg
