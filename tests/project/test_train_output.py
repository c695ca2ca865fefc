"""`train` replaces its own earlier output alone, and only when it has come to its end."""

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
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.output.writing import NEW
from spacy_longtail.pipes import numpy_blas
from spacy_longtail.training import products
from spacy_longtail.training import train as training
from spacy_longtail.training.limits import check_training
from tests.project.test_cli import CONFIG
from tests.util import toy_corpus

RUN = CliRunner()
FEW = ("--training.max_steps", "4", "--training.eval_frequency", "2")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A working folder with a config, a corpus, assets and a trained model."""
    folder = tmp_path_factory.mktemp("work")
    toy_corpus(folder / "corpus" / "tiny")
    (folder / "assets").mkdir()
    shutil.copy(CONFIG, folder / "my.cfg")
    ran = train(
        folder / "training" / "old", *FEW, config=folder / "my.cfg", corpus=folder / "corpus/tiny"
    )
    assert ran.exit_code == 0, ran.output
    return folder


@pytest.fixture
def work(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def train(output, *options, config="my.cfg", corpus="corpus/tiny"):
    arguments = ["train", config, corpus, output, *options]
    return RUN.invoke(app, [str(a) for a in arguments])


def tree(folder):
    return {p.relative_to(folder): p.is_file() and p.read_bytes() for p in folder.rglob("*")}


def refused(work, code, output, *options, **given):
    before = tree(work)
    ran = train(output, *options, **given)
    assert ran.exit_code == 2, ran.output
    shown = " ".join(ran.output.split())  # it is wrapped
    assert code in shown and "Traceback" not in shown, shown
    assert tree(work) == before


@pytest.mark.parametrize("output", [".", "", "./", "..", "corpus", "corpus/tiny", "assets", "my.cfg"])
def test_what_must_stay_is_no_output(output, work):
    refused(work, "L436", output)


def test_a_folder_of_other_things_is_no_output(work):
    refused(work, "L437", "training")  # holds a run, and is none
    (work / "training" / "old" / "thesis.txt").write_text("x")
    refused(work, "it also holds thesis.txt", "training/old", *FEW)
    (work / "training" / "old" / "thesis.txt").unlink()
    srsly.write_json(work / "training" / "old" / "run.json", {"command": "of another program"})
    refused(work, "no run.json of an earlier `train`", "training/old", *FEW)


def test_a_base_is_not_replaced_by_what_starts_from_it(work):
    base = ("--paths.base", "training/old/model-best")
    for output in ("training/old", "training/old/model-best/new"):
        refused(work, "L436", output, *base, *FEW, config=CONFIG.with_name("extended.cfg"))


BAD = {
    "no number": ("--training.max_steps", "abc"),
    "of the wrong type": ("--training.dropout", '"much"'),
    "no such value": ("--training.max_stesp.x", "1"),
    "no such factory": ("--components.ner.factory", "nerr"),
    "no such setting": ("--components.ner.model.hidden_wdith", "8"),
    "no such optimizer": ("--training.optimizer.@optimizers", "Adma.v1"),
    "no such corpus": ("--paths.train", "none.spacy"),
    "no such reader": ("--training.dev_corpus", "corpora.nothing"),
    "no such score": ("--training.score_weights.ents_best", "1.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_setting_costs_no_model(name, work):
    code = "L439" if name == "no such score" else "L402" if name == "no such corpus" else "L438"
    refused(work, code, "training/old", *FEW, *BAD[name])


def test_an_output_that_its_variable_left_empty_is_refused(work):
    refused(work, "the working folder", os.environ.get("NOT_SET_AT_ALL", ""), *FEW)


def test_a_run_replaces_its_own(work):
    old = (work / "training" / "old" / "run.json").read_text()
    ran = train("training/old", *FEW, "--system.seed", "5")
    assert ran.exit_code == 0, ran.output
    assert (work / "training" / "old" / "run.json").read_text() != old
    best = load_config(work / "training" / "old" / "model-best" / "config.cfg")
    assert best["system"]["seed"] == 5
    assert spacy.load(work / "training" / "old" / "model-best").pipe_names == ["tok2vec", "ner"]
    assert not list(work.rglob(f"{NEW}*"))


@pytest.mark.parametrize("asked", ["numpy", "fastest"])
def test_numpy_multiplies_in_the_training_alone(asked, work, monkeypatch):
    used = []
    monkeypatch.setattr(products, "numpy_speedup", lambda: 2.0)
    monkeypatch.setattr(numpy_blas, "use_numpy_blas", lambda nlp: used.append(nlp) or nlp)
    ran = train("training/new", *FEW, "--products", asked)
    assert ran.exit_code == 0, ran.output
    assert len(used) == 1
    assert srsly.read_json(work / "training/new/run.json")["command"].count("--products numpy") == 1
    for model in ("model-best", "model-last"):
        saved = load_config(work / "training/new" / model / "config.cfg")
        assert saved["nlp"]["after_pipeline_creation"] is None


def test_products_that_cannot_be_had_cost_no_model(work):
    callback = ("--nlp.after_pipeline_creation", '{"@callbacks": "longtail.score_extension.v1"}')
    own = ("--products", "numpy", *callback)
    refused(work, "[nlp] after_pipeline_creation has a callback of its own", "training/old", *FEW, *own)


def test_what_is_printed_names_the_output(work):
    """Not the folder that takes its place at the end."""
    ran = train("training/new", *FEW)
    assert ran.exit_code == 0, ran.output
    said = " ".join(ran.output.split())
    for text in ("output directory: training/new", "training/new/model-last"):
        assert text in said
    assert NEW not in said


def test_a_full_disk_leaves_the_old_model(work, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "train", full)
    refused(work, "L432", "training/old", *FEW)
    monkeypatch.undo()
    monkeypatch.chdir(work)
    monkeypatch.setattr(training, "run_record", full)  # at the last moment
    refused(work, "No space left", "training/old", *FEW)


def test_a_training_that_fails_leaves_the_old_model(work, monkeypatch):
    def fails(nlp, output, **_):
        spacy.blank("en").to_disk(Path(output) / "model-last")  # as spaCy does, whatever happens
        raise ValueError("[E024] nothing learnt")

    monkeypatch.setattr(training, "train", fails)
    refused(work, "[E024] nothing learnt", "training/old", *FEW)


def test_a_stopped_training_is_kept_beside(work, monkeypatch):
    real = training.train

    def stopped(*arguments, **options):
        real(*arguments, **options)
        raise KeyboardInterrupt

    before = tree(work / "training" / "old")
    monkeypatch.setattr(training, "train", stopped)
    ran = train("training/old", *FEW, "--system.seed", "7")
    assert ran.exit_code == 130
    assert "old.stopped" in ran.output
    assert tree(work / "training" / "old") == before
    kept = work / "training" / "old.stopped" / "model-best"
    assert spacy.load(kept).pipe_names
    assert "output_file" not in load_config(kept / "config.cfg")["training"]["logger"]


def test_the_best_model_of_a_training_that_fails_is_kept_beside(work, monkeypatch):
    real = training.train

    def fails(*arguments, **options):
        real(*arguments, **options)
        raise ValueError("[E024] the loss is not finite")

    before = tree(work / "training" / "old")
    monkeypatch.setattr(training, "train", fails)
    ran = train("training/old", *FEW)
    assert ran.exit_code == 2 and "E024" in ran.output and "old.stopped" in ran.output
    assert tree(work / "training" / "old") == before
    kept = work / "training" / "old.stopped" / "model-best"
    assert spacy.load(kept).pipe_names
    assert "output_file" not in load_config(kept / "config.cfg")["training"]["logger"]


@pytest.mark.parametrize("halves", [["model-last"], ["model-best", "model-last"]])
def test_what_a_full_disk_has_cut_off_is_not_kept(halves, work, monkeypatch):
    real = training.train

    def fails(config, output, **options):
        real(config, output, **options)
        for model in halves:
            path = Path(output) / model / "vocab" / "strings.json"
            path.write_text(path.read_text(encoding="utf8")[:-5], encoding="utf8")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "train", fails)
    before = tree(work / "training" / "old")
    ran = train("training/old", *FEW)
    assert ran.exit_code == 2 and "No space left" in ran.output
    assert tree(work / "training" / "old") == before
    kept = list((work / "training").glob("old.stopped*"))
    assert len(kept) == 2 - len(halves) and ("old.stopped" in ran.output) == bool(kept)
    for folder in kept:
        assert spacy.load(folder / "model-best").pipe_names and not (folder / "model-last").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("light_processes")
def test_a_killed_training_leaves_the_old_model(work):
    before = tree(work / "training" / "old")
    many = ("--training.max_steps", "100000", "--training.eval_frequency", "2")
    arguments = ["-m", "spacy_longtail", "train", "my.cfg", "corpus/tiny", "training/old", *many]
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while not list((work / "training").glob(f"{NEW}*/new/model-best/config.cfg")):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert tree(work / "training" / "old") == before
    with pytest.warns(UserWarning, match="LW034"):  # the next run names what is left, and works
        training.train_model(
            Path("my.cfg"),
            Path("corpus/tiny"),
            Path("training/old"),
            overrides={"training.max_steps": 2},
        )


def without(config, *sections):
    """A config file's text without these sections and those within them."""
    kept, leaves = [], False
    for line in config.read_text(encoding="utf8").splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            leaves = any(name == section or name.startswith(f"{section}.") for section in sections)
        kept += [] if leaves else [line]
    return "\n".join(kept)


def test_a_config_needs_no_logger(work):
    """As those of spaCy's quickstart page."""
    (work / "short.cfg").write_text(without(work / "my.cfg", "training.logger"), encoding="utf8")
    ran = train("training/short", *FEW, config="short.cfg")
    assert ran.exit_code == 0, ran.output
    assert len((work / "training/short/curve.jsonl").read_text().splitlines()) > 1
    saved = load_config(work / "training/short/model-best/config.cfg")
    assert saved["training"]["logger"] == {"@loggers": "spacy.ConsoleLogger.v1"}


def test_a_config_needs_a_seed(work):
    lines = (work / "my.cfg").read_text(encoding="utf8").splitlines()
    kept = [line for line in lines if not line.startswith(("seed = ${", "gpu_allocator = ${"))]
    (work / "my.cfg").write_text("\n".join(kept), encoding="utf8")
    refused(work, "[L438] my.cfg cannot be trained: [training] has no seed and no gpu", "training/new")


@pytest.mark.parametrize("epochs", [0, -1])
def test_a_training_that_nothing_ends_is_refused(epochs):
    """Asked of the check alone: through the command a fault would train without an end."""
    ends = {"max_steps": 0, "patience": 0, "max_epochs": epochs}
    with pytest.raises(ValueError, match="neither max_steps, max_epochs nor patience ends"):
        check_training(ends, {})
    for name in ends:
        check_training({**ends, name: 5}, {})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--training.score_weights.ents_f", '"much"'),
            "[training] score_weights.ents_f must be at least 0, found 'much'",
        ),
        (
            ("--training.score_weights.ents_f", "-1"),
            "[training] score_weights.ents_f must be at least 0, found -1",
        ),
        (
            ("--training.score_weights", "[1]"),
            "[training] score_weights must be a section of numbers, found [1]",
        ),
        (
            ("--training.score_weights.ents_f", '"1"'),
            "[training] score_weights.ents_f must be at least 0, found '1'",
        ),
        (("--paths.train", "null"), "paths.train must be a path, found None."),
        (("--paths.dev", "5"), "paths.dev must be a path, found 5."),
        (("--initialize.vectors", "5"), "initialize.vectors must be a path or null, found 5."),
        (("--paths.init_tok2vec", "[1]"), "initialize.init_tok2vec must be a path or null, found [1]."),
        ((), "it has no [training]"),
    ],
)
def test_what_spacy_would_stumble_over_is_refused(work, options, problem):
    if not options:
        (work / "my.cfg").write_text(without(work / "my.cfg", "training"), encoding="utf8")
    refused(work, f"[L438] my.cfg cannot be trained: {problem}", "training/new", *options)
