"""`--dry-run`: what each command would do; nothing is run or written."""

import json

import pytest
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.pretraining import Options as PretrainOptions
from spacy_longtail.pretraining import pretrain, pretraining_outlook
from spacy_longtail.pretraining.bi_encoder.cnn_learner import CNNLearner
from spacy_longtail.studies.trials.ledger import finish
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.run import Matrix
from tests.project.pretraining import DEV, RATES, SHIPS, kill_at, write
from tests.unit.test_ledger import record_of
from tests.util import SENTENCES, numbered, refused, toy_corpus

RUN = CliRunner()
OPTIONS = ("--steps", "100", "--seeds", "0,1")


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "toy", train=numbered(), dev=numbered()[:8], test=numbered()[8:16])


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def dry(*arguments, as_json=True):
    """The plan of a command, which leaves the disk as it is."""
    result = RUN.invoke(app, [str(a) for a in [*arguments, "--dry-run", *["--json"] * as_json]])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if as_json else result.stdout


def test_trials_are_listed_with_their_status(corpus, tmp_path):
    output = tmp_path / "out"
    given = {"corpora": [str(corpus)], "steps": 100, "seeds": [0, 1]}
    (key, *others) = Matrix(read_plan("quick", given), output).trials
    work = output / "work" / key
    work.mkdir(parents=True)
    finish(output, work, record_of(key))
    before = files(tmp_path)
    found = dry("matrix", "quick", corpus, "-o", output, *OPTIONS)["trials"]
    assert {own["key"]: own["status"] for own in found} == {key: "done", **dict.fromkeys(others, "open")}
    text = dry("matrix", "quick", corpus, "-o", output, *OPTIONS, as_json=False)
    assert "6 trials, 100 steps each" in text and files(tmp_path) == before


def test_bad_input_is_refused_as_in_a_real_run(corpus, tmp_path):
    call = ["matrix", "quick", corpus, "-o", tmp_path / "out", "--dry-run"]
    refused([*call, "--set", "components.ner.haed=crf"], "L480")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    refused([*call, "-o", tmp_path / "full"], "L476")


def test_candidates_are_listed_with_their_reasons(corpus, tmp_path):
    call = ("recommend", corpus, "-o", tmp_path / "out", "--folds", "3", "--steps", "100")
    found = dry(*call)["candidates"]
    assert found[0] == {"method": "ner", "choices": {"head": "ner"}, "why": "stock spaCy, the baseline"}
    text = dry(*call, as_json=False)
    assert "ner: stock spaCy, the baseline" in text and "3 folds, 100 steps each" in text
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def donors(tmp_path_factory):
    for extra in ("torch", "transformers"):
        pytest.importorskip(extra, reason="needs the extra 'transformers'")
    folder = tmp_path_factory.mktemp("donors")
    return [
        write(folder / "toy", SENTENCES, dev=DEV["toy"]),
        write(folder / "ships", SHIPS, dev=DEV["ships"]),
    ]


def test_donors_and_steps_of_a_pretraining(donors, tmp_path):
    call = ["pretrain", *donors, "-o", tmp_path / "out", "--steps", "40", "--words", "20"]
    call += [part for name, value in RATES.items() for part in ("--set", f"{name}={value}")]
    call += ["--exclude", donors[0]]
    found = dry(*call)
    assert found["steps"] == 40
    assert [(d["name"], d["sentences"]) for d in found["donors"]] == [("toy", 8), ("ships", 4)]
    assert "40 steps of 20 subwords" in dry(*call, as_json=False) and not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    refused([*call, "--dry-run", "-o", tmp_path / "full"], "L437")


def test_a_finished_pretraining_has_nothing_to_do(donors, tmp_path):
    call = ["pretrain", *donors, "-o", tmp_path / "out", "--steps", "2", "--words", "20"]
    call += [part for name, value in RATES.items() for part in ("--set", f"{name}={value}")]
    assert RUN.invoke(app, [str(a) for a in call]).exit_code == 0
    before = files(tmp_path)
    assert "All steps are done." in dry(*call, as_json=False) and files(tmp_path) == before
    refused([*call, "--dry-run", "--seed", "1"], "L497")


def test_a_pretraining_that_was_killed_goes_on(donors, tmp_path, monkeypatch):
    options = PretrainOptions(steps=12, words=20, evaluations=3, settings=RATES)
    kill_at(monkeypatch, 9, (4, 8), CNNLearner)
    with pytest.raises(KeyboardInterrupt):
        pretrain(donors, tmp_path / "out", options, [], print)
    monkeypatch.undo()
    before = files(tmp_path)
    lines, _ = pretraining_outlook(donors, tmp_path / "out", options, [])
    assert lines[-1] == "8 steps are done." and files(tmp_path) == before
