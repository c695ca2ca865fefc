"""Which types are rare: the rule by hand, its option, and what commands say of rare types."""

import json
from collections import Counter
from pathlib import Path

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.folder import CorpusTypes, convert_corpus, read_types
from spacy_longtail.corpus.rare import rare_sentence, rare_types, tail_types
from spacy_longtail.training.filling import corpus_overrides
from tests.util import ROOT, invoke, refused, write_files

RECORDS = ROOT / "benchmarks" / "results" / "training_mentions.jsonl"


@pytest.mark.parametrize(
    ("mentions", "labels", "limit", "rare"),
    [
        ({"a": 1000, "b": 500, "c": 100, "d": 5}, "abcd", None, ["c", "d"]),  # a tenth is rare
        ({"a": 1000, "b": 101, "d": 5, "c": 100}, "abdc", None, ["c", "d"]),
        ({"a": 80, "b": 31, "c": 30}, "abc", None, ["c"]),  # 30 mentions are few in any corpus
        ({"a": 9, "b": 8}, "ab", None, ["a", "b"]),
        ({"a": 10_000}, "a", None, []),
        ({"a": 10_000, "b": 9000}, "ab", None, []),
        ({"a": 100, "b": 0}, "ab", None, ["b"]),  # without a training mention
        ({}, "", None, []),
        ({"a": 1000, "b": 90, "c": 12, "d": 0}, "abcd", 12, ["c", "d"]),
        ({"a": 100, "typo": 1}, ["a", "storm"], None, ["storm"]),  # declared types alone
    ],
)
def test_the_tail_of_a_corpus(mentions, labels, limit, rare):
    assert tail_types(mentions, labels, limit) == rare


def test_the_tail_of_the_benchmarks_is_that_of_the_product():
    rows = list(srsly.read_jsonl(RECORDS))
    assert len(rows) == 11
    for row in rows:
        assert sorted(tail_types(row["mentions"], row["mentions"])) == sorted(row["tail"])


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 300)), st.floats(0, 300), st.randoms()
)
def test_the_limit_alone_chooses_and_not_the_order_of_counting(mentions, limit, rng):
    other = dict(rng.sample(list(mentions.items()), len(mentions)))
    assert tail_types(mentions, mentions) == tail_types(other, other)
    by_name = Counter(dict(sorted(mentions.items())))
    assert rare_types(other, limit) == [t for t, n in by_name.most_common() if n <= limit]


@pytest.mark.parametrize(
    ("mentions", "tail", "said"),
    [
        ({"a": 100, "b": 0}, ["b"], "Rare: b 0 (at most 30 training mentions)."),
        (
            {"a": 5000, "b": 402},
            ["b"],
            "Rare: b 402 (at most 500 training mentions, 10 % of those of the most frequent type).",
        ),
        ({"a": 100, "b": 10}, ["a"], "Rare: a 100 (the tail that was declared)."),
        ({"a": 100, "b": 10}, [], "Rare: no type (the tail that was declared)."),
        ({"a": 100, "b": 90}, [], "Rare: no type (at most 30 training mentions)."),
    ],
)
def test_the_sentence_on_rare_types_names_the_rule(mentions, tail, said):
    assert rare_sentence(tail, mentions, mentions) == said


def corpus(folder, **declared):
    """Forty mentions of PER in each part, one of GEO and EVE, and none of STORM."""
    sentences = "".join(f"Bo{i} B-PER\nleft O\n\n" for i in range(40))
    text = f"Ana B-PER\nOslo B-GEO\nIda B-EVE\n\n{sentences}"
    files = dict.fromkeys(("train.iob", "dev.iob", "test.iob"), text)
    return write_files(folder, {**files, "corpus.json": json.dumps(declared)})


DESCRIBED = {"labels": ["PER", "GEO", "EVE", "STORM"], "descriptions": {"STORM": "named storm"}}


def test_commands_name_the_rule(tmp_path):
    source, target = corpus(tmp_path / "in"), tmp_path / "out"
    folds = ["--part", "train", "--unit", "sentence", "--folds", "3"]
    split = ["split", target, tmp_path / "folds", *folds]
    for command in (["convert", source, target], ["stats", target], ["audit", target], split):
        said = " ".join(invoke(*command).output.split())
        assert "Rare: EVE 1, GEO 1 (at most 30 training mentions)." in said


@pytest.mark.parametrize("tail", [["PER"], []])
def test_a_declared_tail_stays_even_if_it_is_empty(tail, tmp_path):
    source = corpus(tmp_path / "in", labels=["PER", "GEO", "EVE"], tail=tail)
    assert convert_corpus(source, tmp_path / "out").tail == tail


def test_the_limit_is_an_option_which_a_declared_tail_refuses(tmp_path):
    source = corpus(tmp_path / "in")
    invoke("convert", source, tmp_path / "out", "--rare-mentions", 50)
    assert read_types(tmp_path / "out").tail == ["PER", "EVE", "GEO"]
    declared = corpus(tmp_path / "declared", labels=["PER", "GEO", "EVE"], tail=["PER"])
    refused(["convert", declared, tmp_path / "no", "--rare-mentions", 50], "L420")


def test_a_type_that_is_not_declared_is_not_in_the_tail(tmp_path):
    source = corpus(tmp_path / "in", labels=["PER", "GEO"])
    with pytest.warns(UserWarning, match="LW030"):
        convert_corpus(source, tmp_path / "out")
    assert read_types(tmp_path / "out").tail == ["GEO"]


def test_a_declared_type_without_a_mention_is_kept_as_rare(tmp_path):
    types = convert_corpus(corpus(tmp_path / "in", **DESCRIBED), tmp_path / "out")
    assert types == CorpusTypes(tail=["EVE", "GEO", "STORM"], **DESCRIBED)
    statistics = ConvertedCorpus(tmp_path / "out").statistics
    assert statistics.tail == statistics.buckets["tail"] == ["EVE", "GEO", "STORM"]
    assert statistics.parts["train"].types["STORM"].mentions == 0


def test_a_type_that_is_described_but_neither_declared_nor_found_is_named(tmp_path):
    source = corpus(tmp_path / "in", descriptions={"STORM": "named storm"})
    with pytest.warns(UserWarning, match="LW030.*STORM have descriptions but no mention.*in labels"):
        convert_corpus(source, tmp_path / "out")


def halved(source, tmp_path):
    """Convert a source, split its training part, and return the types of the split."""
    convert_corpus(source, tmp_path / "out")
    shares = ["--part", "train", "--unit", "sentence", "--parts", "train=0.5,dev=0.5"]
    invoke("split", tmp_path / "out", tmp_path / "split", *shares)
    return read_types(tmp_path / "split")


@pytest.mark.filterwarnings("ignore:.LW040")
def test_split_keeps_a_declared_type_without_a_mention(tmp_path):
    types = halved(corpus(tmp_path / "in", **DESCRIBED), tmp_path)
    assert types.labels == ["PER", "GEO", "EVE", "STORM"]
    assert "STORM" in types.tail and types.descriptions == {"STORM": "named storm"}


def test_split_counts_the_tail_anew_in_its_training_part(tmp_path):
    assert "PER" in halved(corpus(tmp_path / "in"), tmp_path).tail  # 20 of its 41 mentions


def test_a_primary_gets_all_types_where_all_of_them_are_rare():
    types = CorpusTypes(["PER", "GEO"], ["PER", "GEO"])
    overrides = corpus_overrides(types, Path("train.spacy"), Path("dev.spacy"), Path("names"))
    assert overrides["longtail.frequent"] == ["PER", "GEO"]
