"""Which types are rare: the rules by hand, and what commands say of them."""

from collections import Counter

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.corpus.folder import convert_corpus, read_types
from spacy_longtail.corpus.rare import rare_sentence, rare_types, tail_types
from tests.util import invoke

RULE = "at most 10 % of the training mentions of the most frequent type"
THIRD = f"the rarest third; no type has {RULE}"
DECLARED = "the tail that was declared"


@pytest.mark.parametrize(
    ("mentions", "rare"),
    [
        ({"a": 1000, "b": 500, "c": 100, "d": 5}, ["c", "d"]),  # exactly a tenth is rare
        ({"a": 1000, "b": 101, "d": 5, "c": 100, "e": 0}, ["c", "d"]),  # no mention, no rareness
        ({"a": 9, "b": 8, "c": 7}, ["c"]),
        ({"a": 9, "b": 9, "c": 9, "d": 9, "e": 9, "f": 9}, ["e", "f"]),
        ({"a": 9, "b": 8}, ["b"]),
        ({"a": 9}, ["a"]),
        ({}, []),
    ],
)
def test_the_tail_of_a_corpus(mentions, rare):
    assert tail_types(mentions) == rare


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 300)), st.floats(0, 300), st.randoms()
)
def test_the_limit_alone_chooses_and_not_the_order_of_counting(mentions, limit, rng):
    other = dict(rng.sample(list(mentions.items()), len(mentions)))
    assert tail_types(mentions) == tail_types(other)
    by_name = Counter(dict(sorted(mentions.items())))
    assert rare_types(other, limit) == [t for t, n in by_name.most_common() if n <= limit]


@pytest.mark.parametrize(
    ("mentions", "tail", "said"),
    [
        ({"a": 100, "b": 10, "c": 11}, ["b"], f"Rare: b ({RULE})."),
        ({"a": 100, "b": 30, "c": 11}, ["c"], f"Rare: c ({THIRD})."),
        ({"a": 100, "b": 10, "c": 50}, ["b", "c"], f"Rare: b, c ({DECLARED})."),
        ({"a": 100, "b": 10}, [], f"Rare: no type ({DECLARED})."),
    ],
)
def test_what_is_said_is_what_chose(mentions, tail, said):
    assert rare_sentence(tail, mentions) == said


def corpus(folder, **declared):
    for part in ("train", "dev", "test"):
        lines = ["Ana B-PER", "Oslo B-GEO", "Ida B-EVE", ""] + [
            line for i in range(20) for line in (f"Bo{i} B-PER", "")
        ]
        folder.mkdir(exist_ok=True)
        (folder / f"{part}.iob").write_text("\n".join(lines), encoding="utf8")
    srsly.write_json(folder / "corpus.json", declared)
    return folder


def test_commands_name_the_rule(tmp_path):
    source, target = corpus(tmp_path / "in"), tmp_path / "out"
    declared = corpus(tmp_path / "declared", labels=["PER", "GEO", "EVE"], tail=["PER"])
    folds = ["--part", "train", "--unit", "sentence", "--folds", "3"]
    for arguments, said in (
        (["convert", source, target], f"Rare: EVE, GEO ({RULE})."),
        (["stats", target], f"Rare: EVE, GEO ({RULE})."),
        (["audit", target], f"Rare: EVE, GEO ({RULE})."),
        (["split", target, tmp_path / "folds", *folds], "Rare: EVE, GEO ("),
        (["convert", declared, tmp_path / "own"], f"Rare: PER ({DECLARED})."),
    ):
        assert said in " ".join(invoke(*arguments).output.split())


def test_a_type_that_is_not_declared_is_not_in_the_tail(tmp_path):
    source = corpus(tmp_path / "in", labels=["PER", "GEO"])
    with pytest.warns(UserWarning, match="LW030"):
        convert_corpus(source, tmp_path / "out")
    assert read_types(tmp_path / "out").tail == ["GEO"]
