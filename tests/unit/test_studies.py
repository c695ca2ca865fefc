"""The options of `matrix` and `recommend`, and `--dry-run`: what they plan, without a training."""

import json

import pytest
import typer

from spacy_longtail.cli.options import read_numbers, read_settings
from spacy_longtail.studies.configs.compose import compose, read_base
from spacy_longtail.studies.trials import study as module
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.store import TrialStore
from spacy_longtail.studies.trials.study import create_study
from tests.trials import Scored, record_of
from tests.util import new_file, numbered, refused, run_app, toy_corpus


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny", train=numbered(), dev=numbered()[:8], test=numbered()[8:16])


def listed(*arguments):
    return run_app(*arguments, "--dry-run").stdout


def test_settings_and_numbers_as_typed():
    given = ["a.b=1", "a.c=0.5", "a.d=text", "a.e=null", 'a.f={"@x": [1]}', "a.g=x=y"]
    expected = {"a.b": 1, "a.c": 0.5, "a.d": "text", "a.e": None, "a.f": {"@x": [1]}, "a.g": "x=y"}
    assert read_settings(given) == expected
    assert read_numbers("--sizes", "20,50") == [20, 50] and read_numbers("--sizes", None) is None


@pytest.mark.parametrize("text", ["training.seed", "seed=1", "=1"])
def test_settings_of_unknown_blocks_are_refused(text):
    with pytest.raises(typer.BadParameter):
        read_settings([text])


@pytest.mark.parametrize("text", ["", "a", "1,,2", "1.5"])
def test_invalid_numbers_are_refused(text):
    with pytest.raises(typer.BadParameter, match="--sizes"):
        read_numbers("--sizes", text)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--seeds", "4,5", "--steps", "500"), ("tiny, crf, seed 5", "8 trials, 500 steps each")),
        (
            ("--steps", "500", "--patience", "200"),
            ("has not improved for 200 steps, with at most 500 steps",),
        ),
        ((), ("12 trials, each until macro F1 on dev has not improved for 300 steps",)),
        (("--sizes", "2,4", "--partitions", "3"), ("crf, 4 sentences, seed 2", "24 trials")),
        (("--folds", "3"), ("tiny-fold-2, ner, seed 0", "36 trials")),
    ],
)
def test_a_matrix_lists_its_trials(options, named, corpus, tmp_path):
    text = listed("matrix", "quick", corpus, "-o", tmp_path / "out", *options)
    assert all(own in text for own in named) and not (tmp_path / "out").exists()


def test_trials_are_listed_with_their_status(corpus, tmp_path):
    output, given = tmp_path / "out", {"steps": 100, "seeds": [0, 1]}
    (key, *others) = create_study(read_plan("quick", {**given, "corpora": [str(corpus)]}), output).trials
    (output / "work" / key).mkdir(parents=True)
    TrialStore(output).finish(output / "work" / key, record_of(key))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    options = ("--steps", "100", "--seeds", "0,1", "--json")
    found = json.loads(listed("matrix", "quick", corpus, "-o", output, *options))["trials"]
    assert {own["key"]: own["status"] for own in found} == {key: "done", **dict.fromkeys(others, "open")}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.fixture
def stored(corpus, tmp_path):
    """Function that stores one trial of a plan with a status, and returns its key."""

    def store(status, **more):
        plan = read_plan("quick", {"steps": 100, "seeds": [0], "corpora": [str(corpus)]})
        key = next(iter(create_study(plan, tmp_path / "out").trials))
        (tmp_path / "out" / "work" / key).mkdir(parents=True)
        record = record_of(key, status=status, **more)
        TrialStore(tmp_path / "out").finish(tmp_path / "out" / "work" / key, record)
        return key

    return store


def status_of(key, corpus, output, *options):
    """Return the status of a trial in the list of a dry run."""
    call = ("matrix", "quick", corpus, "-o", output, "--steps", "100", "--seeds", "0", "--json")
    return next(t["status"] for t in json.loads(listed(*call, *options))["trials"] if t["key"] == key)


def test_a_failed_trial_is_listed_as_open_if_it_is_repeated(corpus, tmp_path, stored):
    key = stored("failed")

    assert status_of(key, corpus, tmp_path / "out") == "failed"
    assert status_of(key, corpus, tmp_path / "out", "--retry-failed") == "open"


def test_a_trial_that_ran_out_of_time_is_listed_as_open_with_a_larger_limit(corpus, tmp_path, stored):
    key = stored("timeout", time_limit=1.0)

    assert status_of(key, corpus, tmp_path / "out", "--minutes", "1") == "timeout"
    assert status_of(key, corpus, tmp_path / "out", "--minutes", "2") == "open"


def test_the_progress_of_a_matrix_names_the_held_out_fold(corpus, tmp_path, monkeypatch):
    pytest.importorskip("scipy")
    scored = Scored({})
    monkeypatch.setattr(module, "run_trial", lambda trial, work, stop, **_: scored(trial, work, stop))
    text = "steps: 4\nseeds: 1\nsettings: {training.eval_frequency: 2}\ngrids: [{head: softmax}]\n"
    plan = new_file(tmp_path / "plan.yml", text)

    said = run_app("matrix", plan, corpus, "-o", tmp_path / "out", "--folds", "3").stderr

    lines = [line for line in said.splitlines() if "macro F1" in line]
    assert lines and all("on the held-out fold" in line for line in lines)


def test_candidates_are_listed_with_their_reasons(corpus, tmp_path):
    call = ("recommend", corpus, "-o", tmp_path / "out", "--folds", "3", "--steps", "100")
    found = json.loads(listed(*call, "--json"))["candidates"]
    why = "Stock spaCy is the baseline of the comparison."
    assert found[0] == {"method": "ner", "choices": {"head": "ner"}, "why": why}
    reasons = [candidate["why"] for candidate in found]
    assert all(reason.endswith(".") and " " in reason for reason in reasons)
    text = listed(*call)
    assert f"ner: {why}" in text and "3 folds, 100 steps each" in text
    assert not (tmp_path / "out").exists()


def test_too_few_steps_are_refused_by_the_name_of_the_option(corpus, tmp_path):
    call = ["recommend", corpus, "-o", tmp_path / "out", "--steps", "60", "--dry-run"]
    refused(call, "--steps 60 cannot be used", tmp_path / "out")


def test_a_dry_run_refuses_more_folds_than_the_corpus_has_documents(corpus, tmp_path):
    call = ["recommend", corpus, "-o", tmp_path / "out", "--folds", "100", "--dry-run"]
    refused(call, "L440", tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("quick", "CORPUS", "--sizes", "0"), "[L581] --sizes '0'"),
        (("quick", "CORPUS", "--sizes", "4,4"), "[L581] --sizes '4,4'"),
        (("quick", "CORPUS", "CORPUS"), "[L470] corpora"),
        (("quick", "CORPUS", "--sizes", "4", "--seeds", "0"), "[L581] --seeds '0'"),
        (("quick", "CORPUS", "--partitions", "3"), "[L581] --partitions 3"),
        (("quick", "CORPUS", "--patience", "50"), "[L581] --patience 50"),
        (
            ("quick", "CORPUS", "--set", "training.eval_frequency=5000"),
            "[L581] --set 'training.eval_frequency'",
        ),
        (("quick", "CORPUS", "--set", "training.max_epochs=5"), "[L581] --set 'training.max_epochs'"),
        (("quick", "CORPUS", "--sizes", "x"), "--sizes"),
        (("quick", "CORPUS", "--seeds", "0,a"), "--seeds"),
        (("quick", "none"), "L402"),
        (("nothing", "CORPUS"), "L402"),
        (("quick",), "L470"),
        (("paper-auc", "CORPUS", "--sizes", "4", "--folds", "3"), "L470"),
        (("quick", "CORPUS", "--steps", "20"), "L581"),
        (("quick", "CORPUS", "--steps", "0"), "--steps"),
        (
            ("quick", "CORPUS", "--steps", "100", "--set", "components.ner.haed=crf"),
            "[L438] the method 'ner'",
        ),
        (
            ("quick", "CORPUS", "--set", "training.dropout=${nope.x}"),
            "[L438] the method 'ner' cannot be trained",
        ),
        (("quick", "CORPUS", "--set", "training.patience=50"), "[L581] --set 'training.patience'"),
        (("quick", "CORPUS", "--set", "system.seed=3"), "would be ignored: use seeds instead"),
    ],
)
def test_bad_studies_are_refused(options, message, corpus, tmp_path):
    given = [str(corpus) if option == "CORPUS" else option for option in options]
    refused(["matrix", *given, "-o", tmp_path / "out", "--dry-run"], message, tmp_path / "out")


@pytest.fixture
def study_of(corpus, tmp_path):
    """Function that creates the study of one method with a config of its own."""

    def create(**settings):
        config = compose(read_base(None), {}, {"training.eval_frequency": 100, **settings})
        if settings.get("training.seed", 0) is None:
            del config["training"]["seed"]
        config.to_disk(tmp_path / "own.cfg", interpolate=False)
        methods = {"mine": {"config": str(tmp_path / "own.cfg")}}
        given = {"methods": methods, "grids": [], "corpora": [str(corpus)]}
        return create_study(read_plan("quick", given), tmp_path / "out")

    return create


@pytest.mark.parametrize("settings", [{"training.seed": None}, {"training.dropout": "${nope.x}"}])
def test_a_config_that_cannot_be_read_is_an_error_of_its_method(settings, study_of):
    study = study_of(**settings)

    with pytest.raises(ValueError, match=r"^\[L438\] the method 'mine' cannot be trained: ") as found:
        study.check(study.trials)

    assert "config.cfg" not in str(found.value) and str(found.value).count("[L") == 1


def test_an_error_with_another_code_keeps_it_and_names_the_method(study_of, monkeypatch):
    def refuse(config):
        raise ValueError("[L265] 'no/where' cannot be loaded.")

    monkeypatch.setattr(module, "check_models", refuse)
    study = study_of()

    with pytest.raises(ValueError, match=r"^\[L265\] 'no/where' cannot be loaded\..* method 'mine'"):
        study.check(study.trials)
