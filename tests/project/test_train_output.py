"""`train` replaces its own earlier output alone, and only when it has come to its end."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.util import load_config, logger

from spacy_longtail.output.writing import NEW
from spacy_longtail.training import filling
from spacy_longtail.training import train as training
from spacy_longtail.training.filling import load_with_corpus_values
from tests.util import config_file, invoke, toy_corpus, tree

CONFIG = config_file("baseline")
FEW = ("--training.max_steps", "4", "--training.eval_frequency", "2")
OLD = "training/old"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A working folder with a config, a corpus, assets and a trained model."""
    folder = tmp_path_factory.mktemp("work")
    toy_corpus(folder / "corpus" / "tiny")
    (folder / "assets").mkdir()
    shutil.copy(CONFIG, folder / "my.cfg")
    ran = train(folder / OLD, *FEW, config=folder / "my.cfg", corpus=folder / "corpus/tiny")
    assert ran.exit_code == 0, ran.output
    return folder


def train(output, *options, config="my.cfg", corpus="corpus/tiny"):
    return invoke("train", config, corpus, output, *options)


def refused(work, code, output, *options, **given):
    before = tree(work)
    ran = train(output, *options, **given)
    assert ran.exit_code == 2, ran.output
    shown = " ".join(ran.output.split())  # it is wrapped
    assert code in shown and "Traceback" not in shown, shown
    assert tree(work) == before


def test_settings_are_given_by_set_or_by_their_name(work):
    few = ("--set", "training.max_steps=3", "--set", "training.eval_frequency=1")
    ran = train("training/new", *few, "--training.max_steps", "2")
    assert ran.exit_code == 0, ran.output
    found = load_config("training/new/model-best/config.cfg")["training"]
    assert (found["max_steps"], found["eval_frequency"]) == (2, 1)


@pytest.mark.parametrize("output", [".", "", "./", "..", "corpus", "corpus/tiny", "assets", "my.cfg"])
def test_inputs_and_their_parents_are_refused_as_output(output, work):
    refused(work, "L436", output)


def test_a_folder_of_other_things_is_no_output(work):
    refused(work, "L437", "training")  # holds a run, and is none
    (work / OLD / "thesis.txt").write_text("x")
    refused(work, "thesis.txt", OLD, *FEW)
    (work / OLD / "thesis.txt").unlink()
    srsly.write_json(work / OLD / "run.json", {"command": "of another program"})
    refused(work, "run.json", OLD, *FEW)


def test_a_training_cannot_replace_the_pipeline_that_it_starts_from(work):
    base = ("--paths.base", f"{OLD}/model-best")
    for output in (OLD, f"{OLD}/model-best/new"):
        refused(work, "L436", output, *base, *FEW, config=CONFIG.with_name("extended.cfg"))


BAD_SETTINGS = {  # of a training, by the code of the message
    "L438": """
        training.max_steps=abc training.dropout="much" training.max_stesp.x=1 typo.x=1 training.score_weights=[1]
        components.ner.factory=nerr components.ner.model.hidden_wdith=8
        training.optimizer.@optimizers=Adma.v1 training.dev_corpus=corpora.nothing
        training.score_weights.ents_best=1.0 training.score_weights.ents_f="1"
        paths.init_tok2vec=my.cfg""",
    "E884": "initialize.vectors=corpus/tiny",
    "L402": """
        paths.train=none.spacy paths.train=null paths.dev=5 paths.vectors=no/such initialize.vectors=5
        paths.init_tok2vec=[1] paths.init_tok2vec=no/such""",
}


@pytest.mark.parametrize(
    ("code", "setting"), [(code, text) for code, texts in BAD_SETTINGS.items() for text in texts.split()]
)
def test_a_bad_setting_costs_no_model(code, setting, work):
    refused(work, code, OLD, *FEW, f"--{setting}")


@pytest.mark.parametrize("given", [{"config": "none.cfg"}, {"corpus": "none"}])
def test_a_missing_input_is_refused(given, work):
    refused(work, "L402", OLD, *FEW, **given)


def test_a_run_replaces_its_own(work):
    old = (work / OLD / "run.json").read_text()
    ran = train(OLD, *FEW, "--system.seed", "5")
    assert ran.exit_code == 0, ran.output
    assert "ENTS_F" in ran.output  # spaCy's table goes where the command's own lines go
    assert (work / OLD / "run.json").read_text() != old
    assert load_config(work / OLD / "model-best" / "config.cfg")["system"]["seed"] == 5
    assert spacy.load(work / OLD / "model-best").pipe_names == ["tok2vec", "ner"]
    assert not list(work.rglob(f"{NEW}*"))


def test_no_line_names_the_temporary_folder(work):
    ran = train(OLD, *FEW)
    assert "Pipeline: ['tok2vec', 'ner']" in ran.output
    assert "Saved pipeline" not in ran.output and NEW not in ran.output
    assert f"Saved to {OLD}" in " ".join(ran.output.split())


def full(*_, **__):
    raise OSError(28, "No space left on device")


def fails(nlp, output, **_):
    spacy.blank("en").to_disk(Path(output) / "model-last")  # as spaCy does, even without a best model
    raise ValueError("[E024] nothing learnt")


@pytest.mark.parametrize(
    ("step", "failure", "code"),
    [
        ("train", full, "L432"),
        ("installed_versions", full, "L432"),  # the last step
        ("train", fails, "E024"),
    ],
)
def test_a_training_that_fails_leaves_the_old_model(step, failure, code, work, monkeypatch):
    monkeypatch.setattr(training, step, failure)
    refused(work, code, OLD, *FEW)


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (ValueError("[E024] not finite"), 2)]
)
def test_a_stopped_training_is_kept_beside(error, status, work, monkeypatch):
    real = training.train

    def stopped(nlp, output, **options):
        real(nlp, output, **options)
        raise error

    before = tree(work / OLD)
    monkeypatch.setattr(training, "train", stopped)
    ran = train(OLD, *FEW, "--system.seed", "7")
    assert ran.exit_code == status and "old.stopped" in ran.output
    assert tree(work / OLD) == before
    kept = work / "training" / "old.stopped" / "model-best"
    assert spacy.load(kept).pipe_names
    assert "path" not in load_config(kept / "config.cfg")["training"]["logger"]


def without(config, *sections):
    """A config file's text without these sections and those within them."""
    kept, leaves = [], False
    for line in config.read_text(encoding="utf8").splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            leaves = any(name == section or name.startswith(f"{section}.") for section in sections)
        kept += [] if leaves else [line]
    return "\n".join(kept)


def test_numpy_is_used_during_the_training_only(work, monkeypatch):
    used = []
    monkeypatch.setattr(training, "use_numpy_blas", used.append)
    ran = train("new", "--matmul", "numpy", *FEW)
    assert ran.exit_code == 0 and used, ran.output
    assert load_config(Path("new/model-best/config.cfg"))["nlp"]["after_pipeline_creation"] is None
    assert "--matmul numpy" in srsly.read_json("new/run.json")["command"]
    assert train("new", "--matmul", "blis").exit_code == 2


def test_a_config_needs_a_training_section_and_a_seed_but_no_logger(work):
    """As those of spaCy's quickstart page."""
    (work / "short.cfg").write_text(without(work / "my.cfg", "training.logger"), encoding="utf8")
    ran = train("training/short", *FEW, config="short.cfg")
    assert ran.exit_code == 0, ran.output
    assert len((work / "training/short/curve.jsonl").read_text().splitlines()) > 1
    saved = load_config(work / "training/short/model-best/config.cfg")
    assert saved["training"]["logger"]["@loggers"] == "spacy.ConsoleLogger.v1"
    text = (work / "my.cfg").read_text(encoding="utf8")
    lines = [line for line in text.splitlines() if not line.startswith("seed = ${")]
    (work / "my.cfg").write_text("\n".join(lines), encoding="utf8")
    refused(work, "'seed'", "training/new")
    (work / "my.cfg").write_text(without(work / "my.cfg", "training"), encoding="utf8")
    refused(work, "L438", "training/new")


def test_an_error_in_a_config_that_only_looks_like_one_with_a_code_is_given_one(work, monkeypatch):
    def fail(config):
        raise ValueError("[Loggers] are missing")

    monkeypatch.setattr(filling, "require_of", fail)
    with pytest.raises(ValueError, match=r"^\[L438\].*\[Loggers\] are missing"):
        load_with_corpus_values(Path("my.cfg"), Path("corpus/tiny"))


def test_a_training_that_fails_restores_the_level_of_spacys_logger(work, monkeypatch):
    monkeypatch.setattr(training, "train", full)
    monkeypatch.setattr(logger, "level", logging.WARNING)
    with pytest.raises(ValueError, match="L432"):
        training.train_model(Path("my.cfg"), Path("corpus/tiny"), Path(OLD))
    assert logger.level == logging.WARNING


@pytest.mark.parametrize("epochs", [0, -1])
def test_a_training_without_an_end_is_refused(epochs, work):
    """Asked of the check alone: through the command a fault would train without an end."""
    ends = {"training.max_steps": 0, "training.patience": 0, "training.max_epochs": epochs}
    endless = load_with_corpus_values(Path("my.cfg"), Path("corpus/tiny"), ends)
    with pytest.raises(ValueError, match=r"L438.*max_epochs"):
        training.check_trainable(endless, Path("my.cfg"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("light_processes")
def test_a_killed_training_leaves_the_old_model(work):
    before = tree(work / OLD)
    many = ("--training.max_steps", "100000", "--training.eval_frequency", "2")
    arguments = ["-m", "spacy_longtail", "train", "my.cfg", "corpus/tiny", OLD, *many]
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while not list((work / "training").glob(f"{NEW}*/new/*/model-best/config.cfg")):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert tree(work / OLD) == before
    paths = (Path("my.cfg"), Path("corpus/tiny"), Path(OLD))
    with pytest.warns(UserWarning, match="LW034"):  # the next run names what is left, and works
        training.train_model(*paths, overrides={"training.max_steps": 2})
