import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.chains.tags import TagCodec

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


@pytest.mark.parametrize("codec", CODECS)
def test_each_tag_has_its_prefix_and_type(codec):
    entity, begins, label = codec.token_tags(np.arange(len(codec)))
    assert entity.tolist() == [tag != "O" for tag in codec.tags]
    assert begins.tolist() == [tag[0] in "BU" for tag in codec.tags]
    assert [codec.labels[k] for k in label[1:]] == [tag[2:] for tag in codec.tags[1:]]
    assert label[0] == 0


@pytest.mark.parametrize(
    ("scheme", "starts", "pairs", "ends"),
    [
        # O, B-X, I-X, B-Y, I-Y
        ("BIO", "11010", ["11010", "11110", "11110", "11011", "11011"], "11111"),
        # O, B-X, I-X, L-X, U-X, B-Y, I-Y, L-Y, U-Y
        (
            "BILUO",
            "110011001",
            [
                "110011001",
                *["001100000"] * 2,
                *["110011001"] * 2,
                *["000000110"] * 2,
                *["110011001"] * 2,
            ],
            "100110011",
        ),
    ],
)
def test_which_tags_may_start_follow_and_end(scheme, starts, pairs, ends):
    def ones(values):
        return "".join(str(int(value == 0.0)) for value in values)

    legality = TagCodec(("X", "Y"), scheme).legality()
    assert ones(legality.start) == starts and ones(legality.end) == ends
    assert [ones(row) for row in legality.trans] == pairs
    assert {values.dtype.name for values in legality} == {"float32"}
    assert TagCodec((), scheme).legality().trans.tolist() == [[0.0]]


def coded(codec, text):
    """spaCy's codes and the codec's label indices of tags such as `B-X I-X O -`."""
    tags = text.split()
    iob = np.array([{"-": 0, "I": 1, "O": 2, "B": 3}[t[0]] for t in tags])
    return iob, np.array([codec.labels.index(t[2:]) if t[2:] in codec.labels else -1 for t in tags])


@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_tags_come_back_as_spans(codec, data):
    lengths = st.integers(0, 3)  # 0 is a token outside of entities
    drawn = data.draw(
        st.lists(st.tuples(lengths, st.sampled_from(codec.labels)), min_size=1, max_size=8)
    )
    tags, spans = [], []
    for n, label in drawn:
        if n:
            spans.append((len(tags), len(tags) + n, codec.labels.index(label)))
        tags += [f"B-{label}", *[f"I-{label}"] * (n - 1)] if n else ["O"]
    columns, mask = codec.encode(*coded(codec, " ".join(tags)), np.array([len(tags)]))
    assert mask.all() and is_legal(codec, columns)
    assert list(zip(*(a.tolist() for a in codec.spans(columns)), strict=True)) == spans


BIO, BILUO = CODECS[:2]


@pytest.mark.parametrize(
    ("codec", "text", "lengths", "are_others_o", "expected"),
    [
        (BILUO, "B-X - B-Y I-Y O", [2, 3], True, "U-X - B-Y L-Y O"),
        (BIO, "- I-X O", [3], True, "- - O"),
        (BIO, "B-X I-X O", [0, 2, 1, 0, 0], True, "B-X I-X O"),
        # entities of other types
        (BIO, "B-Z I-Z B-X O", [4], True, "O O B-X O"),
        (BIO, "B-Z I-Z B-X O", [4], False, "- - B-X O"),
        (BILUO, "B-Z I-Z B-X O", [4], True, "O O U-X O"),
        (BILUO, "B-Z I-Z B-X O", [4], False, "- - U-X O"),
        # an entity across a sentence start
        (BIO, "B-X B-Y I-Y I-Y B-X O", [3, 0, 3], True, "B-X - - - B-X O"),
        (BILUO, "B-X B-Y I-Y I-Y B-X O", [3, 0, 3], True, "U-X - - - U-X O"),
    ],
)
def test_gold_masks_what_is_not_annotated(codec, text, lengths, are_others_o, expected):
    columns, mask = codec.encode(*coded(codec, text), np.array(lengths), are_others_o)
    found = [codec.tags[i] if known else "-" for i, known in zip(columns, mask, strict=True)]
    assert " ".join(found) == expected
    sentences = [own for own in np.split(columns, np.cumsum(lengths)) if len(own)]
    assert all(is_legal(codec, own) for own in sentences)


def test_values_by_type_and_by_tag():
    codec = CODECS[0]
    assert codec.values({"O": 0.5, "X": 2.0}) == pytest.approx([0.5, 2, 2, 1, 1])
    assert codec.values({"O": 0.5, "B-X": 2.0, "I-X": 3.0}) == pytest.approx([0.5, 2, 3, 1, 1])


@pytest.mark.parametrize("codec", CODECS)
def test_columns_and_beginnings_of_types(codec):
    assert codec.columns(["X"]).tolist() == [tag == "O" or tag[2:] == "X" for tag in codec.tags]
    assert codec.columns(()).tolist() == [tag == "O" for tag in codec.tags]
    wanted = [[tag in (f"B-{t}", f"U-{t}") for t in codec.labels] for tag in codec.tags]
    assert codec.beginnings().tolist() == wanted
