"""The merge rules against cases worked by hand."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

from spacy_longtail.pipes.scores.merging import (
    merge_into,
    merge_spans,
    merge_tokens,
    remove_from,
    without_space,
)
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from tests.util import blank

# what is tried | the primary's entities | the secondary's | tokens that are blocked, or whitespace
#     what stays by "span" | by "token" | by "fill"
# "PER 0-2 .9" is a span over the tokens 0 and 1; ".9,.3" a probability a token; "?" none
TABLE = """
docs/methods.md, "Merging" | PER 0-2 .9; ORG 4-7 .6 | ART 1-2 .9; EVE 5-8 .7; ART 10-11 .3
    ART 1-2; EVE 5-8; ART 10-11 | PER 0-1; ART 1-2; ORG 4-5; EVE 5-8; ART 10-11 | PER 0-2; ORG 4-7; ART 10-11
nothing found | PER 0-2 .9 | 
    PER 0-2 | PER 0-2 | PER 0-2
nothing there |  | ART 3-5 .1
    ART 3-5 | ART 3-5 | ART 3-5
side by side | PER 0-2 .9 | ART 2-4 .1
    PER 0-2; ART 2-4 | PER 0-2; ART 2-4 | PER 0-2; ART 2-4
side by side, one type | ART 0-2 .9 | ART 2-4 .5
    ART 0-2; ART 2-4 | ART 0-2; ART 2-4 | ART 0-2; ART 2-4
same place, secondary better | ORG 0-2 .5 | ART 0-2 .6
    ART 0-2 | ART 0-2 | ORG 0-2
same place, primary better | ORG 0-2 .7 | ART 0-2 .6
    ORG 0-2 | ORG 0-2 | ORG 0-2
same place, tie | ORG 0-2 .6 | ART 0-2 .6
    ART 0-2 | ART 0-2 | ORG 0-2
same entity | ART 0-2 .4 | ART 0-2 .6
    ART 0-2 | ART 0-2 | ART 0-2
inside a better one | ORG 0-4 .8 | ART 1-2 .5
    ORG 0-4 | ORG 0-4 | ORG 0-4
inside a worse one: I-ORG without a begin | ORG 0-4 .5 | ART 1-2 .8
    ART 1-2 | ORG 0-1; ART 1-2; ORG 2-4 | ORG 0-4
around two, one of them better | PER 0-1 .6; GEO 2-3 .9 | EVE 0-3 .7
    PER 0-1; GEO 2-3 | EVE 0-2; GEO 2-3 | PER 0-1; GEO 2-3
the better mean, a worse last token | ORG 0-3 .9,.9,.3 | EVE 2-4 .6
    ORG 0-3 | ORG 0-2; EVE 2-4 | ORG 0-3
a lost begin: I-ART after I-GEO | GEO 0-2 .9 | ART 1-4 .5,.8,.8
    GEO 0-2 | GEO 0-2; ART 2-4 | GEO 0-2
a begin inside an entity of its type | ART 0-3 .9,.2,.9 | ART 1-2 .5
    ART 0-3 | ART 0-1; ART 1-3 | ART 0-3
an inside that goes on in the other's entity | ART 1-3 .5,.9 | ART 0-2 .8
    ART 0-2 | ART 0-3 | ART 1-3
tie with a shorter one | PER 0-1 .75 | EVE 0-3 .75
    EVE 0-3 | EVE 0-3 | PER 0-1
tie between two | PER 0-2 .5; GEO 2-4 .5 | ART 1-3 .5
    ART 1-3 | PER 0-1; ART 1-3; GEO 3-4 | PER 0-2; GEO 2-4
a chain | PER 0-2 .9; ORG 3-6 .7 | ART 1-4 .8
    PER 0-2; ORG 3-6 | PER 0-2; ART 2-4; ORG 4-6 | PER 0-2; ORG 3-6
two inside one | ORG 0-5 .6 | ART 0-2 .7; NAT 3-5 .5
    ART 0-2; NAT 3-5 | ART 0-2; ORG 2-5 | ORG 0-5
without a score, kept | RULE 0-2 ? | ART 1-3 .99
    RULE 0-2 | RULE 0-2; ART 2-3 | RULE 0-2
without a score, kept, of one type | RULE 1-3 ? | RULE 0-5 .9
    RULE 1-3 | RULE 0-1; RULE 1-3; RULE 3-5 | RULE 1-3
a blocked token |  | ART 0-2 .9 | blocked 1
     | ART 0-1 | 
whitespace at what is left | PER 0-3 .6 | ART 0-1 .9 | space 1
    ART 0-1 | ART 0-1; PER 2-3 | PER 0-3
whitespace before more than a token that is left | PER 0-4 .6 | ART 0-1 .9 | space 1
    ART 0-1 | ART 0-1; PER 2-4 | PER 0-4
nothing left but whitespace | PER 0-3 .6 | ART 0-1 .9; NAT 2-3 .9 | space 1
    ART 0-1; NAT 2-3 | ART 0-1; NAT 2-3 | PER 0-3
"""
RULES = ("span", "token", "fill")


def cases():
    lines = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
    for (about, primary, secondary, *places), expected in zip(lines[::2], lines[1::2], strict=True):
        special = {"blocked": (), "space": ()}
        for place in places:
            kind, tokens = place.split()
            special[kind] = tuple(map(int, tokens.split(",")))
        for rule, wanted in zip(RULES, expected, strict=True):
            yield pytest.param(rule, primary, secondary, special, wanted, id=f"{about}: {rule}")


def read(text, is_secondary=False):
    found = []
    for part in filter(None, text.split("; ")):
        label, place, *score = part.split()
        start, end = map(int, place.split("-"))
        p = tuple(map(float, score[0].split(","))) if score and score != ["?"] else ()
        p *= end - start if len(p) == 1 else 1
        mean = sum(p) / len(p) if p else float("inf")
        found.append(ScoredSpan(start, end, label, mean, p, is_secondary))
    return found


@pytest.mark.parametrize(("rule", "primary", "secondary", "special", "expected"), cases())
def test_the_rule_follows_the_table(rule, primary, secondary, special, expected):
    blocked = special["blocked"]
    doc = Doc(blank().vocab, words=["\n" if i in special["space"] else "w" for i in range(12)])
    primary, found = read(primary), read(secondary, is_secondary=True)
    ents = [Span(doc, s.start, s.end, label=s.label) for s in primary]
    doc.set_ents(ents, blocked=[doc[i : i + 1] for i in blocked], default="outside")
    write_scores(doc, "entity_scores", [s for s in primary if s.token_scores])
    merge_into(doc, found, rule, "entity_scores")
    assert "; ".join(f"{e.label_} {e.start}-{e.end}" for e in doc.ents) == expected
    assert all(doc[i].ent_iob_ == "B" and not doc[i].ent_type_ for i in blocked)
    scores = dict(zip([(s.start, s.end, s.label_) for s in doc.spans["entity_scores"]], rated(doc)))
    assert all(0 <= score <= 1 for score in scores.values())
    if rule == "span" and not any(s.score > 1 for s in primary):
        assert set(scores) == {(e.start, e.end, e.label_) for e in doc.ents}
    whole = {
        s.place: {t.score for t in (*primary, *found) if t.place == s.place} for s in (*primary, *found)
    }
    if rule != "token":
        assert all(score in whole[place] for place, score in scores.items())


def test_by_token_a_rules_entity_has_no_score_and_splits_what_is_around_it():
    doc = Doc(blank().vocab, words=["w"] * 6)
    doc.set_ents([Span(doc, 1, 3, label="RULE", span_id="Q1")])
    merge_into(doc, read("RULE 0-5 .9", is_secondary=True), "token", "entity_scores")
    assert [(e.start, e.end, e.id_) for e in doc.ents] == [(0, 1, ""), (1, 3, "Q1"), (3, 5, "")]
    assert [(s.start, s.end) for s in doc.spans["entity_scores"]] == [(0, 1), (3, 5)]
    assert rated(doc) == pytest.approx([0.9, 0.9])


def test_by_token_scores_are_means_over_the_tokens_that_stay():
    merged = merge_tokens([*read("ORG 0-4 .5,.1,.2,.4"), *read("ART 1-2 .8", is_secondary=True)])
    assert [(s.place, s.is_secondary) for s in merged] == [
        ((0, 1, "ORG"), False),
        ((1, 2, "ART"), True),
        ((2, 4, "ORG"), False),
    ]
    assert [s.score for s in merged] == pytest.approx([0.5, 0.8, 0.3])
    assert [s.token_scores for s in merged] == [(0.5,), (0.8,), (0.2, 0.4)]


def test_scores_are_those_of_what_stays():
    primary = read("PER 1-4 .6,.2,.1")
    doc = Doc(blank().vocab, words=["w", "w", "\n", "w"])
    doc.set_ents([Span(doc, 1, 4, label="PER")])
    write_scores(doc, "entity_scores", primary)
    merge_into(doc, read("ART 3-4 .9", is_secondary=True), "token", "entity_scores")
    assert [(e.label_, e.start, e.end) for e in doc.ents] == [("PER", 1, 2), ("ART", 3, 4)]
    assert rated(doc) == pytest.approx([0.6, 0.9])


def rated(doc):
    return doc.spans["entity_scores"].attrs["scores"]


places = st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from("ABC"))


def apart(drawn, is_secondary):
    taken, found = set(), []
    for (start, length, label), score in drawn:
        tokens = set(range(start, start + length))
        if not taken & tokens:
            taken |= tokens
            found.append(
                ScoredSpan(start, start + length, label, score, (score,) * length, is_secondary)
            )
    return found


scored = st.lists(st.tuples(places, st.sampled_from([0.2, 0.5, 0.8])), max_size=4)


@given(scored, scored)
def test_of_overlapping_spans_the_likelier_stays(primary, secondary):
    """Spans of one component may overlap, too, as answers of longtail_mrc_ner do."""
    rows = [(row, False) for row in primary] + [(row, True) for row in secondary]
    left = [ScoredSpan(a, a + n, label, p, (), own) for ((a, n, label), p), own in rows]
    merged, expected = merge_spans(left), []
    while left:
        best = max(left, key=lambda s: (s.score, s.is_secondary, s.end - s.start, -s.start))
        expected.append(best)
        left = [s for s in left if s.end <= best.start or s.start >= best.end]
    assert merged == sorted(expected)


def test_a_span_without_a_score_gives_way_to_one_with():
    unscored = ScoredSpan(0, 2, "PER", math.nan, (), is_secondary=True)
    unlikely = ScoredSpan(1, 3, "GEO", 0.01, ())

    assert merge_spans([unscored, unlikely]) == [unlikely]


@given(scored, scored)
def test_merged_tokens_never_overlap_and_have_the_likelier_tag(primary, secondary):
    primary, secondary = apart(primary, False), apart(secondary, True)
    tokens = {i: s for s in primary for i in range(s.start, s.end)}
    for s in secondary:
        for i in range(s.start, s.end):
            if i not in tokens or s.score >= tokens[i].score:
                tokens[i] = s
    merged = merge_tokens([*primary, *secondary])
    assert all(a.end <= b.start for a, b in pairwise(merged))
    assert {i: s.label for s in merged for i in range(s.start, s.end)} == {
        i: s.label for i, s in tokens.items()
    }


def unannotated(ents, key=None):
    """Ten tokens: 2 is blocked, 5, 6 and 9 have no annotation."""
    doc = Doc(blank().vocab, words=list("abcdefghij"))
    spans = [ScoredSpan(*ent, 0.5, (0.5,) * (ent[1] - ent[0])) for ent in ents]
    found = [Span(doc, s.start, s.end, label=s.label) for s in spans]
    doc.set_ents(found, blocked=[doc[2:3]], missing=[doc[5:7], doc[9:10]], default="outside")
    if key is not None:
        write_scores(doc, key, spans)
    return doc


def rows(doc):
    """B is an entity's begin or blocked, - not annotated."""
    return "".join(token.ent_iob_ or "-" for token in doc), doc[2].ent_type_


def test_what_nobody_annotated_stays_so_but_where_an_entity_comes():
    doc = unannotated([(0, 1, "PER"), (3, 4, "ORG")])
    merge_into(doc, [ScoredSpan(4, 6, "ART", 0.9, (0.9, 0.9), True)], "span", None)
    assert rows(doc) == ("BOBBBI-OO-", "")


def test_entities_are_taken_out_with_their_scores_and_nothing_else():
    doc = unannotated([(0, 2, "PER"), (3, 4, "ORG"), (7, 8, "PER")], "entity_scores")
    assert rows(doc) == ("BIBBO--BO-", "")
    remove_from(doc, [], "entity_scores")
    assert len(doc.ents) == len(rated(doc)) == 3
    remove_from(doc, [doc.ents[1]], "entity_scores")
    assert rows(doc) == ("BIBOO--BO-", "")
    assert [(s.start, s.end, s.label_) for s in doc.spans["entity_scores"]] == [
        (0, 2, "PER"),
        (7, 8, "PER"),
    ]
    doc = unannotated([(0, 2, "PER"), (3, 4, "ORG")])
    remove_from(doc, [doc.ents[0]], None)
    assert rows(doc) == ("OOBBO--OO-", "") and "entity_scores" not in doc.spans


def test_an_entity_without_whitespace_at_its_ends_keeps_its_score():
    alone = ScoredSpan(0, 2, "ART", 0.9, (0.5, 0.7), True)
    assert without_space([alone], np.array([0, 0])) == [alone]
    assert without_space([alone], np.array([1, 0])) == [ScoredSpan(1, 2, "ART", 0.7, (0.7,), True)]
    assert without_space([alone], np.array([1, 1])) == []


def test_by_token_an_entity_that_lost_nothing_keeps_its_score():
    alone = ScoredSpan(0, 2, "ART", 0.9, (0.5, 0.5), True)
    assert [span.score for span in merge_tokens([alone])] == [0.9]
    primary = ScoredSpan(0, 2, "ART", 0.8, (0.7, 0.1), False)
    (mixed,) = merge_tokens([alone, primary])  # a token of each: the mean of the tags that won
    assert mixed.score == pytest.approx(0.6)
