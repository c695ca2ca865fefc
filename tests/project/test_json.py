"""What commands print for machines is JSON and nothing else, and says what the tables say."""

import json

import pytest
import srsly
from typer.main import get_command

from spacy_longtail.cli import app
from spacy_longtail.corpus.folder import load_docs, read_types
from spacy_longtail.unlabelled.proposals import ID, SHARE, proposal_id
from spacy_longtail.unlabelled.scan import RANDOM
from tests.util import blank, run_app

# a training's log is on stdout, and run.json says what was done; a config is the output itself
WITHOUT = {"train", "init-config"}


def run(*arguments):
    return json.loads(run_app(*arguments, "--json").stdout)


def test_every_command_has_it():
    for name, command in get_command(app).commands.items():
        assert any("--json" in param.opts for param in command.params) == (name not in WITHOUT), name


def test_a_conversion(tmp_path):
    (tmp_path / "a.iob").write_text("Ann B-PER\nsaw O\nRome B-GEO\n\nNobody O\n", encoding="utf8")
    found = run("convert", tmp_path / "a.iob", tmp_path / "out")
    types = read_types(tmp_path / "out")
    assert (found["labels"], found["tail"]) == (types.labels, types.tail)
    assert found["parts"]["all"]["documents"] == 2
    assert found["parts"]["all"]["mentions"] == {"PER": 1, "GEO": 1}


def test_a_split(corpus, tmp_path):
    found = run("split", corpus, tmp_path / "out", "--parts", "train=0.5,dev=0.5")
    n_docs = len(load_docs(corpus / "train.spacy", blank()))
    assert found["train"]["n_docs"] + found["dev"]["n_docs"] == n_docs
    assert found["train"]["share"] == pytest.approx(found["dev"]["share"], abs=0.2)
    assert found["train"]["mentions"]["NAT"] > 0


def test_a_merge(corpus, tmp_path):
    mined = {"text": "Ida came .", "spans": [{"start": 0, "end": 3, "label": "NAT"}], "answer": "accept"}
    mined["meta"] = {ID: proposal_id("mined", "Ida came ."), SHARE: "mined"}
    drawn = {"text": "Bo went .", "spans": [{"start": 0, "end": 2, "label": "NAT"}], "answer": "accept"}
    drawn["meta"] = {ID: proposal_id(RANDOM, "Bo went ."), SHARE: RANDOM}
    srsly.write_jsonl(tmp_path / "labelled.jsonl", [mined, drawn])
    call = ("merge", corpus, tmp_path / "labelled.jsonl", "--random-to", "train")
    found = run(*call)
    assert found["added"] == {"train": 2} and found["mentions"] == {"NAT": 2}
    assert run(*call)["known"] == 2


@pytest.mark.slow
def test_an_audit(corpus, tmp_path):
    pytest.importorskip("cleanlab")
    call = ("audit", corpus, "-o", tmp_path / "review.jsonl", "--folds", "2", "--steps", "3")
    found = run(*call)
    assert {"O", "PER"} <= set(found["agreement"])
    assert all({"annotated", "read", "score"} <= set(s) for s in found["suspects"])
    assert found["sentences"] == len((tmp_path / "review.jsonl").read_text().splitlines())
