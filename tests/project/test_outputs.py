"""Every command that writes leaves alone what it did not write."""

import json
from pathlib import Path

import pytest
import spacy

from tests.util import (
    ROOT,
    TOKEN_MODEL,
    config_file,
    invoke,
    one_pipe,
    run_app,
    run_script,
    toy_corpus,
    toy_docs,
    trained_once,
    tree,
    write_files,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A working folder with a source, a corpus, a model, its evaluations, and files of the user."""
    folder = tmp_path_factory.mktemp("work")
    docs = toy_docs(3)
    toy_corpus(folder / "corpus" / "tiny", train=docs, dev=docs, test=docs)
    nlp, _ = trained_once(one_pipe, 30, model=TOKEN_MODEL, scores_key="entity_scores")
    for name in ("run", "other"):
        (folder / name).mkdir()
        nlp.to_disk(folder / name / "model-best")
    (folder / "assets").mkdir()
    names = ("notes.txt", "mine/train.spacy", "mine.html", "mine.json", "mine.svg", "mine.cfg")
    source = "Ann\tB-PER\nleft\tO\n\nOslo\tB-GEO\nslept\tO\n\n"
    return write_files(folder, {**dict.fromkeys(names, "my own"), "source.iob": source})


CORPUS, MODEL = "corpus/tiny", "run/model-best"
MOM = config_file("resampled_mom")
SEARCH = ("--config", str(MOM), "--search", "components.ner.loss.lam=0.05:1")
DISTIL = ("distil", MODEL, "notes.txt", "--student", str(MOM), "--gold", CORPUS)
MEMBERS = ("run", "other")
REFUSED = {
    "convert to the working folder": ("convert", "source.iob", "."),
    "convert over a file": ("convert", "source.iob", "notes.txt"),
    "convert over a corpus of others": ("convert", "mine/train.spacy", "mine"),
    "split to the working folder": ("split", CORPUS, "."),
    "split over its source": ("split", CORPUS, CORPUS),
    "split over a corpus of others": ("split", CORPUS, "mine"),
    "folds in the working folder": ("split", CORPUS, ".", "--folds", "3"),
    "evaluate over a file": ("evaluate", MODEL, CORPUS, "-o", "mine.json"),
    "evaluate over the model": ("evaluate", MODEL, CORPUS, "-o", f"{MODEL}/meta.json"),
    "evaluate over a folder": ("evaluate", MODEL, CORPUS, "-o", "run"),
    "stats over a file": ("stats", CORPUS, "-o", "mine.json"),
    "audit over a file": ("audit", CORPUS, "-o", "notes.txt", "--steps", "2", "--folds", "2"),
    "audit over the data": ("audit", CORPUS, "-o", f"{CORPUS}/train.spacy", "--steps", "2"),
    "report over a page": ("evaluate", "metrics", "--report", "mine.html"),
    "thresholds over a model": ("thresholds", MODEL, CORPUS, "-o", "other/model-best"),
    "thresholds over its corpus": ("thresholds", MODEL, CORPUS, "-o", CORPUS),
    "matrix in the working folder": ("matrix", "quick", CORPUS, "-o", "."),
    "matrix in a folder of others": ("matrix", "quick", CORPUS, "-o", "mine"),
    "tune in the corpus": ("tune", CORPUS, "-o", CORPUS, *SEARCH),
    "recommend in the corpus": ("recommend", CORPUS, "-o", CORPUS),
    "recommend over a config": ("recommend", CORPUS, "-o", "new", "--config", "mine.cfg"),
    "distil in the working folder": (*DISTIL, "-o", "."),
    "distil in the corpus": (*DISTIL, "-o", f"{CORPUS}/out"),
    "distil in a folder of others": (*DISTIL, "-o", "mine"),
    "ensemble over a member": ("ensemble", *MEMBERS, "-o", "run"),
    "ensemble in a member": ("ensemble", *MEMBERS, "-o", "run/out"),
    "ensemble in the working folder": ("ensemble", *MEMBERS, "-o", "."),
    "ensemble in a folder of others": ("ensemble", *MEMBERS, "-o", "mine"),
}


CACHE = Path("corpus/tiny/.statistics.json")


@pytest.mark.parametrize("name", REFUSED)
def test_no_command_replaces_files_that_it_did_not_write(name, work):
    before = tree(work)
    ran = invoke(*REFUSED[name])
    assert ran.exit_code == 2, ran.output
    assert "[L4" in ran.output and "Traceback" not in ran.output, ran.output
    after = tree(work)
    after.pop(CACHE, None)  # counts of the corpus, which the command needs to plan
    assert after == before


OWN = {
    "convert": ("convert", "source.iob", "new/corpus"),
    "split": ("split", CORPUS, "new/split"),
    "folds": ("split", CORPUS, "new/folds", "--folds", "3"),
    "evaluate": ("evaluate", MODEL, CORPUS, "-o", "new/scores.json"),
    "stats": ("stats", CORPUS, "-o", "new/stats.json"),
    "audit": ("audit", CORPUS, "-o", "new/review.jsonl", "--steps", "2", "--folds", "2"),
    "thresholds": ("thresholds", MODEL, CORPUS, "-o", "new/model-best"),
    "thresholds in place": ("thresholds", MODEL, CORPUS, "--in-place"),
}


@pytest.mark.parametrize("name", OWN)
def test_every_command_replaces_its_own_output(name, work):
    if name.startswith("audit"):
        pytest.importorskip("cleanlab", reason="needs the extra 'audit'")
    for _ in range(2):
        run_app(*OWN[name])
    assert not list(work.rglob(".longtail-*"))


@pytest.mark.parametrize("options", [(), ("-o", "new/model-best", "--in-place")])
def test_thresholds_change_a_model_only_where_that_is_asked_for(options, work):
    before = tree(work / MODEL)
    ran = invoke("thresholds", MODEL, CORPUS, *options)
    assert ran.exit_code == 2 and "[L852]" in ran.output and "--in-place" in ran.output
    assert tree(work / MODEL) == before


def test_thresholds_in_place_keep_other_files_of_the_pipeline(work):
    write_files(work / MODEL, {"README.md": "a card", "extra/x.txt": "mine"})
    run_app("thresholds", MODEL, CORPUS, "--in-place")
    assert (work / MODEL / "README.md").read_text() == "a card"
    assert (work / MODEL / "extra" / "x.txt").read_text() == "mine"
    chosen = json.loads((work / MODEL / "thresholds.json").read_text(encoding="utf8"))
    assert chosen["ner"]["goal"] == "best F1"
    assert spacy.load(work / MODEL).pipe_names == ["ner"]


def test_a_card_does_not_replace_a_readme(work):
    pytest.importorskip("scipy", reason="needs the extra 'report'")
    run_app("stats", CORPUS, "-o", "metrics/stats.json")
    run_app("evaluate", MODEL, CORPUS, "-o", "metrics/run.json")
    (work / MODEL / "README.md").write_text("mine")
    ran = invoke("evaluate", "metrics", "--report", "report.html", "--card", MODEL)
    assert ran.exit_code == 2 and "L437" in ran.output
    assert (work / MODEL / "README.md").read_text() == "mine"
    (work / MODEL / "README.md").unlink()
    for _ in range(2):
        run_app("evaluate", "metrics", "--report", "report.html", "--card", MODEL)


def script(name, *arguments):
    return run_script(ROOT / "scripts" / name, *arguments)


def test_clean_deletes_only_files_that_the_project_writes(work):
    before = tree(work)
    assert script("clean.py", "corpus").exit_code != 0  # this is no project
    assert tree(work) == before
    (work / "project.yml").touch()
    before = tree(work)
    for folders in (["."], ["mine"], ["corpus", "mine"], ["corpus/tiny"], ["assets"]):
        assert script("clean.py", *folders).exit_code != 0
        assert tree(work) == before
    (work / "training").symlink_to(work / "mine")
    assert script("clean.py", "corpus", "training").exit_code != 0
    assert (work / "corpus").is_dir() and (work / "mine" / "train.spacy").is_file()
    (work / "training").unlink()
    assert script("clean.py", "corpus", "training").exit_code == 0
    assert not (work / "corpus").exists()


def test_a_package_replaces_an_earlier_package_alone(work):
    before = tree(work)
    for folder in ("mine", ".", "", "run", "metrics"):
        (work / "metrics").mkdir(exist_ok=True)
        ran = script("package.py", "metrics", folder)
        assert ran.exit_code == 1 and ("[L436]" in ran.output or "[L437]" in ran.output)
    (work / "metrics").rmdir()
    assert tree(work) == before
