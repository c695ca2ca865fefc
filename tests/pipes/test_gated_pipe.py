"""longtail_gated_pipe: the flagged sentences alone, whatever reads them, and what if it fails."""

import json
import math
import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import spacy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.evaluation.report.wording import usage_in_words
from spacy_longtail.pipes.secondary.gated_pipe import GatedPipe
from tests.pipes.gated import TEXT, lines, pipeline
from tests.util import entities, entity_offsets

ATTRIBUTES = ["ENT_IOB", "ENT_TYPE", "ENT_ID", "ENT_KB_ID", "SENT_START", "ORTH", "TAG", "LEMMA"]
FOUND = [("ANN", "PER"), ("ANN", "PER"), ("SHIP Vega", "VESSEL"), ("STORM", "NAT")]
SCORED = {"scores_key": "entity_scores"}
WORDS = ["ANN", "FLAG", "SHIP", "STORM", "Österreich", "船", "👩‍🚀", "é", "\n", "  ", "of", "."]


@cache
def plain_pipeline() -> Language:
    return pipeline(batch_size=2)


def rescue(nlp: Language) -> GatedPipe:
    return nlp.get_pipe("rescue")


def rows(doc: Doc) -> np.ndarray:
    return doc.to_array(ATTRIBUTES)


# What is read and written


def test_the_secondary_reads_flagged_sentences_alone(tmp_path):
    nlp = pipeline(pipe={"log": str(tmp_path / "log")})
    assert entities(nlp(TEXT)) == FOUND
    assert lines(tmp_path / "log") == ["FLAG ANN on SHIP Vega . ", "FLAG the STORM came . "]
    used = rescue(nlp).usage
    assert used.pop("seconds") > 0
    counts = {"sentences": 4, "flagged": 2, "words": 11, "calls": 2, "entities": 2}
    assert used == {**counts, "refused": 0, "failures": 0}
    nlp = pipeline(labels=["ART"], label_map={"VESSEL": "ART"})
    assert entities(nlp(TEXT)) == [*FOUND[:2], ("SHIP Vega", "ART")]
    nlp(TEXT)
    assert rescue(nlp).usage["refused"] == 2


@settings(max_examples=60)
@example([[["FLAG", "SHIP", "\n", "of"]], [["ANN"], ["FLAG", "ANN", "SHIP", "ANN", "STORM"]]])
@given(st.lists(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=4), max_size=4))
def test_places_are_those_of_the_document(texts):
    """Entities stand where their words do; outside flagged sentences nothing changes."""
    nlp = plain_pipeline()
    plain = [Doc(nlp.vocab, words=[w for sent in text for w in [*sent, "."]]) for text in texts]
    before = [nlp(doc.copy(), disable=["rescue"]) for doc in plain]
    for doc in before:
        if len(doc):
            doc[0].ent_kb_id_, doc[-1].ent_id_ = "Q1", "own"
    after = list(rescue(nlp).pipe((doc.copy() for doc in before), batch_size=3))
    for own, doc in zip(before, after, strict=True):
        flagged = np.zeros(len(doc), dtype=bool)
        expected = set(entity_offsets(own))
        for span in own.spans["weak_sentences"]:
            flagged[span.start : span.end] = True
            alone = rescue(nlp).secondary.component(Doc(nlp.vocab, words=[t.text for t in span]))
            for ent in alone.ents:
                tokens = list(own[span.start + ent.start : span.start + ent.end])
                while tokens[-1].is_space:
                    tokens.pop()
                if not any(token.ent_type_ for token in tokens):
                    expected.add((tokens[0].i, tokens[-1].i + 1, ent.label_))
        assert np.array_equal(rows(doc)[~flagged], rows(own)[~flagged])
        assert set(entity_offsets(doc)) == expected


REPLACED = "ANN came . FLAG ANN on SHIP Vega . FLAG ANN BAD . FLAG ANN . Oslo"
COVERS = {"pipe": {"covers": ["ANN"]}}


@pytest.mark.parametrize(
    ("settings", "expected"),  # by sentence; the secondary fails on the third
    [
        ({}, "ANN PER; SHIP Vega VESSEL; ANN PER"),
        ({"labels": ["VESSEL"]}, "ANN PER; ANN PER; SHIP Vega VESSEL; ANN PER; ANN PER"),
        (COVERS, "ANN PER; ANN NAT; SHIP Vega VESSEL; ANN PER; ANN NAT"),
        ({**COVERS, "labels": ["NAT"]}, "ANN PER; ANN NAT; ANN PER; ANN NAT"),
        (
            {**COVERS, "label_map": {"NAT": "PER"}},
            "ANN PER; ANN PER; SHIP Vega VESSEL; ANN PER; ANN PER",
        ),
    ],
)
def test_the_secondary_takes_the_place_of_the_primary(settings, expected):
    nlp = pipeline(SCORED, **settings, **SCORED, merge="replace")
    doc = nlp(REPLACED)
    assert "; ".join(f"{text} {label}" for text, label in entities(doc)) == expected
    assert rescue(nlp).usage["failures"] == 1
    flagged = {token.i for span in doc.spans["weak_sentences"] for token in span}
    beside = [i for i in range(len(doc)) if i not in flagged]
    assert np.array_equal(rows(doc)[beside], rows(nlp(REPLACED, disable=["rescue"]))[beside])
    rated = {(span.start, span.end, span.label_) for span in doc.spans["entity_scores"]}
    assert (0, 1, "PER") in rated <= {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def test_behind_a_primary_without_scores_the_scored_entities_are_the_secondarys():
    doc = pipeline(None, pipe=SCORED)("FLAG ANN saw STORM .")
    assert entities(doc) == [("ANN", "PER"), ("STORM", "NAT")]
    assert [(span.text, span.label_) for span in doc.spans["entity_scores"]] == [("STORM", "NAT")]


@pytest.mark.parametrize(
    ("merge", "pipe", "expected"),
    [
        ("span", {**SCORED, "score": 0.4}, "PER"),
        ("span", {**SCORED, "score": 0.6}, "NAT"),
        ("token", {**SCORED, "score": 0.6}, "NAT"),
        ("fill", {**SCORED, "score": 0.6}, "PER"),
        ("span", {}, "PER"),  # without a score it is filled in
        ("token", {}, "PER"),
    ],
)
def test_scores_decide_where_there_are_some(merge, pipe, expected):
    doc = pipeline(SCORED, merge=merge, pipe={**pipe, "covers": ["ANN"]})("FLAG ANN saw STORM .")
    assert entities(doc) == [("ANN", expected), ("STORM", "NAT")]
    group = doc.spans["entity_scores"]
    rated = {(e.text, e.label_): score for e, score in zip(group, group.attrs["scores"], strict=True)}
    assert (("STORM", "NAT") in rated) == bool(pipe)  # no number is made up
    assert all(math.isfinite(score) for score in rated.values())


# How often it is called


@pytest.mark.parametrize("how", [{"batch_size": 1}, {"batch_size": 3}, {"n_process": 2}])
@pytest.mark.parametrize("size", [1, 32])
def test_each_flagged_sentence_is_given_once(how, size, tmp_path):
    log = tmp_path / "log"
    nlp = pipeline(batch_size=size, pipe={"log": str(log)})
    texts = [f"FLAG SHIP no{i} . {TEXT}" for i in range(5)] + [""]
    found = [entities(doc) for doc in nlp.pipe(texts, **how)]
    assert found == [[(f"SHIP no{i}", "VESSEL"), *FOUND] for i in range(5)] + [[]]
    expected = [f"FLAG SHIP no{i} . " for i in range(5)]
    expected += ["FLAG ANN on SHIP Vega . ", "FLAG the STORM came . "] * 5
    assert lines(log) == sorted(expected)


# Failures


def test_only_the_bad_sentence_of_a_batch_is_lost(caplog, tmp_path):
    log = tmp_path / "log"
    nlp = pipeline(batch_size=1, pipe={"log": str(log)})
    texts = [TEXT, "FLAG ANN BAD STORM .", TEXT]
    assert [entities(doc) for doc in nlp.pipe(texts)] == [FOUND, [("ANN", "PER")], FOUND]
    used = rescue(nlp).usage
    assert used["failures"] == 1 and used["entities"] == 4 and used["calls"] == 5
    assert caplog.text.count("LW062") == 1 and "ConnectionError: cannot read" in caplog.text
    assert len(lines(log)) == 5 and lines(log)[0] == "FLAG ANN BAD STORM ."


def merge(doc: Doc) -> None:
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])


def rate(doc: Doc, score: float, *tokens: float) -> None:
    doc.ents = [Span(doc, 0, 1, label="X")]
    doc.spans["entity_scores"] = list(doc.ents)
    doc.spans["entity_scores"].attrs.update(scores=[score], token_scores=[list(tokens)])


def fail(error: Exception) -> None:
    raise error


def spoil(docs: list[Doc]) -> None:
    """Change the sentences of a batch, then fail; a sentence alone is read."""
    if len(docs) > 1:
        for doc in docs:
            merge(doc)
        raise MemoryError("too many")
    docs[0].ents = [Span(docs[0], t.i, t.i + 1, label="ART") for t in docs[0] if t.text == "Vega"]


FAILURES: dict[str, Callable[[list[Doc]], object]] = {  # by what is logged
    "no route": lambda docs: fail(ConnectionError("no route")),
    "too slow": lambda docs: fail(TimeoutError("too slow")),
    "MemoryError": lambda docs: fail(MemoryError()),
    "JSONDecodeError": lambda docs: json.loads("Sorry, I cannot"),
    "L292": lambda docs: fail(ValueError("[L292] refused.")),
    "other tokens": lambda docs: [merge(doc) for doc in docs],
    "37.5": lambda docs: [rate(doc, 37.5) for doc in docs],
    "1 tokens, and scores of 3": lambda docs: [rate(doc, 0.5, 0.9, 0.8, 0.7) for doc in docs],
    "1.5": lambda docs: [rate(doc, 0.5, 1.5) for doc in docs],
}
BUGS: dict[str, Callable[[list[Doc]], object]] = {
    "attribute": lambda docs: None.text,  # type: ignore[attr-defined]
    "key": lambda docs: {}["x"],
    "value": lambda docs: int("x"),
    "runtime": lambda docs: fail(RuntimeError("shapes cannot be multiplied")),
}


@Language.factory("test_does", assigns=["doc.ents"], default_config={"deed": ""})
class Doer:
    """A component that reads batches, and does to them what it is told."""

    def __init__(self, nlp: Language, name: str, deed: str) -> None:
        self.deed, self.calls = deed, 0

    def __call__(self, doc: Doc) -> Doc:
        raise AssertionError("components with `pipe` are given batches")

    def pipe(self, stream, batch_size):
        self.calls += 1
        docs = list(stream)
        assert len(docs) == batch_size
        {**FAILURES, **BUGS, "spoil": spoil}[self.deed](docs)
        yield from docs


def does(deed: str, **settings: object) -> Language:
    return pipeline(pipe={"factory": "test_does", "deed": deed}, **settings)


def test_a_sentence_is_read_again_as_it_was():
    nlp = does("spoil")
    assert entities(nlp(TEXT)) == [*FOUND[:2], ("Vega", "ART")]
    assert rescue(nlp).usage["failures"] == 0 and rescue(nlp).usage["calls"] == 4


@pytest.mark.parametrize("problem", FAILURES)
def test_what_fails_or_cannot_be_merged_costs_its_sentences(problem, caplog):
    nlp = does(problem)
    assert entities(nlp(TEXT)) == FOUND[:2]
    assert rescue(nlp).usage["failures"] == 2 and rescue(nlp).secondary.component.calls == 3
    assert problem in caplog.text


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_raised_and_not_tried_again(bug):
    nlp = does(bug, max_failures=None)
    with pytest.raises(Exception, match=r"^(?!\[L)"):  # of a KeyError spaCy makes its E109
        nlp(TEXT)
    assert rescue(nlp).usage["failures"] == 0 and rescue(nlp).secondary.component.calls == 1


def test_a_run_stops_after_too_many_failures():
    nlp = pipeline(max_failures=1)
    nlp.set_error_handler(lambda *_: None)  # which does not hold it up
    stream = nlp.pipe(["FLAG BAD 1 .", TEXT, "FLAG BAD 2 .", "FLAG BAD 3 ."], batch_size=1)
    assert [entities(next(stream)) for _ in range(3)] == [[], FOUND, []]
    with pytest.raises(ValueError, match=r"L290.*2 sentences in a row, and max_failures = 1"):
        list(stream)
    with pytest.raises(ValueError, match="L290"):
        pipeline(max_failures=0)("FLAG BAD .")


# Bad input


def ruler(labels: dict[str, str], lang: str = "en", **others: str) -> Language:
    nlp = spacy.blank(lang)
    own = nlp.add_pipe("entity_ruler", name="ruler")
    own.add_patterns([{"label": label, "pattern": [{"ORTH": w}]} for w, label in labels.items()])
    for name, factory in others.items():
        nlp.add_pipe(factory, name=name)
    return nlp


@pytest.mark.parametrize(
    ("source", "settings", "found"),
    [
        ("de", {}, "L285.*'de'"),
        ("en", {"label_map": {"SHAP": "ART"}}, "L285.*'SHAP'.*NAT, SHIP"),
        ("en", {"labels": ["GEO"]}, "L285.*'GEO'"),
    ],
)
def test_sources_that_do_not_fit_are_refused(source, settings, found, tmp_path):
    ruler({"Vega": "SHIP", "STORM": "NAT"}, source).to_disk(tmp_path / source)
    config = {"source": str(tmp_path / source), **settings}
    with pytest.raises(ValueError, match=found):
        spacy.blank("en").add_pipe("longtail_gated_pipe", name="rescue", config=config)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_missing_source_is_refused_where_nothing_was_saved(tmp_path, is_there):
    if is_there:
        (tmp_path / "gone").mkdir()
    nlp = pipeline(source=str(tmp_path / "gone"))
    for use in (nlp.initialize, nlp.to_bytes, lambda: nlp(TEXT)):
        with pytest.raises(ValueError, match=r"L285.*gone"):
            use()
    assert rescue(nlp).usage["failures"] == 0


@Language.factory("test_terms", assigns=["doc.spans"])
def make_terms(nlp: Language, name: str):
    """Phrases of one's own: they name no key, as those of a span_ruler do."""

    def flag(doc: Doc) -> Doc:
        own = [doc[t.i : t.i + 1] for t in doc if t.text == "Fram"]
        doc.spans["weak_sentences"] = [*doc.spans.get("weak_sentences", ()), *own]
        return doc

    return flag


@pytest.mark.parametrize("gated", [True, False])
def test_phrases_of_ones_own_open_alone_and_join_a_gate(gated):
    nlp = pipeline()
    if not gated:
        nlp.remove_pipe("gate")
    nlp.add_pipe("test_terms", before="rescue")
    nlp.initialize()
    assert ("SHIP Fram", "VESSEL") in entities(nlp(TEXT))
    assert rescue(nlp).usage["calls"] == 1 + 2 * gated


# Secondaries of several kinds


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_component_is_initialized_with_its_settings():
    nlp = pipeline(pipe={"factory": "entity_ruler"}, labels=["ART"], label_map={"SHIP": "ART"})
    patterns = [{"label": "SHIP", "pattern": "Vega"}, {"label": "SHIP", "pattern": "Fram"}]
    nlp.config["initialize"]["components"]["rescue"] = {"pipe": {"patterns": patterns}}
    nlp.initialize()
    assert entities(nlp(TEXT)) == [*FOUND[:2], ("Vega", "ART")]
    nlp = pipeline()
    nlp.config["initialize"]["components"]["rescue"] = {"pipe": {"patterns": patterns}}
    with pytest.raises(ValueError, match=r"L285.*patterns"):
        nlp.initialize()


def test_everything_is_saved_with_the_pipeline(tmp_path, monkeypatch):
    """Settings changed after loading, patterns, and a source that is gone later; but no key."""
    monkeypatch.setenv("MY_API_KEY", "hunter2-and-more")
    ruler({"Vega": "SHIP", "STORM": "NAT"}, sents="sentencizer").to_disk(tmp_path / "source")
    by_pattern = pipeline(pipe={"factory": "entity_ruler"})
    tokens = [{"label": "SHIP", "pattern": [{"ORTH": "Vega"}]}]
    rescue(by_pattern).secondary.component.add_patterns(tokens)
    pipelines = [by_pattern, pipeline(source=str(tmp_path / "source")), pipeline()]
    (tmp_path / "source").rename(tmp_path / "moved")
    (tmp_path / "source").mkdir()  # of something else
    for i, nlp in enumerate(pipelines):
        rescue(nlp).cfg["label_map"] = {"SHIP": "ART", "VESSEL": "ART"}
        expected = entities(nlp(TEXT))
        assert ("Vega", "ART") in expected or ("SHIP Vega", "ART") in expected
        nlp.to_disk(tmp_path / str(i))
        data, pickled = nlp.to_bytes(), pickle.dumps(nlp)
        again = (
            spacy.load(tmp_path / str(i)),
            spacy.blank("en").from_config(nlp.config).from_bytes(data),
            pickle.loads(pickled),
        )
        for copy in again:
            copy.tokenizer = spacy.tokenizer.Tokenizer(copy.vocab)
            assert entities(copy(TEXT)) == expected
            assert rescue(copy).cfg == rescue(nlp).cfg and rescue(copy).labels == rescue(nlp).labels
        written = b"".join(p.read_bytes() for p in (tmp_path / str(i)).rglob("*") if p.is_file())
        assert b"hunter2" not in written + data + pickled


def test_the_vocabulary_of_a_source_does_not_grow(tmp_path):
    """In nlp.memory_zone(), as `mine` and `distil` read a pool. The source has its own words."""
    ruler({"Vega": "SHIP"}).to_disk(tmp_path / "source")
    nlp = pipeline(source=str(tmp_path / "source"))
    own = rescue(nlp).secondary.nlp.vocab
    texts = [f"FLAG Qz{i} on Vega ." for i in range(20)]
    with nlp.memory_zone():
        assert all(("Vega", "SHIP") in entities(doc) for doc in nlp.pipe(texts))
        assert "Qz0" in own.strings
    assert not any(f"Qz{i}" in vocab.strings for i in range(20) for vocab in (own, nlp.vocab))
    assert ("Vega", "SHIP") in entities(nlp(texts[0]))


# What is shown


def test_the_evaluation_says_how_much_went_to_the_secondary(tmp_path):
    nlp = pipeline()
    DocBin(docs=[nlp(TEXT)]).to_disk(tmp_path / "test.spacy")
    nlp.to_disk(tmp_path / "model")
    found = evaluate_model(tmp_path / "model", tmp_path / "test.spacy", ["PER", "NAT"], ["NAT"])
    used = found.secondaries["rescue"]
    assert [used[key] for key in ("sentences", "flagged", "calls")] == [4, 2, 2]
    assert usage_in_words(used).startswith(
        "50.0 % of the sentences went to the secondary (2 of 4; 2 calls, 11 words"
    )
    assert type(found).model_validate_json(found.model_dump_json()).secondaries["rescue"] == used
