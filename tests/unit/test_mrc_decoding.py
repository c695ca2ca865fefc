"""Begins and ends to spans: against plain loops; queries and sentences to documents."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from thinc.api import NumpyOps

from spacy_longtail.layers.reading import paired_rows
from spacy_longtail.pipes.mrc.answers import nearest_pairs, training_pairs
from spacy_longtail.pipes.mrc.queries import ask, check_queries, cut_query

flag = st.booleans()
rows = st.lists(st.tuples(flag, flag, flag), min_size=0, max_size=25)  # begin, end, a new group


def columns(rows):
    begins, ends, new = (np.array([row[i] for row in rows], dtype=bool) for i in range(3))
    return begins, ends, np.cumsum(new)


@given(rows)
def test_each_begin_takes_the_nearest_end_of_its_group(rows):
    begins, ends, group = columns(rows)
    expected = []
    for i in np.flatnonzero(begins):
        nearest = next((j for j in range(i, len(rows)) if ends[j]), None)
        if nearest is not None and group[i] == group[nearest]:
            expected.append([i, nearest])
    assert nearest_pairs(begins, ends, group).tolist() == expected


@given(rows, st.integers(1, 30), st.data())
def test_pairs_to_learn_from(rows, max_pairs, data):
    begins, ends, question = columns(rows)
    everything = [
        (i, j)
        for i in range(len(rows))
        for j in range(i, len(rows))
        if begins[i] and ends[j] and question[i] == question[j]
    ]
    gold = data.draw(st.lists(st.sampled_from(everything), unique=True)) if everything else []
    given_gold = np.array(gold, dtype="int64").reshape(-1, 2)
    pairs, is_gold = training_pairs(begins, ends, question, given_gold, max_pairs)
    pairs = [tuple(pair) for pair in pairs.tolist()]
    expected = []
    for q in set(question.tolist()):
        own = [pair for pair in everything if question[pair[0]] == q]
        own.sort(key=lambda p: (p not in gold, p[1] - p[0], p[0]))
        expected += own[: max(max_pairs, len([pair for pair in own if pair in gold]))]
    assert pairs == sorted(expected)
    assert [p for p, yes in zip(pairs, is_gold) if yes] == sorted(gold)


def test_pairs_with_everything_predicted_stay_few():
    n = 3000
    always, question = np.ones(n, dtype=bool), np.arange(n) // 1500
    pairs, is_gold = training_pairs(always, always, question, np.array([[0, 1499], [1500, 1500]]), 50)
    assert len(pairs) == 100 and is_gold.sum() == 2 and [0, 1499] in pairs.tolist()


@given(st.integers(0, 10**6))
def test_the_gradient_of_paired_rows_is_the_transpose(seed):
    rng = np.random.default_rng(seed)
    layer, n, width = paired_rows(), rng.integers(1, 6), rng.integers(1, 4)
    layer.ops = NumpyOps()
    rows = rng.normal(size=(n, width)).astype("float32")
    pairs = rng.integers(0, n, (rng.integers(1, 9), 2)).astype("int32")
    paired, backprop = layer((rows, pairs), True)
    assert np.array_equal(paired, [[*rows[i], *rows[j]] for i, j in pairs])
    d_paired = rng.normal(size=paired.shape).astype("float32")
    assert (d_paired * paired).sum() == pytest.approx(
        (backprop(d_paired) * rows).sum(), rel=1e-3, abs=1e-4
    )


def test_queries_stand_before_sentences():
    nlp = spacy.blank("en")
    first = Doc(nlp.vocab, words=["Maria", "left", "Oslo", "fast"], spaces=[True, True, False, False])
    first[2].is_sent_start = True
    second = Doc(nlp.vocab, words=["Rome"])
    queries = [cut_query(text, nlp.tokenizer) for text in ("who isn't it?", "where")]
    parts = list(ask([first, nlp(""), second], queries, "[SEP]", 4))
    texts = [a.doc.text for part in parts for a in part.asked]
    sentences = ("Maria left ", "Oslofast", "Rome ")
    assert texts == [
        f"{query} [SEP] {text}" for text in sentences for query in ("who isn't it?", "where")
    ]
    assert [len(part.asked) for part in parts] == [4, 2]
    for part in parts:
        words = [token.text for a in part.asked for token in a.doc[a.n_query :]]
        tokens = [*first, *second]
        assert words == [tokens[i].text for i in part.token]
        assert all(a.doc[a.n_query - 1].text == "[SEP]" for a in part.asked)
        assert np.bincount(part.question).tolist() == [len(a.doc) - a.n_query for a in part.asked]
    assert parts[0].type.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert parts[1].question.tolist() == [0, 1] and parts[1].type.tolist() == [0, 1]


@pytest.mark.parametrize("queries", [{}, {"PER": " "}, {"": "x"}])
def test_what_no_config_can_hold_is_no_mapping_of_queries(queries):
    with pytest.raises(ValueError, match="L230"):
        check_queries(queries, "ner")
