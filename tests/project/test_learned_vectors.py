"""Vectors of words that a small net has learnt: `distil-vectors -o FILE.npz`, in `longtail.RichEmbed.v1`."""

import json
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from spacy.strings import get_string_id
from thinc.api import Linear, chain
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.layers.hash_net import HASHES, OPS
from spacy_longtail.layers.learned_senses import LearnedSenses, read_learned
from spacy_longtail.layers.learned_vectors import (
    LearnedVectors,
    arrays_of,
    plain,
    read_vectors,
    upper_half,
)
from spacy_longtail.layers.subwords import SubwordVectors, read_words, subword_vectors
from spacy_longtail.training import vectors as training
from spacy_longtail.training.hash_nets import in_few_bytes, learn_net
from spacy_longtail.training.vectors import Size, distil_vectors, learn_vectors
from tests.util import blank, examples, found, random_net, rich_ner, tiny_bert, train

SIZE = Size(n_rows=300, width=16, n_hidden=32, epochs=300)


def hashes(*words):
    return np.array([get_string_id(word) for word in words], dtype="uint64")


def random_vectors(*words):
    """Those of some words; the hashes of others differ in the upper half."""
    net = random_net(np.random.default_rng(0), 6)
    return LearnedVectors(net, np.sort(upper_half(hashes(*words))))


def by_hand(net, *pieces):
    """The mean vector of pieces, one at a time."""
    found = []
    for piece in pieces:
        rows = OPS.hash(hashes(piece), HASHES)[0] % len(net.table)
        vector = sum(net.table[row].astype("float64") for row in rows) * float(net.scale[0])
        state = np.maximum(net.hidden.astype("float64") @ vector + net.hidden_bias, 0)
        found.append(net.output.astype("float64") @ state + net.output_bias)
    return np.mean(found, axis=0)


@pytest.fixture
def file(tmp_path):
    np.savez(tmp_path / "en.npz", **arrays_of(random_vectors("oslo", "storm")))
    return str(tmp_path / "en.npz")


def test_a_vector_is_what_the_numbers_say():
    """Against the same by hand, one word at a time; case and accents are not looked at."""
    words = [f"W{letter}rd" for letter in "abcdefghijklmnopqrstuvwxyzé"]
    vectors = random_vectors(*map(plain, words))
    got = vectors.of_words([*words, *words[:5]])
    for word, row in zip(words, got, strict=False):
        assert row == pytest.approx(by_hand(vectors.net, plain(word)), abs=1e-3)
    assert np.array_equal(got[-5:], got[:5]) and np.array_equal(got[4], got[26])
    assert vectors.of_words([]).shape == (0, 6)
    others = vectors.of_words(["xyz", "Ward", "zzz", "WÄRD", "wa", ""])
    assert others.any(axis=1).tolist() == [False, True, False, True, False, False]


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("Storms", ["storm", "##s"]),
        ("stormst", ["storm", "##st"]),  # the longest first, wherever that leads
        ("stars", ["star", "##s"]),
        ("Oslo-Storm", ["oslo", "-", "storm"]),  # a word begins anew after what is no letter
        ("osloxs", ["oslo", "##s"]),  # of x nothing is known
        ("xs", ["##s"]),
        ("s", []),  # is known only as what goes on
        ("東京", ["東", "##京"]),
        ("st" * 51, []),  # longer than a word
    ],
)
def test_words_are_cut_where_pieces_are_longest(word, pieces):
    known = ("oslo", "storm", "star", "##s", "##st", "-", "東", "##京", "st")
    vectors = random_vectors(*known)
    assert vectors.cut([word]) == [hashes(*pieces).tolist()]
    expected = by_hand(vectors.net, *pieces) if pieces else np.zeros(6)
    assert vectors.of_words([word])[0] == pytest.approx(expected, abs=1e-3)


def test_what_is_kept_at_hand_is_not_saved():
    vectors = random_vectors("oslo")
    row = vectors.of_words(["Oslo"])
    small = pickle.dumps(vectors)
    again = pickle.loads(small)
    assert np.array_equal(again.of_words(["Oslo"]), row)
    vectors.of_words([f"other{i}" for i in range(1000)])
    assert len(pickle.dumps(vectors)) == len(small)


@pytest.mark.parametrize(
    "wrong",
    [
        {"table": np.zeros((0, 8), "int8")},
        {"hidden": np.zeros((16, 7), "float16")},
        {"output": np.zeros((5, 16), "float16")},
        {"output_bias": np.full(6, np.nan, "float16")},
        {"output_bias": np.zeros(0, "float16")},
        {"pieces": np.zeros(5, "float32")},
        {"pieces": np.array(3, "uint32")},
    ],
)
def test_a_file_of_something_else_is_refused(wrong, tmp_path):
    path = tmp_path / "en.npz"
    np.savez(path, **{**arrays_of(random_vectors("a")), **wrong})
    with pytest.raises(ValueError, match=r"L266.*no learned vectors.*distil-vectors"):
        read_vectors(path)
    np.savez(path, **random_net(np.random.default_rng(0), 6)._asdict())  # as that of senses
    with pytest.raises(ValueError, match=r"L266.*pieces"):
        read_vectors(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="L266"):
        read_words(str(path))
    with pytest.raises(ValueError, match="L402"):
        read_words(str(tmp_path / "none.npz"))


def test_a_layer_projects_them_and_its_gradient_is_the_slope(file):
    layer = subword_vectors(file, 3)
    nlp = blank()
    docs = [nlp.make_doc("Oslo storm Oslo"), nlp.make_doc("")]
    layer.initialize(X=docs)
    vectors = read_vectors(training.Path(file)).of_words(["Oslo", "storm", "Oslo"])
    W = layer.get_param("W")
    rows, backprop = layer(docs, True)
    assert rows.dataXd == pytest.approx(vectors @ W.T, abs=1e-4) and rows.lengths.tolist() == [3, 0]
    backprop(rows)
    assert layer.get_grad("W") == pytest.approx(rows.dataXd.T @ vectors, rel=1e-3)


@pytest.mark.usefixtures("light_processes")
def test_a_saved_pipeline_needs_neither_the_file_nor_an_extra(file, tmp_path):
    nlp = rich_ner(width=8, attrs=["NORM"], rows=[50], subwords=file)
    train(nlp, 10)
    nlp.to_disk(tmp_path / "model")
    training.Path(file).unlink()
    again = spacy.load(tmp_path / "model")
    for eg in examples(nlp):
        assert found(again(eg.reference.text)) == found(nlp(eg.reference.text))
    code = (
        "import sys, spacy\n"
        "spacy.blank('en')\n"
        "for name in ('tokenizers', 'model2vec', 'spacy_lookups_data'):\n"
        "    sys.modules[name] = None\n"
        f"spacy.load({str(tmp_path / 'model')!r})('Oslo')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_net_learns_what_it_is_asked_to():
    """A gradient of its own, of the squared error; in few bytes it says nearly the same."""
    rng = np.random.default_rng(0)
    words = hashes(*(f"w{i}" for i in range(30)))
    targets = rng.normal(size=(30, 4)).astype("float32")
    sizes = {"n_rows": 200, "width": 12, "n_hidden": 24, "epochs": 300, "seed": 0}
    net = learn_net(words, lambda ids, Y: (Y - targets[ids]) / Y.size, lambda: Linear(4, 24), **sizes)
    assert net.predict(words) == pytest.approx(targets, abs=0.1)
    assert in_few_bytes(net).outputs(words) == pytest.approx(net.predict(words), abs=0.1)


def test_vectors_keep_their_length():
    rng = np.random.default_rng(0)
    pieces = training.Pieces(
        hashes(*(f"w{i}" for i in range(30))), 7 * rng.normal(size=(30, 4)).astype("float32")
    )
    net = learn_vectors(pieces, SIZE, 0)
    assert in_few_bytes(net).outputs(pieces.hashes) == pytest.approx(pieces.vectors, abs=1.0)


def test_the_gradient_is_the_slope_of_the_squared_error(monkeypatch):
    seen = []
    net = chain(Linear(2, 2), Linear(2, 2)).initialize()
    monkeypatch.setattr(
        training, "learn_net", lambda _, gradient, *__, **___: seen.append(gradient) or net
    )
    vectors = np.array([[3.0, 4.0], [0.0, 0.0]], dtype="float32")
    learn_vectors(training.Pieces(hashes("a", "b"), vectors), SIZE, 0)
    batch, outputs = np.array([1, 0]), np.array([[0.5, -1.0], [0.25, 2.0]])
    targets = vectors[batch] / 2.5  # of length 1 on average
    steps = [1e-4 * own.reshape(2, 2) for own in np.eye(4)]
    up, down = (
        np.array([((outputs + sign * h - targets) ** 2).mean() for h in steps]) for sign in (1, -1)
    )
    slope = ((up - down) / 2e-4).reshape(2, 2)
    assert seen[0](batch, outputs) == pytest.approx(slope, abs=1e-5)


def test_a_piece_that_is_written_in_several_ways_has_the_mean(monkeypatch):
    texts = {3: "Oslo", 4: "oslo", 6: "öslo", 7: "rome", 8: "##oslo"}
    vectors = np.arange(18, dtype="float16").reshape(9, 2)
    pieces = SimpleNamespace(n_columns=2, written=lambda: texts, rows=lambda ids: vectors[ids])
    monkeypatch.setattr(training, "subwords_of", lambda _: pieces)
    found = training.read_pieces(None)
    own = dict(zip(found.hashes.tolist(), found.vectors.tolist(), strict=True))
    mean = vectors[[3, 4, 6]].astype("float32").mean(axis=0)
    expected = {"oslo": mean, "rome": vectors[7], "##oslo": vectors[8]}
    assert own == {get_string_id(piece): pytest.approx(row, abs=1e-3) for piece, row in expected.items()}


def as_json(model, decoder, special=()):
    from tokenizers import Tokenizer

    found = Tokenizer(model)
    found.decoder = decoder
    found.add_special_tokens(list(special))
    return found.to_str()


@pytest.mark.parametrize("kind", ["wordpiece", "byte pairs", "sentencepiece"])
def test_how_pieces_of_each_kind_of_tokenizer_are_written(kind):
    pytest.importorskip("tokenizers", reason="needs the extra 'model2vec'")
    from tokenizers import decoders, models

    if kind == "wordpiece":
        vocab = ["[PAD]", "[UNK]", "storm", "##s", "é", "##"]
        model = models.WordPiece({piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]")
        text = as_json(model, decoders.WordPiece(), ["[PAD]", "[UNK]"])
        expected = {2: "storm", 3: "##s", 4: "é"}
    elif kind == "byte pairs":
        vocab = ["<s>", "Ġstorm", "s", "Ã©", "Ã", "Ġ"]
        text = as_json(
            models.BPE({piece: i for i, piece in enumerate(vocab)}, []), decoders.ByteLevel(), ["<s>"]
        )
        expected = {1: "storm", 2: "##s", 3: "##é"}  # a part of a character is left out, and a space
    else:
        vocab = ["<unk>", "▁storm", "s", "▁", "é"]
        model = models.Unigram([(piece, -1.0) for piece in vocab], unk_id=0)
        text = as_json(model, decoders.Metaspace(), ["<unk>"])
        expected = {1: "storm", 2: "##s", 4: "##é"}
    assert SubwordVectors(np.zeros((len(vocab), 2)), text, -1).written() == expected


def test_words_are_cut_as_by_wordpiece():
    pytest.importorskip("tokenizers", reason="needs the extra 'model2vec'")
    from tokenizers import decoders, models

    rng = np.random.default_rng(0)
    words = {"".join(rng.choice(list("abc"), size)) for size in rng.integers(1, 12, 300)}
    longer = {word for word in words if len(word) < 5 and rng.random() < 0.5}
    pieces = sorted({*"abc", *longer, *(f"##{own}" for own in {*"abc", *longer})})
    vocab = {piece: i for i, piece in enumerate(["[UNK]", *pieces])}
    text = as_json(models.WordPiece(vocab, unk_token="[UNK]"), decoders.WordPiece(), ["[UNK]"])
    table = SubwordVectors(np.zeros((len(vocab), 2)), text, 0)
    written = table.written()
    assert sorted(written.values()) == pieces
    ordered = sorted(words)
    expected = [hashes(*(written[i] for i in own)).tolist() for own in table.cut(ordered)]
    assert max(map(len, expected)) > 3
    assert random_vectors(*pieces).cut(ordered) == expected


# The command


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    pytest.importorskip("model2vec.distill", reason="needs the extra 'distil'")
    return tiny_bert(tmp_path_factory.mktemp("bert"), width=32)


def test_a_net_has_nearly_the_vectors_of_all_pieces(bert, tmp_path):
    distil_vectors(str(bert), tmp_path / "all", 8)
    pieces = read_words(str(tmp_path / "all"))
    assert isinstance(pieces, SubwordVectors)
    learnt = distil_vectors(str(bert), tmp_path / "en.npz", 8, size=SIZE)
    assert (learnt.n_pieces, learnt.n_columns) == (len(pieces.written()), 8)
    words = [*pieces.written().values(), "Oslo", "STORM"]
    expected, got = pieces.of_words(words), read_words(str(tmp_path / "en.npz")).of_words(words)
    share = 1 - ((got - expected) ** 2).sum() / (expected**2).sum()
    assert share == pytest.approx(learnt.learnt, abs=0.02) and share > 0.8
    again = distil_vectors(str(bert), tmp_path / "again.npz", 8, size=SIZE)
    assert again == learnt
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "en.npz").read_bytes()
    other = distil_vectors(str(bert), tmp_path / "again.npz", 8, seed=1, size=SIZE)
    assert other != learnt


def test_a_seed_of_what_draws_nothing_is_refused(bert, tmp_path):
    with pytest.raises(ValueError, match=r"L213.*seed = 3"):
        distil_vectors(str(bert), tmp_path / "all", 8, seed=3)
    assert not (tmp_path / "all").exists()


def test_learned_senses_are_not_replaced_by_vectors(bert, tmp_path):
    net = random_net(np.random.default_rng(0), 6)
    senses = LearnedSenses(*net, np.arange(5, dtype="uint32"), np.array([0.97], "float32"))
    np.savez_compressed(tmp_path / "en.npz", **senses._asdict())
    with pytest.raises(ValueError, match="L437"):
        distil_vectors(str(bert), tmp_path / "en.npz", 8, size=SIZE)
    assert read_learned(tmp_path / "en.npz").paths.tolist() == [0, 1, 2, 3, 4]


def test_the_command(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(training.distil_vectors, "__defaults__", (256, None, SIZE))
    output = tmp_path / "en.npz"
    given = ["distil-vectors", str(bert), "-o", str(output), "--width", "5"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    text = " ".join(shown.output.split())
    assert "pieces, 5 columns" in text and "% of them learnt" in text
    told = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)  # replaces it
    assert told["columns"] == 5 and 0 < told["learnt"] <= 1 and told["pieces"] > 0
    output.write_text("mine", encoding="utf8")
    assert "L437" in CliRunner().invoke(app, given).output and output.read_text() == "mine"
