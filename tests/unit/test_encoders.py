"""Encoders are found by their name, from anywhere."""

from importlib.metadata import distribution

import pytest
import spacy
from spacy.util import get_model_meta

from spacy_longtail.encoders import check_encoder, located, shipped_encoder
from spacy_longtail.layers.clusters import FILE, lookups_table, path_table, read_clusters

NAME = "en_longtail_cnn"


def test_spacy_finds_the_encoder_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", source=spacy.load(NAME))
    assert check_encoder(NAME) == located(NAME) and (located(NAME) / FILE).is_file()
    meta = get_model_meta(located(NAME))
    assert f"{meta['lang']}_{meta['name']}" == NAME and meta["version"] == distribution(NAME).version


def test_what_is_no_encoder_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("training/model-best", "spacy", "", "${paths.x}", "__main__"):
        assert str(located(path)) == (path or ".")
    assert shipped_encoder("en") == NAME and shipped_encoder("fi") is None


def test_an_installed_package_of_a_pipeline_is_found_as_spacy_package_lays_it_out(tmp_path, monkeypatch):
    inner = tmp_path / "en_own_encoder" / "en_own_encoder-1.2.3"
    inner.mkdir(parents=True)
    spacy.blank("en").to_disk(inner)
    for path in (inner.parent / "__init__.py", inner.parent / "meta.json"):
        path.write_text("{}", encoding="utf8")
    monkeypatch.syspath_prepend(tmp_path)
    assert check_encoder("en_own_encoder") == inner
    assert located("en_own_encoder/senses.npz") == inner / "senses.npz"


def test_an_encoder_that_is_not_installed_is_refused_with_the_way_to_get_it():
    with pytest.raises(ValueError, match=r"L720.*en_longtail_large.*pip install"):
        check_encoder("en_longtail_large")


def test_the_clusters_are_those_of_the_lookups():
    pytest.importorskip("spacy_lookups_data", reason="needs the extra 'lookups'")
    own, theirs = read_clusters("lookups", "en"), path_table(lookups_table("en", "lexeme_cluster"))
    assert (own.keys == theirs.keys).all() and (own.paths == theirs.paths).all()
