"""Vectors of descriptions."""

import numpy as np
import pytest

from spacy_longtail.describers import Describer, HashedDescriptions, SubwordDescriptions
from spacy_longtail.describers.base import unit_rows, words
from spacy_longtail.hub import load_transformer
from tests.util import tiny_bert, toy_encoder, toy_table


def test_words_and_rows():
    assert words("a rock-band's song, 1984!") == ["a", "rock-band's", "song", "1984"]
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0]]))
    for settings in ({"width": 0}, {"width": 2.5}, {"seed": "x"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            HashedDescriptions(**settings)


def test_a_describer_without_a_call_cannot_be_made():
    class Silent(Describer):
        pass

    with pytest.raises(TypeError, match="__call__"):
        Silent()


# Hashed


def test_hashed_descriptions_share_what_their_words_share():
    rows = HashedDescriptions(width=500)(
        ["music band", "rock band", "rocks", "river", "Music  BAND", "island"]
    )
    assert rows.shape == (6, 500) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    alike = rows @ rows.T
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


def test_subword_descriptions_are_means_over_subwords(tmp_path):
    table = toy_table()
    rows = SubwordDescriptions(str(toy_encoder(tmp_path)))(["Oslo was quiet", "xyz +", "storm"])
    oslo, was, quiet, storm = table.means(table.cut(["oslo", "was", "quiet", "storm"]))
    assert rows[[0, 2]] == pytest.approx(unit_rows(np.stack([oslo + was + quiet, storm])), abs=1e-5)
    assert not rows[1].any()


# Transformers


def test_a_transformer_that_is_none(tmp_path):
    folder = tiny_bert(tmp_path / "bert")
    weights = folder / "model.safetensors"
    for damage in (lambda: weights.write_bytes(weights.read_bytes()[:100]), weights.unlink):
        damage()
        with pytest.raises(ValueError, match="L265"):
            load_transformer(str(folder))
    with pytest.raises(ValueError, match="L265"):
        load_transformer(str(tmp_path / "none"))
