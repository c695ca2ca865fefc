"""`layers.subwords`: words cut into subwords, and the tables of encoders."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from thinc.api import Model

from spacy_longtail.layers import subwords
from spacy_longtail.layers.quantized import eight_bit
from spacy_longtail.layers.subwords import NO_SUBWORDS, SubwordTable, read_subwords, subword_vectors
from tests.util import blank, toy_encoder, toy_table

KNOWN = ["oslo", "storm", "star", "##s", "##st", "-", "東", "##京", "st", "zurich"]


def table_with(*known, is_plain=True, width=5):
    vectors = np.random.default_rng(0).normal(size=(len(known), width)).astype("float32")
    return SubwordTable(eight_bit(vectors), list(known), is_plain)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Storms", ["storm", "##s"]),
        ("stormst", ["storm", "##st"]),  # the longest first, wherever that leads
        ("stars", ["star", "##s"]),
        ("Oslo-Storm", ["oslo", "-", "storm"]),  # a word begins anew after what is no letter
        ("osloxs", ["oslo", "##s"]),  # of x nothing is known
        *(("Zürich", ["zurich"]), ("東京", ["東", "##京"]), ("", [])),
        ("s", []),  # is known only as what goes on
        ("st" * 60, ["st", *["##st"] * 49]),  # what is longer than 100 letters is cut off
    ],
)
def test_words_are_cut_where_subwords_are_longest(word, expected):
    table = table_with(*KNOWN)
    (rows,) = table.cut([word])
    assert [table.subwords[row] for row in rows] == expected
    vectors = table.vectors.expand()[rows]
    assert table.of_words([word])[0] == pytest.approx(vectors.mean(axis=0) if rows else np.zeros(5))


@pytest.mark.parametrize(
    ("subword", "expected"),
    [
        ("storms", ["storm", "##s"]),
        ("##sst", ["##s", "##st"]),
        ("##zurich", []),
        ("##s-st", ["##s", "-", "st"]),
    ],
)
def test_a_subword_within_a_word_consists_of_others_within_a_word(subword, expected):
    table = table_with(*KNOWN)

    [rows] = table.parts([subword])

    assert [table.subwords[row] for row in rows] == expected


@pytest.mark.parametrize("table", [table_with(*KNOWN), table_with("Ab", is_plain=False), NO_SUBWORDS])
def test_a_table_is_saved_and_read(table):
    layers = [Model("own", lambda *_: _, attrs={"table": own}) for own in (table, NO_SUBWORDS)]
    again = layers[1].from_bytes(layers[0].to_bytes()).attrs["table"]
    assert again.subwords == table.subwords and again.is_plain == table.is_plain
    assert np.array_equal(again.of_words(["Ab", "storm"]), table.of_words(["Ab", "storm"]))


def test_a_table_is_found_by_an_encoders_name_and_its_cache_is_not_pickled():
    table = table_with(*KNOWN)
    small = pickle.dumps(table)
    row = table.of_words(["Oslo"])
    assert len(pickle.dumps(table)) == len(small)
    assert np.array_equal(pickle.loads(small).of_words(["Oslo"]), row)
    table = read_subwords("en_longtail_cnn")
    assert table.n_columns == 96 and len(table.subwords) > 20_000
    assert all(table.cut(["Hurricane", "Isolde", "COVID-19"]))


def test_threads_share_a_table(monkeypatch):
    """A full cache is not emptied while others read it."""
    monkeypatch.setattr(subwords, "MAX_CACHED", 3)
    table = table_with(*KNOWN)
    texts = [[f"{word}{i % 7}s" for word in ("storm", "oslo", "star")] for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(table.of_words, texts))
    alone = table_with(*KNOWN)
    assert all(np.array_equal(own, alone.of_words(text)) for own, text in zip(found, texts, strict=True))


# Encoders


def test_an_encoder_without_subwords(tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(ValueError, match="L265"):
        read_subwords(str(tmp_path))


def test_words_are_cut_as_by_wordpiece():
    pytest.importorskip("tokenizers", reason="needs the extra 'transformers'")
    from tokenizers import Tokenizer, models

    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("abc"), size)) for size in rng.integers(1, 12, 300)})
    longer = {word for word in words if len(word) < 5 and rng.random() < 0.5}
    vocab = ["[UNK]", *sorted({*"abc", *longer, *(f"##{own}" for own in {*"abc", *longer})})]
    own = models.WordPiece({text: i for i, text in enumerate(vocab)}, unk_token="[UNK]")
    table = SubwordTable(NO_SUBWORDS.vectors, vocab[1:], True)
    expected = [Tokenizer(own).encode(word).tokens for word in words]
    assert max(map(len, expected)) > 3
    assert [[table.subwords[row] for row in rows] for rows in table.cut(words)] == expected


# The layer


def test_rows_are_projected_means_and_the_gradient_is_the_slope(tmp_path):
    toy_encoder(tmp_path)
    nlp = blank()
    docs = [Doc(nlp.vocab, words=text.split()) for text in ("storm Oslo storm", "", "rome")]
    layer = subword_vectors(str(tmp_path), 4)
    layer.initialize(X=docs)
    means = toy_table().of_words(["storm", "Oslo", "storm", "rome"])
    W = layer.get_param("W")
    rows, backprop = layer.begin_update(docs)
    assert rows.lengths.tolist() == [3, 0, 1]
    assert rows.data == pytest.approx(means @ W.T, abs=1e-5)
    d_rows = np.random.default_rng(1).normal(size=rows.data.shape).astype("f")
    rows.data[:] = d_rows
    assert backprop(rows) == []
    assert layer.get_grad("W") == pytest.approx(d_rows.T @ means, abs=1e-4)
