"""Statistics: counts against plain loops, and a planted problem for each rule."""

import json
import re
from collections import Counter
from functools import partial
from importlib.metadata import entry_points
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from typer.main import get_command

from spacy_longtail.cli import app
from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.counts import count_doc, count_docs, entity_bounds
from spacy_longtail.corpus.folder import PARTS, CorpusTypes, write_corpus
from spacy_longtail.corpus.rare import tail_types
from spacy_longtail.corpus.statistics import Statistics
from spacy_longtail.corpus.statistics.counting import buckets, counted_sentences, marked_up, tally_part
from spacy_longtail.corpus.statistics.diagnosis import ADVICE, diagnose
from tests.util import (
    ROOT,
    annotated_docs,
    blank,
    corpus_of,
    corpus_statistics_of,
    parse,
    part_statistics,
    run_app,
    save_docs,
    type_statistics,
)

NLP = blank()


# --- counts of documents with everything that annotation can be

DOCUMENTS = st.lists(st.sampled_from(["a", "A", "b", " ", "\n"]), min_size=1, max_size=12).flatmap(
    partial(annotated_docs, NLP)
)


def cut(doc):
    """The sentences as documents, the slow way."""
    return [s.as_doc() for s in doc.sents] if doc.has_annotation("SENT_START") else [doc]


def test_tokens_inside_an_entity_that_nothing_begins_are_of_none(tmp_path):
    stray = Doc(NLP.vocab, words=["b", "c"])
    stray.from_array(
        ["ENT_IOB", "ENT_TYPE"], np.array([[1, NLP.vocab.strings.add("A")], [2, 0]], "uint64")
    )
    path = save_docs(tmp_path / "a.spacy", [parse(NLP, "saw [Ann|A]"), stray])
    assert tally_part(path).counts.mentions == {"A": 1}


def corpus_statistics(folder):
    """As the JSON file has them."""
    return ConvertedCorpus(folder).statistics.as_json()


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(
        tmp_path / "toy",
        tail=["ART"],
        train=[
            ["[Ann Lee|PER] saw the [Fram|ART] .", "It rained ."],
            ["[Ann|PER] left .", "[ANN|PER] came .", "The Fram sank ."],
        ],
        dev=["[Fram|PER] left ."],
        test=["[ann|PER] met [Bo|PER] .", "it Rained ."],
    )


def test_tables_of_parts_and_unseen_mentions_by_hand(corpus):
    train = corpus_statistics(corpus)["parts"]["train"]
    types = train.pop("types")
    counts = {"documents": 2, "sentences": 5, "entity_sentences": 3}
    assert train == {**counts, "tokens": 19, "entity_tokens": 5, "mentions": 4}
    numbers = {"mentions": 3, "tokens": 4, "sentences": 3, "rareness": pytest.approx(-np.log2(4 / 19))}
    assert types["PER"] == {**numbers, "unseen": None}
    found = corpus_statistics(corpus)
    shares = {t: own["unseen"] for t, own in found["parts"]["test"]["types"].items()}
    assert shares == {"PER": 1 / 2, "ART": None}  # ann is Ann, Bo is new
    assert found["parts"]["dev"]["types"]["PER"]["unseen"] == 1.0  # Fram is known as ART
    assert found["parts"]["train"]["types"]["PER"]["unseen"] is None
    json.dumps(found, allow_nan=False)


def test_parts_may_be_folders_or_absent(tmp_path, corpus):
    other = tmp_path / "other"
    (other / "train").mkdir(parents=True)
    for i, doc in enumerate(DocBin().from_disk(corpus / "train.spacy").get_docs(NLP.vocab)):
        save_docs(other / "train" / f"{i}.spacy", [doc])
    (other / "types.json").write_text((corpus / "types.json").read_text())
    found, whole = corpus_statistics(other), corpus_statistics(corpus)
    assert list(found["parts"]) == ["train"]
    assert found["parts"]["train"] == whole["parts"]["train"]
    assert {f["part"] for f in found["diagnosis"] if f["rule"] == "absent_part"} == {"dev", "test"}
    (other / "train").rename(other / "all")  # a corpus that was not split
    assert corpus_statistics(other)["parts"] == found["parts"]


@settings(max_examples=30)
@given(docs=st.lists(DOCUMENTS, min_size=1, max_size=6))
def test_a_tally_equals_plain_counts(docs, tmp_path_factory):
    whole = tally_part(save_docs(tmp_path_factory.mktemp("tally") / "a", docs))
    sentences = [sent for doc in docs for sent in cut(doc)]
    assert whole.n_docs == len(docs) and whole.counts == count_docs(sentences)
    counts = [count_doc(sent) for doc in docs for sent in counted_sentences(doc)]
    assert counts == [count_doc(sent) for sent in sentences]
    plain = Counter((e.text.casefold(), e.label_) for sent in sentences for e in sent.ents)
    # a mention of whitespace may merge with the blank after it
    assert {(s.strip(), t) for s, t in whole.surfaces} == {(s.strip(), t) for s, t in plain}
    assert whole.surfaces.total() == plain.total()


# mentions in GMB, as benchmarks/paper_tables.py counts them
GMB = {"geo": 37644, "tim": 20333, "org": 20143, "per": 16990, "gpe": 15870}
GMB |= {"art": 402, "eve": 308, "nat": 201}


def test_buckets_of_the_gmb_corpus():
    """NNR20 group the types alike."""
    groups = {"head": ["geo", "tim"], "mid": ["org", "per", "gpe"], "tail": ["art", "eve", "nat"]}
    assert buckets(GMB, GMB, tail_types(GMB, GMB)) == groups


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 1000), min_size=1))
def test_buckets_share_out_all_types(mentions):
    tail = tail_types(mentions, mentions)
    found = buckets(mentions, mentions, tail)
    assert sorted(found["head"] + found["mid"] + found["tail"]) == sorted(mentions)
    assert found["tail"] == tail
    held = sum(mentions[t] for t in found["head"])
    if found["mid"]:  # else there are too few other types to hold half
        assert 2 * held >= sum(mentions.values())
    if found["head"]:  # the fewest that do
        assert 2 * (held - mentions[found["head"][-1]]) < sum(mentions.values())


@pytest.fixture
def repeating(tmp_path):
    """Statistics of a corpus with repeated sentences."""
    parts = {
        "train": ["[Ann|PER] saw Fram .", "It rained .", "it RAINED .", "It rained ."],
        "dev": ["Ann saw [Fram|ART] .", "rained It ."],
        "test": ["[ann|PER] saw fram .", "It rained .", "[Bo|PER] left ."],
    }
    return corpus_statistics(corpus_of(tmp_path / "c", **parts))


def test_sentences_that_repeat_others_of_their_part_are_counted(repeating):
    assert repeating["duplicates"] == {"train": 2, "dev": 0, "test": 0}


def test_sentences_that_training_has_are_counted_with_those_with_entities_first(repeating):
    leaked = {"sentences": 1, "entity_sentences": 1, "share": 1 / 2, "near": 0}
    assert repeating["leakage"]["dev"] == {**leaked, "examples": ["Ann saw [Fram|ART] ."]}
    assert repeating["leakage"]["test"]["sentences"] == 2
    assert repeating["leakage"]["test"]["examples"] == ["[ann|PER] saw fram .", "It rained ."]


def test_texts_with_two_annotations_are_counted(repeating):
    assert repeating["conflicts"]["texts"] == 1
    (pair,) = repeating["conflicts"]["examples"]
    assert [place["text"] for place in pair] == ["[Ann|PER] saw Fram .", "Ann saw [Fram|ART] ."]


def test_texts_without_annotation_or_words_repeat_nothing(tmp_path):
    docs = [parse(NLP, "[Ann|PER] left ."), Doc(NLP.vocab, words=["Ann", "left", "."])]
    docs += [Doc(NLP.vocab, words=["\n"], sent_starts=[True])] * 2
    write_corpus(tmp_path / "c", {"train": docs, "dev": docs[2:]}, CorpusTypes(["PER"], []))
    found = corpus_statistics(tmp_path / "c")
    assert found["conflicts"]["texts"] == found["leakage"]["dev"]["sentences"] == 0
    assert found["duplicates"]["train"] == 1


def test_a_name_is_no_contradiction_of_a_word_in_other_case(tmp_path):
    """May is a person, may is none."""
    texts = ["I may go .", "I [May|PER] go ."]
    found = corpus_statistics(corpus_of(tmp_path / "c", train=texts))
    assert found["conflicts"]["texts"] == 0
    assert found["duplicates"]["train"] == 1  # of the text, in any case


def test_sentences_are_near_that_differ_in_names_and_numbers_alone(tmp_path):
    parts = {
        "train": ["[Ann Lee|PER] bought 300 shares of the firm in 1999 .", "[Ann|PER] left ."],
        "dev": [
            "[Bo|PER] bought 12 shares of the firm in 2004 .",
            "[Fram|ART] bought 12 shares of the firm in 2004 .",  # another type
            "[Ann Lee|PER] bought 300 shares of the firm in 1999 .",  # in training, as it stands
            "[Bo|PER] left .",  # so short that it is alike by chance
        ],
    }
    found = ConvertedCorpus(corpus_of(tmp_path / "c", **parts)).statistics
    assert found.leakage["dev"].near == 1
    (finding,) = [finding for finding in found.diagnosis if finding.rule == "near_leakage"]
    assert finding.part == "dev" and "--near" in finding.advice


def healthy():
    """Statistics of a corpus that nothing is wrong with."""
    types = {t: type_statistics(mentions=400, unseen=n) for t, n in (("PER", 0.3), ("ART", 0.49))}
    part = part_statistics(types, sentences=1000)
    found = corpus_statistics_of(dict.fromkeys(PARTS, part), ["PER", "ART"])
    return json.loads(json.dumps(found))  # nothing is shared


def in_part(part, **changes):
    return lambda found: found["parts"][part].update(changes)


def in_type(part, **changes):
    return lambda found: found["parts"][part]["types"]["ART"].update(changes)


def in_leakage(part, **changes):
    return lambda found: found["leakage"][part].update(changes)


PAIR = [{"part": "train", "text": "[a|PER] b"}, {"part": "dev", "text": "a [b|PER]"}]
CONFLICTS = {"texts": 3, "examples": [PAIR]}
LEAK = {"sentences": 20, "entity_sentences": 7, "share": 0.02, "examples": ["[a|PER] b"]}
PLANTED = [
    ("absent_part", "dev", lambda found: found["parts"].pop("dev"), "train, test"),
    ("absent_part", "test", lambda found: found["parts"].pop("test"), "train, dev"),
    ("undeclared_type", None, lambda found: found.update(undeclared=["EVE"]), "PER, ART"),
    ("absent_type", "train", in_type("train", mentions=0), "0 in train"),
    ("absent_type", "dev", in_type("dev", mentions=0), "400 in train"),
    ("absent_type", "test", in_type("test", mentions=0), "0 in test"),
    ("conflict", None, lambda found: found.update(conflicts=CONFLICTS), "a [b|PER]"),
    ("leakage", "test", in_leakage("test", **LEAK), "2 % of test"),
    ("near_leakage", "test", in_leakage("test", near=100), "10 % of test"),
    ("few_mentions", None, in_type("train", mentions=49), "49 mentions"),
    ("few_mentions", None, in_type("train", mentions=29), "29 mentions"),  # a model learns from it
    ("not_measurable", "dev", in_type("dev", mentions=29), "3.45 points"),
    ("not_measurable", "test", in_type("test", mentions=2), "one is 50 points"),
    ("unseen", None, in_type("test", unseen=0.5), "ART: 50 % of 400 mentions"),
    ("low_resource", None, in_part("train", sentences=499), "499 sentences"),
    # at the edge of a rule there is no finding
    ("", None, lambda found: None, ""),
    ("", None, in_type("train", mentions=50), ""),
    ("", None, in_type("test", mentions=30), ""),
    ("", None, in_part("train", sentences=500), ""),
    ("", None, in_leakage("test", near=99), ""),
    ("", None, in_leakage("test", **{**LEAK, "entity_sentences": 0}), ""),
]


@pytest.mark.parametrize(("rule", "part", "plant", "evidence"), PLANTED)
def test_a_planted_problem_is_found_and_nothing_else(rule, part, plant, evidence):
    found = healthy()
    plant(found)
    found = diagnose(Statistics.model_validate(found, strict=False))
    assert [(finding.rule, finding.part) for finding in found] == ([(rule, part)] if rule else [])
    assert all(evidence in finding.evidence for finding in found)


def test_all_advice_has_a_test():
    assert {key.split(".")[0] for key in ADVICE} == {row[0] for row in PLANTED if row[0]} | {"no_entity"}


@pytest.mark.parametrize("text", ADVICE.values(), ids=ADVICE)
def test_advice_names_what_there_is(text):
    named = [entry_points(name=name) for name in re.findall(r"longtail\.\w+\.v\d", text)]
    assert all(named)
    parameters = {name for found in named for e in found for name in signature(e.load()).parameters}
    assert {*re.findall(r"\b([a-z_]+) = ", text)} <= parameters
    for command, rest in re.findall(r"`longtail ([a-z-]+)([^`]*)`", text):
        options = {o for p in get_command(app).commands[command].params for o in p.opts}
        assert {*re.findall(r"--[\w-]+", rest)} <= options
    files = re.findall(r"\b(?:docs|configs)/[\w/]+\.\w+", text)
    assert all((ROOT / name).is_file() for name in files)


def test_the_command_prints_and_writes(corpus, tmp_path):
    target = tmp_path / "m" / "stats.json"
    shown = run_app("stats", corpus, "-o", target)
    for text in ("entity tokens", "dev unseen, %", "Try:", "ART *"):
        assert text in shown.output
    found = json.loads(target.read_text(encoding="utf8"))
    assert found == json.loads(json.dumps(corpus_statistics(corpus)))
    assert Statistics.model_validate(found) == ConvertedCorpus(corpus).statistics
    assert json.loads(run_app("stats", corpus, "--json").output) == found


def test_an_example_marks_up_what_its_tokens_have_of_entities():
    doc = parse(NLP, "[Ann Berg|PER] met [Jon Lee|PER] in [New York|GEO] .")
    shown = [marked_up(doc, *around, entity_bounds(doc)) for around in ((1, 4), (2, 5), (5, 6), (0, 9))]
    whole = "[Ann Berg|PER] met [Jon Lee|PER] in [New York|GEO] ."
    assert shown == ["Berg|PER] met [Jon", "met [Jon Lee|PER]", "in", whole]
