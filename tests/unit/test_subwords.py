"""`layers.subwords`: words cut into subwords, and the tables of encoders and of Model2Vec models."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from thinc.api import Model

from spacy_longtail.layers import subwords
from spacy_longtail.layers.quantised import eight_bit
from spacy_longtail.layers.subwords import (
    NO_SUBWORDS,
    SubwordTable,
    read_subwords,
    subword_vectors,
    table_of,
)
from tests.util import blank, toy_encoder, toy_subwords, toy_table

KNOWN = ["oslo", "storm", "star", "##s", "##st", "-", "東", "##京", "st", "zurich"]
ROUNDED = 2e-2  # what eight bits of these numbers may be off


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
        ("Zürich", ["zurich"]),
        ("東京", ["東", "##京"]),
        ("s", []),  # is known only as what goes on
        ("", []),
        ("st" * 60, ["st", *["##st"] * 49]),  # what is longer than 100 letters is cut off
    ],
)
def test_words_are_cut_where_subwords_are_longest(word, expected):
    table = table_with(*KNOWN)
    (rows,) = table.cut([word])
    assert [table.subwords[row] for row in rows] == expected
    vectors = table.vectors.expand()[rows]
    assert table.of_words([word])[0] == pytest.approx(vectors.mean(axis=0) if rows else np.zeros(5))


@pytest.mark.parametrize("table", [table_with(*KNOWN), table_with("Ab", is_plain=False), NO_SUBWORDS])
def test_a_table_is_saved_and_read(table):
    layers = [Model("own", lambda *_: _, attrs={"table": own}) for own in (table, NO_SUBWORDS)]
    again = layers[1].from_bytes(layers[0].to_bytes()).attrs["table"]
    assert again.subwords == table.subwords and again.is_plain == table.is_plain
    assert np.array_equal(again.of_words(["Ab", "storm"]), table.of_words(["Ab", "storm"]))


def test_what_is_kept_at_hand_is_not_pickled():
    table = table_with(*KNOWN)
    small = pickle.dumps(table)
    row = table.of_words(["Oslo"])
    assert len(pickle.dumps(table)) == len(small)
    assert np.array_equal(pickle.loads(small).of_words(["Oslo"]), row)


def test_threads_share_a_table(monkeypatch):
    """A full cache is not emptied while others read it."""
    monkeypatch.setattr(subwords, "MOST_CACHED", 3)
    table = table_with(*KNOWN)
    texts = [[f"{word}{i % 7}s" for word in ("storm", "oslo", "star")] for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(table.of_words, texts))
    alone = table_with(*KNOWN)
    assert all(np.array_equal(own, alone.of_words(text)) for own, text in zip(found, texts, strict=True))


# Encoders


def test_the_table_of_an_encoder_is_found_by_its_name():
    table = read_subwords("en_longtail_cnn")
    assert table.n_columns == 96 and len(table.subwords) > 20_000
    assert all(table.cut(["Hurricane", "Isolde", "COVID-19"]))


@pytest.mark.parametrize("file", ["config.cfg", "tok2vec/model"])
def test_an_encoder_that_is_damaged(file, tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(ValueError, match="L265"):
        read_subwords(str(tmp_path))
    toy_encoder(tmp_path)
    (tmp_path / file).write_bytes((tmp_path / file).read_bytes()[:20])
    with pytest.raises(ValueError, match="L265"):
        read_subwords(str(tmp_path))


# Model2Vec models


@pytest.fixture(scope="module")
def model2vec(tmp_path_factory):
    """A Model2Vec model's folder."""
    pytest.importorskip("model2vec", reason="needs the extra 'model2vec'")
    return toy_subwords(tmp_path_factory.mktemp("model2vec"), width=5)


def test_a_word_is_the_mean_of_its_subwords_as_model2vec_has_them(model2vec):
    from model2vec import StaticModel

    own = StaticModel.from_pretrained(model2vec)
    words = ["Oslo", "Rome", "storm", "a", "+", "++a", " ", "zz"]
    means = read_subwords(str(model2vec)).of_words(words)
    for word, mean in zip(words, means, strict=True):
        (rows,) = own.encode_as_sequence([word])
        assert mean == pytest.approx(rows.mean(axis=0) if len(rows) else np.zeros(5), abs=ROUNDED), word


def test_a_folder_that_is_no_model(model2vec, tmp_path):
    with pytest.raises(ValueError, match="L265"):
        read_subwords(str(tmp_path))
    for file in model2vec.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match="L265"):
        read_subwords(str(tmp_path))


def with_tokenizer(model, decoder, special=()):
    """A Model2Vec model of a tokenizer, as far as it is read."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens(list(special))
    vectors = np.arange(2.0 * tokenizer.get_vocab_size()).reshape(-1, 2)
    none = dict.fromkeys(("token_mapping", "weights", "unk_token_id"))
    return SimpleNamespace(embedding=vectors, tokenizer=tokenizer, **none)


@pytest.mark.parametrize("kind", ["wordpiece", "byte pairs", "sentencepiece"])
def test_how_each_kind_of_tokenizer_writes_subwords(kind):
    pytest.importorskip("tokenizers", reason="needs the extra 'model2vec'")
    from tokenizers import decoders, models

    if kind == "wordpiece":
        vocab = ["[PAD]", "[UNK]", "storm", "##s", "é", "##"]
        own = models.WordPiece({text: i for i, text in enumerate(vocab)}, unk_token="[UNK]")
        model = with_tokenizer(own, decoders.WordPiece(), ["[PAD]", "[UNK]"])
        expected = {"storm": 2, "##s": 3, "é": 4}
    elif kind == "byte pairs":
        # a part of a character is left out, a space, and what no word has in it
        vocab = ["<s>", "Ġstorm", "s", "Ã©", "Ã", "Ġ", ";Ċ}"]
        own = models.BPE({text: i for i, text in enumerate(vocab)}, [])
        model = with_tokenizer(own, decoders.ByteLevel(), ["<s>"])
        expected = {"storm": 1, "##s": 2, "##é": 3}
    else:
        vocab = ["<unk>", "▁storm", "s", "▁", "é"]
        own = models.Unigram([(text, -1.0) for text in vocab], unk_id=0)
        model = with_tokenizer(own, decoders.Metaspace(), ["<unk>"])
        expected = {"storm": 1, "##s": 2, "##é": 4}
    table = table_of(model)
    assert table.subwords == list(expected) and not table.is_plain
    assert table.vectors.expand() == pytest.approx(model.embedding[list(expected.values())], abs=0.1)


def test_words_are_cut_as_by_wordpiece():
    pytest.importorskip("tokenizers", reason="needs the extra 'model2vec'")
    from tokenizers import decoders, models

    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("abc"), size)) for size in rng.integers(1, 12, 300)})
    longer = {word for word in words if len(word) < 5 and rng.random() < 0.5}
    vocab = ["[UNK]", *sorted({*"abc", *longer, *(f"##{own}" for own in {*"abc", *longer})})]
    own = models.WordPiece({text: i for i, text in enumerate(vocab)}, unk_token="[UNK]")
    model = with_tokenizer(own, decoders.WordPiece(), ["[UNK]"])
    table = table_of(model)
    assert table.is_plain and table.subwords == vocab[1:]
    expected = [model.tokenizer.encode(word).tokens for word in words]
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
