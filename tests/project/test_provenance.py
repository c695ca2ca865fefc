"""What `train` leaves beside a model, and what `evaluate` takes from there into reports."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli._util import parse_config_overrides
from spacy.tokens import Doc, DocBin
from spacy.util import load_config

from spacy_longtail.corpus.parts import checksum
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.evaluation.significance import mention_counts
from spacy_longtail.training import startup
from spacy_longtail.training.provenance import read_curve, read_run, shell_command
from spacy_longtail.training.train import train_model
from tests.util import blank, config_file, one_pipe, parse, run_app, toy_corpus

CONFIG = config_file("baseline")
STEPS = {"training.max_steps": 4, "training.eval_frequency": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return toy_corpus(tmp_path_factory.mktemp("corpus") / "tiny")


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("training") / "mom"
    train_model(CONFIG, corpus, output, overrides={**STEPS, "system.seed": 3})
    return output


def test_a_run_says_how_it_was_made(trained, corpus):
    found = srsly.read_json(trained / "run.json")
    assert found["command"] == (
        "python -m spacy_longtail train configs/baseline.cfg"
        f" {corpus} {trained} --training.max_steps 4 --training.eval_frequency 2 --system.seed 3"
    )
    assert found["corpus"] == "tiny"
    expected = hashlib.sha256((corpus / "train.spacy").read_bytes()).hexdigest()
    assert found["checksums"]["train"] == expected != found["checksums"]["dev"]
    assert found["versions"]["spacy"] == spacy.about.__version__
    assert found["seconds"] > 0


def test_loggers_are_those_of_the_config(trained, corpus, tmp_path):
    for model in ("model-best", "model-last"):
        saved = load_config(trained / model / "config.cfg")
        assert saved["training"]["logger"] == load_config(CONFIG)["training"]["logger"]
    own = {"@loggers": "spacy.ConsoleLogger.v3", "output_file": str(tmp_path / "mine.jsonl")}
    own |= {"progress_bar": None, "console_output": False}
    overrides = {f"training.logger.{key}": value for key, value in own.items()}
    train_model(CONFIG, corpus, tmp_path / "out", overrides={**STEPS, **overrides})
    assert (tmp_path / "mine.jsonl").read_text() == (tmp_path / "out" / "curve.jsonl").read_text()
    assert load_config(tmp_path / "out/model-best/config.cfg")["training"]["logger"] == own


def test_an_evaluation_takes_it_all_along(trained, corpus, tmp_path):
    done = run_app("evaluate", trained / "model-best", corpus, "-o", tmp_path / "mom.json")
    found = srsly.read_json(tmp_path / "mom.json")
    assert found["run"] == srsly.read_json(trained / "run.json")
    assert [point["step"] for point in found["curve"]] == [0, 2, 4]
    assert all(0 <= point["ents_macro_f"] <= 1 for point in found["curve"])
    assert found["training"]["seed"] == 3
    assert found["checksum"] == checksum(corpus / "test.spacy")
    assert found["method"]["pipes"]["ner"]["factory"] == "ner"
    assert found["method"]["reader"]["@readers"] == "spacy.Corpus.v1"
    assert "head" in found["analysis"]["buckets"]
    assert "seen mentions" in done.output or "unseen mentions" in done.output


def words_of_shell(text):
    """The words that a shell makes of a command, its program replaced by one that prints them."""
    line = text.replace("python -m spacy_longtail", "printf '%s\\n'", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True).stdout.splitlines()


def test_a_command_can_be_typed_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    paths = [Path("configs/papers/my own/a.cfg"), tmp_path / "corpus", Path("/home/me/all my/out")]
    paths += [Path("/data/x/y/z"), Path("-odd")]
    expected = ["configs/papers/my own/a.cfg", "corpus", "/home/me/all my/out", "/data/x/y/z", "./-odd"]
    assert words_of_shell(shell_command("train", paths, {})) == ["train", *expected]


def test_a_command_of_a_user_without_a_home_folder_has_absolute_paths(homeless):
    paths = [Path("/home/me/out"), Path("my.cfg")]
    assert words_of_shell(shell_command("train", paths, {})) == ["train", "/home/me/out", "my.cfg"]


def test_config_values_of_a_command_can_be_typed_again():
    overrides = {
        "paths.vectors": "corpus/it's here/vec",
        "corpora.train.paths": ["/data/a.spacy", {"b": "/data/b c.spacy"}],
        "components.ner.model.separator": "$HOME; rm",
        "training.dropout": 0.1,
        "training.patience": None,
        "nlp.lang": "no",
        "components.ner.labels": ["Ä", "B"],
        "system.note": "5",  # a text, not a number
        "system.code": "01",  # spaCy would read it as a number, which JSON does not have
        "system.sign": "--x",
        "system.on": True,
    }
    words = words_of_shell(shell_command("train", [], overrides))
    assert parse_config_overrides(words[1:]) == overrides


def test_a_run_that_is_moved_afterwards_names_its_final_place(corpus, tmp_path):
    work, final = tmp_path / "work", tmp_path / "trials" / "one"
    work.mkdir()
    shutil.copy(CONFIG, work / "config.cfg")
    train_model(work / "config.cfg", corpus, work / "model", overrides=STEPS, moved_to=final)
    found = read_run(work / "model" / "model-best").command
    assert f" train {final}/config.cfg {corpus} {final}/model " in found


def test_code_of_ones_own_is_in_the_command(tmp_path):
    (tmp_path / "own.py").write_text("", encoding="utf8")
    startup.import_code(tmp_path / "own.py")
    assert shell_command("ensemble", [], {}).endswith(f"--code {tmp_path / 'own.py'}")


@pytest.mark.parametrize("text", ['{"command": "python', "", "[]", "\udcff"])
def test_a_broken_record_of_the_run_is_a_coded_error(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"L417.*run\.json"):
        read_run(tmp_path / "model-best")


@pytest.mark.parametrize("point", [{"step": 2}, {"step": None, "scores": {"ents_f": 1.0}}, [1]])
def test_a_log_without_steps_or_scores_is_a_coded_error(tmp_path, point):
    srsly.write_jsonl(tmp_path / "curve.jsonl", [{"step": 0, "scores": {"ents_f": 1.0}}, point])
    with pytest.raises(ValueError, match=r"L417.*curve\.jsonl.*2"):
        read_curve(tmp_path / "model-best")


def test_scores_that_are_no_numbers_stay_out_of_the_curve(tmp_path):
    scores = ({"ents_f": None, "ents_p": 50.0, "speed": 7.0}, {"ents_f": None})
    lines = [{"step": 2 * i, "scores": own} for i, own in enumerate(scores)]
    srsly.write_jsonl(tmp_path / "curve.jsonl", lines)
    with (tmp_path / "curve.jsonl").open("a") as file:
        file.write('{"step": 4, "sco')  # training was killed
    assert read_curve(tmp_path / "model-best") == [{"step": 0, "ents_p": 0.5}]


@pytest.mark.parametrize(
    ("folder", "start", "given", "name"),
    [
        ("training/crf/model-best", ".", "training/crf/model-best", "crf"),
        ("training/crf/model-last", "training/crf", "model-last", "crf"),
        ("training/crf/model-best", "training/crf/model-best", ".", "crf"),
        ("training/ensemble", ".", "training/ensemble", "ensemble"),  # beside others: not "training"
        ("extended/model", ".", "extended/model", "extended"),
    ],
)
def test_an_evaluation_without_a_name_is_called_as_its_training(
    tmp_path, monkeypatch, folder, start, given, name
):
    place = tmp_path / folder
    place.parent.mkdir(parents=True)
    blank().to_disk(place)
    srsly.write_json(place.parent / "run.json", {"seconds": 7.0})
    DocBin(docs=[parse(blank(), "[Ann|PER]")]).to_disk(tmp_path / "test.spacy")
    monkeypatch.chdir(tmp_path / start)
    found = evaluate_model(Path(given), tmp_path / "test.spacy", ["PER"], [])
    assert (found.name, found.run.seconds) == (name, 7.0)


def test_an_evaluation_keeps_the_group_of_each_document(tmp_path):
    blank().to_disk(tmp_path / "model")
    docs = [parse(blank(), "Ann") for _ in range(3)]
    for doc, patient in zip(docs, ("7", "7", "8"), strict=True):
        doc.user_data["patient"] = patient
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "test.spacy")
    found = evaluate_model(tmp_path / "model", tmp_path / "test.spacy", ["PER"], [], group_by="patient")
    assert [document.group for document in found.documents] == ["7", "7", "8"]
    assert len(mention_counts(found.documents, ["PER"]).counts) == 2


def test_documents_give_the_scorers_counts(tmp_path):
    """Also where tokens differ, and where nobody knows what is right."""
    nlp = one_pipe("entity_ruler", "ruler")
    patterns = [{"label": "GEO", "pattern": "U.S.-based"}, {"label": "PER", "pattern": "Ann"}]
    nlp.get_pipe("ruler").add_patterns(patterns)
    nlp.to_disk(tmp_path / "model")
    first = Doc(
        nlp.vocab,
        words=["U.S.", "-", "based", "Ann", "left"],
        spaces=[False, False, True, True, False],
        ents=["B-GEO", "O", "O", "B-PER", "O"],
    )
    in_part = Doc(nlp.vocab, words=["Ann", "slept"], ents=["", "O"])
    unannotated = Doc(nlp.vocab, words=["Ann", "sat"])
    store = DocBin(docs=[first, in_part, unannotated], attrs=["ENT_IOB", "ENT_TYPE"])
    store.to_disk(tmp_path / "test.spacy")
    with pytest.warns(UserWarning, match="LW003"):
        found = evaluate_model(tmp_path / "model", tmp_path / "test.spacy", ["PER", "GEO"], [])
    counts = mention_counts(found.documents, ["PER", "GEO"]).counts.sum(axis=0)
    assert len(found.documents) == 2
    assert counts.tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 0]]
    per_type = found.scores.ents_per_type
    for label, (right, predicted, gold) in zip(["PER", "GEO"], counts.tolist(), strict=False):
        assert per_type[label].support == gold
        assert per_type[label].p == pytest.approx(right / predicted)
