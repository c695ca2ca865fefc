"""The config of a saved pipeline trains again, whatever has become of the files of the first time."""

import numpy as np
import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from spacy_longtail.corpus.statistics import corpus_statistics
from spacy_longtail.studies.trials.recipes import corpus_config, named_recipe
from spacy_longtail.training.debugging.config import check_config
from spacy_longtail.training.train import train_model
from tests.util import params, toy_corpus, toy_encoder

QUICK = {"training.max_steps": 2, "training.eval_frequency": 2}
EMBED = "components.tok2vec.model.embed"
HASHED = {"@misc": "longtail.HashedDescriptions.v1"}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return toy_corpus(tmp_path / "corpus")


def test_it_starts_from_the_same_weights(corpus, tmp_path, monkeypatch):
    config = corpus_config(named_recipe("pretrained"), corpus)
    first = init_nlp(config)
    first.to_disk(tmp_path / "saved")
    saved = load_config(tmp_path / "saved" / "config.cfg", interpolate=False)
    assert saved["components"]["tok2vec"].get("factory") == "tok2vec"  # no source
    again = init_nlp(saved)
    for name in ("tok2vec", "ner"):
        pairs = zip(params(first.get_pipe(name)), params(again.get_pipe(name)), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs), name


def test_an_encoder_of_other_layers_is_no_beginning(corpus):
    config = corpus_config(named_recipe("pretrained"), corpus)
    config["components"]["tok2vec"] = corpus_config(named_recipe("token_crf"), corpus)["components"][
        "tok2vec"
    ]
    with pytest.raises(ValueError, match=r"L274.*en_longtail_cnn"):
        init_nlp(config)


def test_tables_of_files_that_are_gone_are_those_of_the_pipeline(corpus, tmp_path, monkeypatch):
    paths = {"rain": "0110", "Oslo": "101", "place": "111"}
    lines = (f"{bits}\t{word}\t1\n" for word, bits in paths.items())
    (tmp_path / "here" / "paths.txt").write_text("".join(lines), encoding="utf8")
    toy_encoder(tmp_path / "here" / "own")
    config = corpus_config(named_recipe("clusters_crf"), corpus)
    config["components"]["ner"]["model"]["@architectures"] = "longtail.DescribedTypes.v1"
    config["components"]["ner"]["describe"] = HASHED
    config.to_disk(tmp_path / "own.cfg")
    own = {f"{EMBED}.clusters": "paths.txt", f"{EMBED}.subwords": "own"}
    first = train_model(tmp_path / "own.cfg", corpus, tmp_path / "first", overrides={**QUICK, **own})

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    saved = first / "config.cfg"
    with pytest.raises(ValueError, match=r"L402.*`longtail train` takes it from there"):
        init_nlp(load_config(saved, interpolate=False))
    said = list(check_config(saved, corpus, corpus_statistics(corpus), update=True))
    assert not [check for check in said if check.level == "fail"]
    second = train_model(saved, corpus, tmp_path / "second", overrides=QUICK)
    assert load_config(second / "config.cfg")["initialize"]["before_init"] is None
    pipes = [spacy.load(path).get_pipe("ner") for path in (first, second)]
    assert all(np.array_equal(*pair) for pair in zip(*map(params, pipes), strict=True))
