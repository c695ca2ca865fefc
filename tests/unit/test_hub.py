"""A model that cannot be had is refused at once, before any work."""

import pytest

from spacy_longtail import hub
from spacy_longtail.hub import check_model, check_models
from spacy_longtail.training.train import train_model
from tests.util import config_file, toy_corpus

pytest.importorskip("huggingface_hub")
NAME = "somebody/no-such-model"


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Nothing is fetched, and there is no network."""
    names = []

    def refuse(name, timeout):
        names.append(name)
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr("huggingface_hub.model_info", refuse)
    return names


def test_a_hub_is_asked_for_what_is_neither_a_folder_nor_in_the_cache(asked, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"L265.*no route"):
        check_model(NAME)
    assert asked == [NAME]
    check_model(str(tmp_path))
    (tmp_path / "file").write_text("x", encoding="utf8")
    with pytest.raises(ValueError, match=r"L265.*It is a file\."):
        check_model(str(tmp_path / "file"))
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{name}/{file}")
    check_model(NAME)
    assert asked == [NAME]


def test_a_known_name_passes_and_an_impossible_one_has_a_coded_error(monkeypatch):
    monkeypatch.setattr("huggingface_hub.model_info", lambda name, timeout: None)
    check_model(NAME)
    monkeypatch.undo()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=r"L265.*The hub gives none"):
        check_model("../no/such/folder with spaces")


@pytest.mark.parametrize("function", hub.NAMES_ONE)
def test_all_that_a_config_can_name_is_found(function):
    block = {"@architectures": function, "name": NAME}
    with pytest.raises(ValueError, match=f"L265.*{NAME}"):
        check_models({"components": {"ner": {"model": {"inner": block}, "factory": "ner"}}})
    check_models({"components": {"ner": {"model": {**block, "name": None}}}})


def test_nothing_is_trained_with_it(tmp_path):
    corpus = toy_corpus(tmp_path / "toy")
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    config = config_file("bert_softmax")
    with pytest.raises(ValueError, match="L265"):
        train_model(config, corpus, tmp_path / "out", overrides={"paths.transformer": NAME})
    assert not (tmp_path / "out").exists()
