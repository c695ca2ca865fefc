"""The config of a saved pipeline trains again."""

import pytest
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from spacy_longtail.studies.configs.recipes import corpus_config, named_recipe
from tests.util import params, same_weights, toy_corpus


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return toy_corpus(tmp_path / "corpus")


def test_it_starts_from_the_same_weights(corpus, tmp_path, monkeypatch):
    first = init_nlp(corpus_config(named_recipe("pretrained"), corpus))
    first.to_disk(tmp_path / "saved")
    saved = load_config(tmp_path / "saved" / "config.cfg", interpolate=False)
    assert saved["components"]["tok2vec"].get("factory") == "tok2vec"  # no source
    again = init_nlp(saved)
    for name in ("tok2vec", "ner"):
        assert same_weights(params(first.get_pipe(name)), params(again.get_pipe(name))), name


def test_an_encoder_of_other_layers_is_no_beginning(corpus):
    config = corpus_config(named_recipe("pretrained"), corpus)
    config["components"]["tok2vec"] = corpus_config(named_recipe("token_crf"), corpus)["components"][
        "tok2vec"
    ]
    with pytest.raises(ValueError, match=r"L274.*en_longtail_cnn"):
        init_nlp(config)
