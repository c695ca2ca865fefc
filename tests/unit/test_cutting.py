"""Parts cut out of documents: what `Span.as_doc` gives, in time that grows with the document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.corpus.cutting import SOFT, cut, read_soft, write_soft
from spacy_longtail.corpus.examples import sentences_with, trim_whitespace
from tests.util import SENTENCES, blank, document, parse, start_sentences, tags_of

NLP = blank()
READ = ["ORTH", "NORM", "LOWER", "PREFIX", "SUFFIX", "SHAPE", "SPACY", "TAG", "POS", "MORPH", "LEMMA"]
READ += ["DEP", "HEAD", "SENT_START", "ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID"]


def annotated():
    """Two sentences with all that a token can have."""
    doc = NLP.make_doc("Don't sail, Maria! The old Fram sank off Oslo.")
    doc[1].norm_ = "not"
    for token, head in zip(doc, [2, 2, 2, 2, 2, 2, 8, 8, 9, 9, 9, 10, 9], strict=True):
        token.tag_, token.pos_, token.lemma_ = "T" + token.text, "NOUN", token.text.lower()
        token.dep_ = "ROOT" if head == token.i else "nmod"
        token.set_morph("Number=Sing")
        token.head = doc[head]
    fram = Span(doc, 7, 9, label="ART", kb_id="Q1", span_id="s")
    doc.set_ents([Span(doc, 4, 5, label="PER"), fram], missing=[doc[0:2]], default="outside")
    doc.tensor = np.arange(26, dtype="f").reshape(13, 2)
    return doc


WHOLE = [[(0, 6), (6, 13)], [(6, 13)], [(0, 13)]]
BROKEN = [[(0, 4), (8, 13)], [(1, 8)], [(5, 7), (7, 8), (12, 13)]]  # entities and trees


@pytest.mark.parametrize("bounds", WHOLE + BROKEN)
def test_parts_are_cut_with_their_annotation(bounds):
    doc = annotated()
    lost = ("HEAD", "DEP", "SENT_START", "ENT_KB_ID", "ENT_ID") if bounds in BROKEN else ()
    columns = [name for name in READ if name not in lost]
    for own, (start, end) in zip(cut(doc, bounds), bounds, strict=True):
        expected = doc[start:end].as_doc()
        assert np.array_equal(own.to_array(columns), expected.to_array(columns))
        assert np.array_equal(own.to_array("SENT_START"), doc.to_array("SENT_START")[start:end])
        assert own.text == expected.text and np.array_equal(own.tensor, expected.tensor)
        assert not own.has_unknown_spaces


def test_parts_keep_what_is_known_of_the_document():
    doc = annotated()
    doc.user_data["title"] = "The Fram"
    doc.user_data["._.", "checked", None, None] = True
    doc.user_data["._.", "seen", doc[4].idx, None] = "Maria"
    write_soft(doc, ["O", "B-PER"], -np.arange(26, dtype="f").reshape(13, 2))
    first, last = cut(doc, [(0, 6), (7, 13)])
    for own in (first, last):
        assert {k: v for k, v in own.user_data.items() if k != SOFT} == {
            "title": "The Fram",
            ("._.", "checked", None, None): True,
        }
    assert read_soft(last).log_p[0].tolist() == [-14, -15] and len(read_soft(first).log_p) == 6


def test_odd_documents_are_cut():
    assert list(cut(Doc(NLP.vocab), [])) == []
    loose = Doc(NLP.vocab, words=["a", "b"])
    (own,) = cut(loose, [(1, 2)])
    assert own.text.strip() == "b" and own.has_unknown_spaces == loose.has_unknown_spaces


def test_only_sentences_with_the_types_are_cut_out():
    reference = document(NLP, *SENTENCES)
    eg = Example(Doc(NLP.vocab, words=[t.text for t in reference]), reference)
    found = sentences_with([eg], {"NAT", "PER"})
    wanted = [text for text in SENTENCES if "|NAT]" in text or "|PER]" in text]
    assert [part.reference[0].text for part in found] == [parse(NLP, text)[0].text for text in wanted]


@pytest.mark.parametrize(
    ("is_one_sentence", "predicted_start", "start"),
    [
        (None, None, 0),  # no boundaries anywhere: one sentence
        (None, 8, 8),
        (True, 7, 0),  # of two boundaries the gold one holds
    ],
)
def test_without_gold_boundaries_the_predicted_ones_hold(is_one_sentence, predicted_start, start):
    bounded = document(NLP, SENTENCES[4], SENTENCES[6])  # with a NAT in the second
    reference = Doc(NLP.vocab, words=[t.text for t in bounded], ents=tags_of(bounded))
    if is_one_sentence:
        start_sentences(reference, 0)
    predicted = Doc(NLP.vocab, words=[t.text for t in reference])
    if predicted_start:
        predicted[predicted_start].is_sent_start = True
    (found,) = sentences_with([Example(predicted, reference)], {"NAT"})
    expected = reference[start:]
    assert [t.text for t in found.reference] == [t.text for t in found.predicted]
    assert found.reference.text.strip() == expected.text.strip()
    assert [e.label_ for e in found.reference.ents] == [e.label_ for e in expected.ents]


def test_predicted_boundaries_are_mapped_onto_gold_tokens():
    words = ["Anna-Lee", "sang", ".", "\n", "Storm-", "Ida", "hit", "Rome", "."]
    tags = ["O"] * 4 + ["B-NAT", "I-NAT"] + ["O"] * 3
    reference = Doc(NLP.vocab, words=words, ents=tags)
    parts = ["Anna", "-", "Lee", "sang", ".", "Storm", "-", "Ida", "hit", "Rome", "."]
    for boundaries, expected in (
        ([5], words[4:]),
        ([5, 8], words[4:6]),
        ([5, 7], words[4:]),  # inside the entity: cuts nothing
        ([1], words[1:]),  # inside a gold token: before the next
        ([6], words),
    ):
        predicted = Doc(NLP.vocab, words=parts)
        for i in boundaries:
            predicted[i].is_sent_start = True
        (found,) = sentences_with([Example(predicted, reference)], {"NAT"})
        kept = [t.text for t in found.reference]
        assert [w for w in kept if w.strip()] == [w for w in expected if w.strip()]


@given(
    space=st.lists(st.booleans(), min_size=1, max_size=8),
    bounds=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=4),
)
def test_whitespace_is_trimmed_token_by_token(space, bounds):
    bounds = [(min(a, b, len(space) - 1), min(max(a, b), len(space))) for a, b in bounds]
    found = trim_whitespace(*np.array(bounds, dtype="int64").reshape(-1, 2).T, np.array(space))
    for (start, end), own in zip(bounds, zip(*found, strict=True), strict=True):
        while start < end and space[start]:
            start += 1
        while start < end and space[end - 1]:
            end -= 1
        assert own == (start, end)
