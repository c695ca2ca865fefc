"""Which types are rare: the rules by hand, and what commands say of them."""

from collections import Counter

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.folder import convert_corpus, read_types
from spacy_longtail.corpus.rare import AUTO_SHARE, TAIL, RareRule, rare_sentence

RULE = "at most 10 % of the training mentions of the most frequent type"


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
    assert TAIL.types(mentions) == rare


counts = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 300))


@given(counts, st.none() | st.floats(0, 1), st.none() | st.integers(1, 300))
def test_the_limits_of_the_gate(mentions, share, most):
    """As the gate's settings have it: at most a share of all mentions, or at most so many."""
    limit = max((share or 0.0) * sum(mentions.values()), most or 0)
    rule = RareRule(of_all=share, at_most=most)
    assert rule.limit(mentions) == limit
    by_name = Counter(dict(sorted(mentions.items())))
    assert rule.types(mentions) == [t for t, n in by_name.most_common() if n <= limit]


@given(counts)
def test_a_corpus_with_a_mention_has_a_tail(mentions):
    rare, most = TAIL.types(mentions), max(mentions.values(), default=0)
    assert bool(rare) == bool(mentions)
    if any(n <= 0.1 * most for n in mentions.values()):
        assert set(rare) == {t for t, n in mentions.items() if n <= 0.1 * most}


def test_rules_say_what_they_are():
    assert str(TAIL) == RULE
    assert str(RareRule(of_all=AUTO_SHARE)) == "at most 2 % of all training mentions"
    both = str(RareRule(of_all=0.005, at_most=30))
    assert both == "at most 0.5 % of all training mentions or 30 training mentions"


def test_a_declared_tail_is_said_to_be_one():
    mentions = {"PER": 100, "ART": 10, "EVE": 50}
    assert rare_sentence(["ART"], mentions) == f"Rare: ART ({RULE})."
    assert rare_sentence(["ART", "EVE"], mentions) == "Rare: ART, EVE (the tail that was declared)."
    assert rare_sentence([], mentions) == "Rare: no type (the tail that was declared)."


@pytest.mark.parametrize(
    ("mentions", "said"),
    [
        ({"a": 100, "b": 10, "c": 11}, f"Rare: b ({RULE})."),
        ({"a": 100, "b": 30, "c": 11}, f"Rare: c (the rarest third; no type has {RULE})."),
    ],
)
def test_what_is_said_is_what_chose(mentions, said):
    assert rare_sentence(TAIL.types(mentions), mentions) == said
    assert RareRule(at_most=3).applied(mentions) == "at most 3 training mentions"


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3)), st.randoms())
def test_the_order_of_counting_chooses_nothing(mentions, rng):
    other = dict(rng.sample(list(mentions.items()), len(mentions)))
    assert TAIL.types(mentions) == TAIL.types(other)
    assert rare_sentence(TAIL.types(mentions), mentions) == rare_sentence(TAIL.types(mentions), other)


def corpus(folder, **declared):
    for part in ("train", "dev", "test"):
        lines = ["Ana B-PER", "Oslo B-GEO", "Ida B-EVE", ""] + ["Bo B-PER", ""] * 20
        folder.mkdir(exist_ok=True)
        (folder / f"{part}.iob").write_text("\n".join(lines), encoding="utf8")
    srsly.write_json(folder / "corpus.json", declared)
    return folder


def test_commands_name_the_rule(tmp_path):
    source, target, run = corpus(tmp_path / "in"), tmp_path / "out", CliRunner()
    said = " ".join(run.invoke(app, ["convert", str(source), str(target)]).output.split())
    assert f"Rare: EVE, GEO ({RULE})." in said
    for args in (["stats"], ["audit"]):
        said = " ".join(run.invoke(app, [*args, str(target)]).output.split())
        assert f"Rare: EVE, GEO ({RULE})." in said
    args = ["split", str(target), str(tmp_path / "folds"), "--part", "train", "--unit", "sentence"]
    said = " ".join(run.invoke(app, [*args, "--folds", "3", "--scatter-duplicates"]).output.split())
    assert "Rare: EVE, GEO (" in said
    declared = corpus(tmp_path / "declared", labels=["PER", "GEO", "EVE"], tail=["PER"])
    said = " ".join(run.invoke(app, ["convert", str(declared), str(tmp_path / "own")]).output.split())
    assert "Rare: PER (the tail that was declared)." in said


def test_a_type_that_is_not_declared_is_not_in_the_tail(tmp_path):
    source = corpus(tmp_path / "in", labels=["PER", "GEO"])
    with pytest.warns(UserWarning, match="LW030"):
        convert_corpus(source, tmp_path / "out")
    assert read_types(tmp_path / "out").tail == ["GEO"]
