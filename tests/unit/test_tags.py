import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_longtail.numerics import viterbi
from spacy_longtail.tags import ILLEGAL, TagCodec, TagSpan

CODECS = [TagCodec(("X", "Y"), "BIO"), TagCodec(("X", "Y"), "BILUO"), TagCodec(("X",), "BILUO")]


def is_legal(codec, ids):
    """The rules spelled out, apart from the codec's matrices."""
    tags = [codec.tags[i] for i in ids]
    for before, tag, after in zip(["O", *tags[:-1]], tags, [*tags[1:], "O"], strict=True):
        if tag[0] in "IL" and not (before[0] in "BI" and before[2:] == tag[2:]):
            return False
        if (
            codec.scheme == "BILUO"
            and tag[0] in "BI"
            and not (after[0] in "IL" and after[2:] == tag[2:])
        ):
            return False
    return True


def path_score(scores, path, legality):
    total = legality.start[path[0]] + legality.end[path[-1]]
    total += sum(scores[i, tag] for i, tag in enumerate(path))
    return total + sum(legality.trans[a, b] for a, b in itertools.pairwise(path))


@pytest.mark.parametrize("codec", CODECS)
def test_o_is_column_zero(codec):
    assert codec.tags[0] == "O" and len(codec.tags) == len(codec)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_legality_matches_the_rules(codec, length):
    legality = codec.legality()
    for path in itertools.product(range(len(codec)), repeat=length):
        allowed = path_score(np.zeros((length, len(codec))), path, legality) > ILLEGAL / 2
        assert allowed == is_legal(codec, path), [codec.tags[i] for i in path]


@pytest.mark.parametrize("codec", CODECS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), lengths=st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_viterbi_finds_the_best_path_of_ragged_batches(codec, seed, lengths):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(sum(lengths), len(codec))).astype("float32")
    legality = codec.legality()
    found = viterbi(scores, np.array(lengths), *legality)
    assert len(found) == sum(lengths)
    start = 0
    for length in lengths:
        own = scores[start : start + length]
        if length:
            paths = itertools.product(range(len(codec)), repeat=length)
            best = max(paths, key=lambda path: path_score(own, path, legality))
            assert tuple(found[start : start + length]) == best
        start += length


def test_ties_go_to_the_lowest_tag():
    codec = CODECS[0]
    assert viterbi(np.zeros((3, len(codec)), "f"), np.array([3]), *codec.legality()).tolist() == [
        0,
        0,
        0,
    ]


def test_no_sequence_at_all():
    codec = CODECS[0]
    assert len(viterbi(np.zeros((0, len(codec)), "f"), np.array([], "i"), *codec.legality())) == 0


@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_tags_come_back_as_spans(codec, data):
    biluo, spans, i = [], [], 0
    while i < 12:
        n = data.draw(st.integers(0, 3))
        if n == 0:
            biluo.append("O")
            i += 1
            continue
        label = data.draw(st.sampled_from(codec.labels))
        biluo += [f"U-{label}"] if n == 1 else [f"B-{label}"] + [f"I-{label}"] * (n - 2) + [f"L-{label}"]
        spans.append(TagSpan(i, i + n, label))
        i += n
    gold, mask = codec.gold([biluo])
    assert mask.all() and (gold.sum(axis=1) == 1).all()
    assert is_legal(codec, gold.argmax(axis=1))
    assert codec.decode(gold.argmax(axis=1)) == spans


def test_gold_masks_missing_tags_and_leaves_other_types_out():
    codec = CODECS[1]
    gold, mask = codec.gold([["U-X", None], ["B-Z", "L-Z", "O"]])
    assert mask.tolist() == [1, 0, 1, 1, 1]
    assert [codec.tags[i] for i in gold.argmax(axis=1)] == ["U-X", "O", "O", "O", "O"]


def test_weights_by_type_and_by_tag():
    codec = CODECS[0]
    assert codec.weights({"O": 0.5, "X": 2.0}) == pytest.approx([0.5, 2, 2, 1, 1])
    assert codec.weights({"O": 0.5, "B-X": 2.0, "I-X": 3.0}) == pytest.approx([0.5, 2, 3, 1, 1])
