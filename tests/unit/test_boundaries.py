"""`convert --sentences`: boundaries where a format has none."""

import json

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spacy_longtail.corpus.boundaries import BATCH, boundary_pipeline, with_boundaries
from spacy_longtail.corpus.folder import convert_corpus, stream_docs
from spacy_longtail.corpus.formats.context import Events
from tests.util import new_file, refused, run_app, save_docs

NLP = spacy.blank("en")
TEXT = "Ann went to St. Ives. She saw it."
RECORD = {"text": TEXT, "entities": [[0, 3, "PER"], [12, 20, "GEO"]]}


@Language.component("longtail_test_halves")
def halves(doc):
    """A sentence every three tokens."""
    for token in doc:
        token.is_sent_start = token.i % 3 == 0
    return doc


@Language.component("longtail_test_none")
def none(doc):
    return doc


def sentences(folder):
    return [[s.text for s in d.sents] for d in stream_docs(folder / "all.spacy", NLP.vocab)]


def pipeline(*names):
    nlp = spacy.blank("en")
    for name in names:
        nlp.add_pipe(name)
    return nlp


@pytest.fixture
def source(tmp_path):
    """A file with two records, the second of which has two sentences."""
    return new_file(tmp_path / "a.jsonl", f'{{"text": "So.", "label": []}}\n{json.dumps(RECORD)}')


def test_a_pipeline_sets_boundaries_but_not_inside_an_entity(source, tmp_path):
    assert [token.text for token in NLP(TEXT)][3:5] == ["St.", "Ives"]
    convert_corpus(source, tmp_path / "out", sentences=pipeline("longtail_test_halves"))
    assert sentences(tmp_path / "out")[1] == ["Ann went to", "St. Ives.", "She saw it", "."]


def test_the_sentencizer_sets_boundaries_but_not_inside_an_entity(source, tmp_path):
    convert_corpus(source, tmp_path / "out", sentences="sentencizer")
    assert sentences(tmp_path / "out") == [["So."], ["Ann went to St. Ives.", "She saw it."]]


def test_entities_across_a_boundary_are_counted(tmp_path):
    words = ["x", "a", ".", "b", "c", "."]
    doc = Doc(NLP.vocab, words=words, ents=["B-PER", "B-GEO", "I-GEO", "I-GEO", "O", "O"])
    events = Events()
    nlp = boundary_pipeline("sentencizer", "en", "words")
    (found,) = with_boundaries([doc], nlp, tmp_path / "a.json", events)
    assert found is doc
    assert len(list(found.sents)) == 1
    assert events.counts == {"joined": {"GEO": 1}}
    assert events.examples["joined"] == ["a.json:1: GEO 'a . b'"]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(1, 9), max_size=4), n=st.integers(0, 3), data=st.data())
def test_entities_lie_within_sentences_and_nothing_else_changes(lengths, n, data, tmp_path):
    docs, gold = [], []
    for length in [*lengths, *[5] * (n * BATCH // 2)]:
        ents = data.draw(
            st.sampled_from([["O"], ["B-X"], ["B-X", "I-X", "O"], ["B-X", "I-X", "I-X", "I-X"]])
        )
        docs.append(Doc(NLP.vocab, words=["w"] * length, ents=(ents * length)[:length]))
        gold.append([(e.start, e.end) for e in docs[-1].ents])
    found = list(with_boundaries(docs, pipeline("longtail_test_halves"), tmp_path, Events()))
    assert [[(e.start, e.end) for e in d.ents] for d in found] == gold
    for doc, ents in zip(found, gold):
        inner = {i for a, b in ents for i in range(a + 1, b)}
        if len(doc) > 1:
            assert {s.start for s in doc.sents} == {i for i in range(0, len(doc), 3) if i not in inner}
    assert all(a is b for a, b in zip(docs, found, strict=True))


def test_boundaries_that_are_there_stay(tmp_path):
    known = Doc(NLP.vocab, words=["a", ".", "b"], sent_starts=[1, -1, -1], ents=["O"] * 3)
    unknown = Doc(NLP.vocab, words=["a", ".", "b"], ents=["O"] * 3)
    path = save_docs(tmp_path / "a.spacy", [known, unknown])
    convert_corpus(path, tmp_path / "out", sentences="sentencizer", allow=True)
    assert [len(found) for found in sentences(tmp_path / "out")] == [1, 2]


@pytest.mark.parametrize("names", [[], ["longtail_test_none"], ["entity_ruler"]])
def test_a_pipeline_that_sets_no_boundaries_is_refused(names):
    with pytest.raises(ValueError, match=r"L581.*sentences"):
        boundary_pipeline(pipeline(*names), "en", "words")


def test_entities_of_the_pipeline_are_not_taken(source, tmp_path):
    nlp = pipeline("sentencizer", "entity_ruler")
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "PER", "pattern": "She"}])
    nlp.to_disk(tmp_path / "model")
    run_app("convert", source, tmp_path / "out", "--sentences", tmp_path / "model")
    _, doc = stream_docs(tmp_path / "out" / "all.spacy", NLP.vocab)
    assert [e.text for e in doc.ents] == ["Ann", "St. Ives"]
    assert len(list(doc.sents)) == 2


def test_a_pipeline_that_is_not_there_is_refused(source, tmp_path):
    refused(["convert", source, tmp_path / "out", "--sentences", tmp_path / "none"], "L408")


@pytest.mark.parametrize(
    ("n_tokens", "options", "said"),
    [(61, [], True), (60, [], False), (61, ["--sentences", "sentencizer"], False)],
)
def test_whole_texts_that_are_taken_for_sentences_are_said_to_be(n_tokens, options, said, tmp_path):
    record = {"text": " ".join(["Ida", *["came"] * (n_tokens - 2), "."])}
    spans = [{"start": 0, "end": 3, "label": "PER"}]
    path = new_file(tmp_path / "a.jsonl", json.dumps({**record, "spans": spans}))
    shown = " ".join(run_app("convert", path, tmp_path / "out", *options).output.split())
    assert "Wrote" in shown and ("--sentences sentencizer" in shown) == said
