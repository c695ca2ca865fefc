"""Vectors of descriptions, and what labels are in words."""

import pickle

import numpy as np
import pytest

from spacy_longtail.corpus.type_words import words_of
from spacy_longtail.describers import (
    HashedDescriptions,
    SubwordDescriptions,
    TransformerDescriptions,
    VectorDescriptions,
)
from spacy_longtail.describers.base import unit_rows, words
from tests.util import blank, tiny_bert, toy_encoder, toy_table, toy_vectors

TEXTS = ["work of art", "Oslo", "natural phenomenon, such as a storm"]


def cosine(rows):
    return rows @ rows.T


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("GPE", "country, state or nationality"),
        ("gpe", "country, state or nationality"),
        ("PER", "person"),
        ("MISC", "other name"),
        ("programlang", "programming language"),
        ("ProgramLang", "programming language"),
        ("CreativeWork", "creative work"),
        ("creativeWork", "creative work"),
        ("creative_work", "creative work"),
        ("CREATIVE_WORK", "creative work"),
        ("creative-work", "creative work"),
        ("cell_type", "cell type"),
        ("cell  type", "cell type"),
        ("XMLFile", "xml file"),
        ("DNAPart", "dna part"),
        ("Covid19Test", "covid19 test"),
        ("Größe_ΑΒ", "grösse αβ"),  # casefolded
        ("WORK_OF_ART", "work of art, such as a book, film or song"),
        ("组织", "组织"),
        ("++", "++"),
        ("_", "_"),
    ],
)
def test_labels_in_words(label, text):
    assert words_of(label) == text


def test_words_and_rows():
    assert words("a rock-band's song, 1984!") == ["a", "rock-band's", "song", "1984"]
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0]]))


# Hashed


def test_hashed_descriptions_share_what_their_words_share():
    rows = HashedDescriptions(width=500)(
        ["music band", "rock band", "rocks", "river", "Music  BAND", "island"]
    )
    assert rows.shape == (6, 500) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    alike = cosine(rows)
    assert alike[0, 4] == pytest.approx(1.0, abs=1e-5)  # case and space count nothing
    assert alike[0, 1] > 0.4 > alike[1, 2] > 0.1  # a word, and runs of letters
    assert abs(alike[0, 3]) < 0.15 > abs(alike[3, 5])


def test_hashed_descriptions_are_the_same_everywhere():
    """Whatever Python's own hashes are, and whatever was described before."""
    describe = HashedDescriptions(width=4, seed=3)
    expected = [[0.2872, 0.131, 0.9245, 0.2136], [-0.186, -0.5221, 0.819, 0.1485]]
    assert describe(["Oslo", "work of art"]) == pytest.approx(np.array(expected), abs=1e-4)
    assert describe(["work of art"])[0] == pytest.approx(expected[1], abs=1e-4)
    assert abs(HashedDescriptions(4, 4)(["Oslo"])[0] @ expected[0]) < 0.95


# Static vectors


def test_vector_descriptions_are_means_of_known_words():
    nlp = toy_vectors(blank())
    describe = VectorDescriptions().with_vocab(nlp.vocab)
    one, two = (nlp.vocab.get_vector(w) for w in ("Oslo", "Rome"))
    rows = describe(["Oslo, unheard-of Rome", "Oslo", "unheard"])
    mean = (one + two) / 2
    assert rows[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert rows[1] == pytest.approx(one / np.linalg.norm(one), abs=1e-5)
    assert not rows[2].any()


def test_what_makes_no_sense_is_refused():
    for settings in ({"width": 0}, {"width": 2.5}, {"seed": "x"}):
        with pytest.raises(ValueError, match="L001"):
            HashedDescriptions(**settings)
    for vocab in (None, blank().vocab):
        with pytest.raises(ValueError, match="L240"):
            VectorDescriptions(vocab)(["a"])


def test_subword_descriptions_are_means_over_subwords(tmp_path):
    table = toy_table()
    rows = SubwordDescriptions(str(toy_encoder(tmp_path)))(["Oslo was quiet", "xyz +", "storm"])
    oslo, was, quiet, storm = table.means(table.cut(["oslo", "was", "quiet", "storm"]))
    expected = np.stack([oslo + was + quiet, storm])
    assert rows[[0, 2]] == pytest.approx(unit_rows(expected), abs=1e-5)
    assert not rows[1].any()


# Transformers


def test_transformer_descriptions_are_mean_states(tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    import torch

    folder = tiny_bert(tmp_path)
    describe = TransformerDescriptions(str(folder))
    rows = describe(TEXTS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for text, row in zip(TEXTS, rows, strict=True):  # alone, so that nothing is padded
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(dim=0).numpy()
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-4)
    assert describe(TEXTS) == pytest.approx(rows)  # no dropout
    again = pickle.dumps(describe)
    assert len(again) < 1000
    assert pickle.loads(again)(TEXTS) == pytest.approx(rows)


def test_a_transformer_that_is_none(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    folder = tiny_bert(tmp_path / "bert")
    weights = folder / "model.safetensors"
    for damage in (lambda: weights.write_bytes(weights.read_bytes()[:100]), weights.unlink):
        damage()
        with pytest.raises(ValueError, match="L265"):
            TransformerDescriptions(str(folder))(["a"])
    with pytest.raises(ValueError, match="L265"):
        TransformerDescriptions(str(tmp_path / "none"))(["a"])
