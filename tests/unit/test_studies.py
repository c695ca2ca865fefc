"""The options of `matrix`: what it plans, without a training."""

import pytest
import typer
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.cli.trial_options import read_numbers, read_settings
from spacy_longtail.studies.trials.plan import read_plan
from tests.util import refused, toy_corpus, toy_docs

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
    assert read_numbers("--sizes", "20,50") == [20, 50] and read_numbers("--sizes", None) is None
    for text in ("", "a", "1,,2", "1.5"):
        with pytest.raises(typer.BadParameter, match="--sizes"):
            read_numbers("--sizes", text)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--seeds", "4,5", "--steps", "500"), ("tiny, crf, seed 5", "6 trials, 500 steps each")),
        (("--steps", "500", "--patience", "200"), ("no better on dev for 200 steps, 500 at most",)),
        ((), ("9 trials, each until it is no better on dev for 300 steps, 2,000 at most",)),
        (("--sizes", "2,4", "--partitions", "3"), ("crf, 4 sentences, seed 2", "18 trials")),
    ],
)
def test_a_matrix_lists_its_trials(options, named, corpus, tmp_path):
    text = listed("matrix", "quick", corpus, "-o", tmp_path / "out", *options)
    assert all(own in text for own in named) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("quick", "CORPUS", "--sizes", "0"), "L470"),
        (("quick", "CORPUS", "--sizes", "x"), "--sizes"),
        (("quick", "CORPUS", "--seeds", "0,a"), "--seeds"),
        (("quick", "none"), "L402"),
        (("nothing", "CORPUS"), "L402"),
        (("quick",), "L470"),
        (("quick", "CORPUS", "--steps", "20"), "L470"),
        (("quick", "CORPUS", "--steps", "0"), "--steps"),
    ],
)
def test_bad_studies_are_refused(options, message, corpus, tmp_path):
    given = [str(corpus) if option == "CORPUS" else option for option in options]
    refused(["matrix", *given, "-o", tmp_path / "out", "--dry-run"], message, tmp_path / "out")


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
