"""A model that cannot be had is refused at once, before any work."""

import socket
from pathlib import Path

import pytest

from spacy_longtail import hub
from spacy_longtail.hub import check_model, check_models, problem_of
from spacy_longtail.pretraining.encoders import check_transformer
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.run import Matrix
from spacy_longtail.training.train import train_model
from tests.util import toy_corpus

pytest.importorskip("huggingface_hub")
CONFIGS = Path(__file__).parents[2] / "configs"
NAME = "somebody/no-such-model"


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """No setting of this machine, nothing fetched, and no network."""
    for name in (*hub.OFFLINE, *hub.PROXIES, "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: None)
    asked = []

    def refuse(address, seconds):
        asked.append(address)
        raise OSError("no route")

    monkeypatch.setattr(socket, "create_connection", refuse)
    return asked


def test_a_hub_that_is_out_of_reach_is_said_to_be(plain):
    with pytest.raises(
        ValueError, match=r"L265.*huggingface.co cannot be reached.*nor in the cache.*offline"
    ):
        check_model(NAME)
    assert plain == [("huggingface.co", 443)]


def test_a_folder_and_what_was_fetched_need_no_hub(plain, tmp_path, monkeypatch):
    check_model(str(tmp_path))
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{name}/{file}")
    check_model(NAME)
    assert not plain
    (tmp_path / "file").write_text("x", encoding="utf8")
    assert "a file" in problem_of(str(tmp_path / "file"))


@pytest.mark.parametrize("name", hub.OFFLINE)
def test_nothing_is_asked_where_that_is_not_wanted(name, plain, monkeypatch):
    monkeypatch.setenv(name, "1")
    assert f"{name} is set" in problem_of(NAME) and not plain
    monkeypatch.setenv(name, "0")
    assert "cannot be reached" in problem_of(NAME)


def test_behind_a_proxy_the_libraries_ask(plain, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    assert not problem_of(NAME) and not plain


def test_a_hub_of_ones_own_is_asked(plain, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://models.example:8080/hf")
    assert "models.example cannot be reached" in problem_of(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://models.example")
    assert problem_of(NAME)
    assert plain == [("models.example", 8080), ("models.example", 80)]


def test_a_hub_that_answers_is_believed(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: None)
    for name in (*hub.OFFLINE, *hub.PROXIES):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert not problem_of(NAME)


def test_a_name_that_is_none_is_no_error_of_the_library(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "neither a folder" in problem_of("../no/such/folder with spaces")


@pytest.mark.parametrize(
    ("function", "argument", "code"),
    [
        *((function, name, "L265") for function, name in hub.NAMED.items()),
        *((function, name, "L265.*en_longtail_cnn") for function, name in hub.SUBWORDS.items()),
    ],
)
def test_all_that_a_config_can_name_is_found(function, argument, code):
    kind = "@misc" if "Descriptions" in function else "@architectures"
    block = {kind: function, argument: NAME}
    with pytest.raises(ValueError, match=code) as found:
        check_models({"components": {"ner": {"model": {"inner": block}, "factory": "ner"}}})
    assert NAME in str(found.value)
    check_models({"components": {"ner": {"model": {**block, argument: None}}}})


def test_nothing_is_trained_with_it(tmp_path):
    corpus = toy_corpus(tmp_path / "toy")
    embed = "components.tok2vec.model.embed"
    settings = {f"{embed}.subwords": NAME, f"{embed}.clusters": None}
    with pytest.raises(ValueError, match="L265"):
        train_model(
            CONFIGS / "papers" / "clusters_crf.cfg", corpus, tmp_path / "out", overrides=settings
        )
    assert not (tmp_path / "out").exists()
    plan = {"corpora": [str(corpus)], "steps": 4, "grids": [{"head": "crf", "encoder": "clusters"}]}
    settings["training.eval_frequency"] = 2
    matrix = Matrix(read_plan("quick", {**plan, "seeds": 1, "settings": settings}), tmp_path / "matrix")
    with pytest.raises(ValueError, match=r"L480.*L265"):
        matrix.check(matrix.trials)


def test_a_transformer_is_refused_without_asking_again_and_again(plain):
    pytest.importorskip("transformers")
    with pytest.raises(ValueError, match="L265"):
        check_transformer(NAME)
    assert len(plain) == 1
