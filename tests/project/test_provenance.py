"""What `train` leaves beside a model, and what `evaluate` takes from there into reports."""

import hashlib
import json

import pytest
import spacy
import srsly
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpora import write_corpus
from spacy_longtail.descriptions import CorpusTypes
from spacy_longtail.experiments.provenance import checksum, command, short
from spacy_longtail.experiments.training import train_model
from tests.project.test_cli import CONFIG
from tests.util import SENTENCES, parse

STEPS = {"training.max_steps": 4, "training.eval_frequency": 2}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    nlp = spacy.blank("en")
    docs = [parse(nlp, text) for text in SENTENCES]
    folder = tmp_path_factory.mktemp("corpus") / "tiny"
    types = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
    write_corpus(folder, {"train": docs, "dev": docs[:4], "test": docs[4:]}, types)
    return folder


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("training") / "mom"
    train_model(CONFIG, corpus, output, overrides={**STEPS, "system.seed": 3})
    return output


def test_a_run_says_how_it_was_made(trained, corpus):
    found = srsly.read_json(trained / "run.json")
    assert found["command"] == (
        "python -m spacy_longtail train configs/baseline.cfg"
        f" {short(corpus)} {short(trained)} --training.max_steps 4 --training.eval_frequency 2 --system.seed 3"
    )
    assert found["corpus"] == "tiny"
    expected = hashlib.sha256((corpus / "train.spacy").read_bytes()).hexdigest()
    assert found["checksums"]["train"] == expected != found["checksums"]["dev"]
    assert found["versions"]["spacy"] == spacy.about.__version__
    assert found["seconds"] > 0


def test_the_curve_has_every_evaluation(trained):
    steps = [line["step"] for line in srsly.read_jsonl(trained / "curve.jsonl")]
    assert steps == [0, 2, 4]


def test_the_saved_config_is_the_one_given(trained):
    for model in ("model-best", "model-last"):
        saved = load_config(trained / model / "config.cfg")
        assert saved["training"]["logger"] == load_config(CONFIG)["training"]["logger"]


def test_another_logger_is_left_alone(corpus, tmp_path):
    own = {"@loggers": "spacy.ConsoleLogger.v3", "output_file": str(tmp_path / "mine.jsonl")}
    own |= {"progress_bar": None, "console_output": False}
    overrides = {f"training.logger.{key}": value for key, value in own.items()}
    train_model(CONFIG, corpus, tmp_path / "out", overrides={**STEPS, **overrides})
    assert (tmp_path / "mine.jsonl").is_file()
    assert not (tmp_path / "out" / "curve.jsonl").exists()


def test_an_evaluation_takes_it_all_along(trained, corpus, tmp_path):
    target = tmp_path / "mom.json"
    model = trained / "model-best"
    done = CliRunner().invoke(app, ["evaluate", str(model), str(corpus), "-o", str(target)])
    assert done.exit_code == 0, done.output
    found = json.loads(target.read_text(encoding="utf8"))
    assert found["run"] == srsly.read_json(trained / "run.json")
    assert [point["step"] for point in found["curve"]] == [0, 2, 4]
    assert all(0 <= point["ents_macro_f"] <= 1 for point in found["curve"])
    assert found["training"]["seed"] == 3
    assert found["checksum"] == checksum(corpus / "test.spacy")
    assert found["method"]["pipes"]["ner"]["factory"] == "ner"
    assert found["method"]["reader"]["@readers"] == "spacy.Corpus.v1"
    assert found["analysis"]["matching"]["strict"]["f"] == pytest.approx(found["scores"]["ents_f"])
    assert "seen mentions" in done.output or "unseen mentions" in done.output


def test_a_model_from_elsewhere_has_no_history(trained, corpus, tmp_path):
    nlp = spacy.load(trained / "model-best")
    nlp.to_disk(tmp_path / "model")
    arguments = ["evaluate", str(tmp_path / "model"), str(corpus), "--json"]
    found = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert found["run"] == {}
    assert found["curve"] == []


def test_a_folders_checksum_is_of_its_files_in_order(tmp_path):
    for name, text in (("b.spacy", b"2"), ("a.spacy", b"1"), ("note.txt", b"3")):
        (tmp_path / name).write_bytes(text)
    assert checksum(tmp_path) == hashlib.sha256(b"12").hexdigest()


def test_a_command_can_be_typed_and_names_no_folder_above(tmp_path):
    text = command("train", [tmp_path / "a" / "b c.cfg"], {"paths.vectors": "/x/y/z", "a.b": [1, "d"]})
    assert text == "python -m spacy_longtail train 'a/b c.cfg' --paths.vectors y/z --a.b '[1,\"d\"]'"
