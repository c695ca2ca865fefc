"""`convert --sentences`: boundaries where a format has none."""

import json

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_longtail.corpus.boundaries import BATCH, boundary_pipeline, with_boundaries
from spacy_longtail.corpus.folder import convert_corpus, stream_docs
from spacy_longtail.corpus.formats.context import Events
from tests.util import invoke, run_app

from .test_formats import NLP, QUICK, write

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


def test_a_boundary_inside_an_entity_is_dropped(tmp_path):
    path = write(
        tmp_path / "a.jsonl", json.dumps({"text": "So."})[:-1] + ', "label": []}\n' + json.dumps(RECORD)
    )
    words = [t.text for t in NLP(TEXT)]
    assert words[3:5] == ["St.", "Ives"]
    convert_corpus(path, tmp_path / "out", sentences=pipeline("longtail_test_halves"))
    assert sentences(tmp_path / "out")[1] == ["Ann went to", "St. Ives.", "She saw it", "."]
    assert convert_corpus(path, tmp_path / "two", sentences="sentencizer")
    assert sentences(tmp_path / "two") == [["So."], ["Ann went to St. Ives.", "She saw it."]]
    words = ["x", "a", ".", "b", "c", "."]
    doc = Doc(NLP.vocab, words=words, ents=["B-PER", "B-GEO", "I-GEO", "I-GEO", "O", "O"])
    events = Events()
    nlp = boundary_pipeline("sentencizer", "en", "words")
    (found,) = with_boundaries([doc], nlp, tmp_path / "a.json", events)
    assert len(list(found.sents)) == 1 and found is doc
    assert events.counts == {"joined": {"GEO": 1}}
    assert events.examples["joined"] == ["a.json:1: GEO 'a . b'"]


@QUICK
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


def test_boundaries_that_are_there_stay_and_a_pipeline_sets_them(tmp_path):
    docs = [
        Doc(NLP.vocab, words=["a", ".", "b"], sent_starts=s, ents=["O"] * 3) for s in ([1, -1, -1], None)
    ]
    DocBin(docs=docs).to_disk(tmp_path / "a.spacy")
    convert_corpus(tmp_path / "a.spacy", tmp_path / "out", sentences="sentencizer", allow=True)
    assert [len(s) for s in sentences(tmp_path / "out")] == [1, 2]
    for nlp in (pipeline(), pipeline("longtail_test_none"), pipeline("entity_ruler")):
        with pytest.raises(ValueError, match=r"L581.*sentences"):
            boundary_pipeline(nlp, "en", "words")


def test_the_pipelines_own_entities_are_not_taken(tmp_path):
    nlp = pipeline("sentencizer", "entity_ruler")
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "PER", "pattern": "She"}])
    nlp.to_disk(tmp_path / "model")
    path = write(tmp_path / "a.jsonl", json.dumps(RECORD))
    for i, (chosen, code) in enumerate((("model", ""), ("none", "L408"))):
        target = tmp_path / f"out{i}"
        shown = invoke("convert", path, target, "--sentences", tmp_path / chosen, "--text-key", "text")
        assert shown.exit_code == (2 if code else 0) and code in shown.output
    (doc,) = stream_docs(tmp_path / "out0" / "all.spacy", NLP.vocab)
    assert [e.text for e in doc.ents] == ["Ann", "St. Ives"] and len(list(doc.sents)) == 2


@pytest.mark.parametrize(
    ("n_tokens", "options", "said"),
    [(61, [], True), (60, [], False), (61, ["--sentences", "sentencizer"], False)],
)
def test_whole_texts_that_are_taken_for_sentences_are_said_to_be(n_tokens, options, said, tmp_path):
    record = {"text": " ".join(["Ida", *["came"] * (n_tokens - 2), "."])}
    spans = [{"start": 0, "end": 3, "label": "PER"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({**record, "spans": spans}), encoding="utf8")
    shown = run_app("convert", tmp_path / "a.jsonl", tmp_path / "out", *options)
    shown = " ".join(shown.output.split())
    assert "Wrote" in shown and ("--sentences sentencizer" in shown) == said
