"""The options of `matrix` and `curve`: what they plan, without a training."""

import pytest
import typer
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.cli.trial_options import read_numbers, read_settings
from spacy_longtail.studies.trials.plan import read_plan
from tests.util import toy_corpus, toy_docs

RUN = CliRunner()


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny", dev=toy_docs(), test=toy_docs())


def listed(*arguments):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    result = RUN.invoke(app, [*map(str, arguments), "--dry-run"])
    assert result.exit_code == 0, result.output
    return result.output


def test_settings_are_json_or_text():
    given = ["a.b=1", "a.c=0.5", "a.d=text", "a.e=null", 'a.f={"@x": [1]}', "a.g=x=y"]
    expected = {"a.b": 1, "a.c": 0.5, "a.d": "text", "a.e": None, "a.f": {"@x": [1]}, "a.g": "x=y"}
    assert read_settings(given) == expected


@pytest.mark.parametrize("text", ["training.seed", "seed=1", "=1"])
def test_settings_need_a_dotted_name_and_a_value(text):
    with pytest.raises(typer.BadParameter, match=r"SECTION\.NAME=VALUE"):
        read_settings([text])


def test_numbers():
    assert read_numbers("--sizes", "20,50", int) == [20, 50]
    assert read_numbers("--shares", "0.5,2", float) == [0.5, 2.0]
    for text in ("", "a", "1,,2", "1.5"):
        with pytest.raises(typer.BadParameter, match="--sizes"):
            read_numbers("--sizes", text, int)


def test_a_matrix_lists_its_trials(corpus, tmp_path):
    options = (corpus, "-o", tmp_path / "out", "--seeds", "4,5")
    text = listed("matrix", "quick", *options, "--steps", "500")
    assert "tiny, crf, seed 5" in text
    assert "6 trials, 500 steps each" in text
    text = listed("matrix", "quick", *options, "--steps", "500", "--patience", "200")
    assert "6 trials, each until it is no better on dev for 200 steps, 500 at most" in text
    text = listed("matrix", "quick", *options)
    assert "3 trials, each until it is no better on dev for 300 steps, 2,000 at most" in text
    assert "seed 5" not in text and "Then 6 trials" in text
    assert not (tmp_path / "out").exists()


def test_a_curve_lists_sizes_and_partitions(corpus, tmp_path):
    text = listed("curve", corpus, "-o", tmp_path / "out", "--sizes", "2,4", "--partitions", "3")
    assert "softmax, 4 sentences, seed 2" in text
    assert "30 trials" in text  # five methods


def test_a_study_may_use_a_plan_with_seeds(corpus, tmp_path):
    text = listed(
        "curve", corpus, "-o", tmp_path / "out", "--plan", "quick", "--sizes", "2", "--partitions", "1"
    )
    assert "3 trials, 1,000 steps each" in text


def test_bad_studies_are_refused(corpus, tmp_path):
    for arguments, message in (
        (["curve", corpus, "--sizes", "0"], "L470"),
        (["curve", corpus, "--sizes", "5,5"], "L470"),
        (["curve", corpus, "--sizes", "x"], "--sizes"),
        (["matrix", "quick", corpus, "--seeds", "0,a"], "--seeds"),
        (["curve", tmp_path / "none"], "L402"),
        (["matrix", "nothing", corpus], "L402"),
        (["matrix", "quick"], "L479"),
        (["matrix", "quick", corpus, "--steps", "20"], "L474"),
        (["matrix", "quick", corpus, "--steps", "many"], "--steps"),
        (["matrix", "quick", corpus, "--steps", "0"], "--steps"),
        (["matrix", "quick", corpus, "--patience", "20"], "L470"),
    ):
        command = [*map(str, arguments), "-o", str(tmp_path / "out"), "--dry-run"]
        result = RUN.invoke(app, command)
        assert result.exit_code == 2
        assert message in result.output + str(result.stderr), (command, result.output)
        assert not (tmp_path / "out").exists()


def test_a_draw_is_what_every_reader_reads(corpus):
    given = {"corpora": [str(corpus)], "sizes": [3], "partitions": 2}
    plan = read_plan("quick", {**given, "grids": [{"head": "crf", "reader": ["plain", "sCR"]}]})
    for trial in plan.trials():
        config = trial.config()
        assert config["corpora"]["plain"]["n_sentences"] == 3
        assert config["corpora"]["plain"]["partition"] == trial.seed == config["system"]["seed"]
        train = config["corpora"]["train"]
        resampled = "sCR" in trial.method.name
        assert (
            train["corpus"] == "${corpora.plain}" if resampled else train == config["corpora"]["plain"]
        )
        assert config["corpora"]["dev"]["@readers"] == "spacy.Corpus.v1"


def test_settings_of_the_command_line_are_added_to_those_of_the_plan():
    for given, dropout in (({}, 0.2), ({"training.dropout": 0.5}, 0.5)):
        plan = read_plan("paper-auc", {"settings": given})
        for method in plan.methods:
            assert method.config["training"]["eval_frequency"] == 50  # the plan's own
            assert method.config["training"]["dropout"] == dropout
