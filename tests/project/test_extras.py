"""What is not installed is named with its extra, before any work that needs it."""

import sys

import pytest
import spacy
from spacy.util import load_config
from thinc.util import has_gpu

from spacy_longtail.extras import require, require_of
from spacy_longtail.training.loading import load_pipeline
from tests.util import config_file, invoke


@pytest.fixture
def without(monkeypatch):
    """Let packages look as if they were not installed."""

    def hide(*packages):
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return hide


def refused(package, extra, *command):
    done = invoke(*command)
    assert done.exit_code == 2, done.output
    assert (
        f"[L406] {package} is not installed. Run: pip install 'spacy-longtail[{extra}]'" in done.stderr
    )


PLAN = "steps: 20\nseeds: 1\nsettings: {training.eval_frequency: 20}\ngrids:\n  - {head: [ner, crf]}\n"


@pytest.mark.parametrize("command", [["matrix", "quick"], ["recommend"]])
def test_a_study_asks_for_what_compares_before_its_first_trial(command, corpus, tmp_path, without):
    without("scipy")
    refused("scipy", "report", *command, corpus, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_tune_asks_for_what_searches_even_to_list_what_it_would_search(more, corpus, tmp_path, without):
    without("optuna")
    given = ["--config", config_file("baseline"), "--search", "training.dropout=0:0.5"]
    refused("optuna", "tune", "tune", corpus, *given, "-o", tmp_path / "out", *more)


def test_a_config_with_an_llm_is_not_called_wrong(corpus, tmp_path, without):
    pytest.importorskip("spacy_llm", reason="writes the config")
    config = config_file("gated_llm")
    without("spacy_llm")
    refused("spacy-llm", "llm", "train", config, corpus, tmp_path / "out")


SECONDARY = {"factory": "llm_ner", "task": {"labels": ["A"]}}


@pytest.mark.parametrize(
    ("package", "factory", "settings", "extra"),
    [
        ("gliner", "longtail_gliner", {"model_name": "x/y"}, "gliner"),
        ("spacy_llm", "longtail_gated_pipe", {"pipe": SECONDARY}, "llm"),
    ],
)
def test_a_pipe_is_refused_where_it_is_added(package, factory, settings, extra, without):
    without(package)
    with pytest.raises(ValueError, match=rf"L406.*spacy-longtail\[{extra}\]"):
        spacy.blank("en").add_pipe(factory, config={"labels": ["A"], **settings})


def test_a_saved_pipeline_names_the_extra_that_it_needs(tmp_path, without):
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path)
    config = load_config(tmp_path / "config.cfg")
    config["nlp"]["pipeline"] = ["encoder"]
    model = {"@architectures": "spacy-transformers.TransformerModel.v3", "name": "x/y"}
    config["components"]["encoder"] = {"factory": "no_such_transformer", "model": model}
    config.to_disk(tmp_path / "config.cfg")
    without("spacy_transformers")
    with pytest.raises(ValueError, match=r"L406.*spacy-longtail\[transformers\]"):
        load_pipeline(tmp_path)


def test_an_error_that_only_looks_like_one_with_a_code_is_given_one(tmp_path, monkeypatch):
    """A component of a user may raise a text that begins with a bracket."""

    def fail(path):
        raise ValueError("[Lemmas] are missing")

    monkeypatch.setattr(spacy, "load", fail)
    with pytest.raises(ValueError, match=r"^\[L408\].*\[Lemmas\] are missing"):
        load_pipeline(tmp_path)


@pytest.mark.parametrize(
    ("block", "extra"),
    [
        ({"factory": "llm"}, "llm"),
        ({"a": {"b": {"@llm_tasks": "spacy.NER.v3"}}}, "llm"),
        ({"factory": "transformer"}, "transformers"),
        ({"model": {"@architectures": "spacy-transformers.TransformerListener.v1"}}, "transformers"),
    ],
)
def test_a_block_names_the_extra_of_what_is_in_it(block, extra, without):
    without("spacy_llm", "spacy_transformers")
    with pytest.raises(ValueError, match=rf"L406.*spacy-longtail\[{extra}\]"):
        require_of(block)


def test_what_is_installed_is_accepted():
    require("spacy", "none")
    require_of({"factory": "ner", "model": {"@architectures": "spacy.Tok2Vec.v2"}})


@pytest.mark.skipif(has_gpu, reason="this machine has a GPU")
@pytest.mark.parametrize("command", ["matrix", "tune"])
def test_a_gpu_that_is_not_there_is_refused_before_the_first_trial(command, corpus, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("scipy")
    (tmp_path / "plan.yml").write_text(PLAN, encoding="utf8")
    config = ["--config", config_file("baseline"), "--search", "training.dropout=0:0.5"]
    given = {"matrix": [tmp_path / "plan.yml", corpus], "tune": [corpus, *config]}[command]
    done = invoke(command, *given, "-o", tmp_path / "out", "--gpu-id", "99")
    assert done.exit_code == 2 and "[L515] --gpu-id 99" in done.stderr
