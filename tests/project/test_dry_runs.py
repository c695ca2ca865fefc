"""`--dry-run`: what each command would do; nothing is run or written."""

import json

import pytest
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.records import finish
from spacy_longtail.studies.trials.run import Matrix
from tests.unit.test_ledger import record_of
from tests.util import numbered, refused, toy_corpus

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
    refused([*call, "-o", tmp_path / "full"], "L437")


def test_candidates_are_listed_with_their_reasons(corpus, tmp_path):
    call = ("recommend", corpus, "-o", tmp_path / "out", "--folds", "3", "--steps", "100")
    found = dry(*call)["candidates"]
    assert found[0] == {"method": "ner", "choices": {"head": "ner"}, "why": "stock spaCy, the baseline"}
    text = dry(*call, as_json=False)
    assert "ner: stock spaCy, the baseline" in text and "3 folds, 100 steps each" in text
    assert not (tmp_path / "out").exists()
