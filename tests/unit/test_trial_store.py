"""The store of trials, and the run of one trial: what is stored, replaced and deleted."""

import json
import os
import platform

import pytest

from spacy_longtail.studies.configs.compose import read_base
from spacy_longtail.studies.trials import running, store
from spacy_longtail.studies.trials.process import ProcessEnd
from spacy_longtail.studies.trials.running import run_and_store, run_trial
from spacy_longtail.studies.trials.store import TrialStore
from spacy_longtail.studies.trials.study import TrialOptions
from spacy_longtail.studies.trials.trial import Trial, TrialMethod
from spacy_longtail.training.provenance import json_checksum
from tests.trials import record_of
from tests.util import new_file, write_files


def end(output, key, status="done", name="w", **more):
    work = new_file(output / "work" / name / "log.txt", name).parent
    TrialStore(output).finish(work, record_of(key, status, **more))


def log(output, key):
    return (TrialStore(output).place(key) / "log.txt").read_text(encoding="utf8")


def test_a_finished_trial_has_a_folder(tmp_path):
    assert TrialStore(tmp_path).records() == {}
    draw, curve = {"n_sentences": 9, "entity_share": None}, [{"step": 2, "ents_macro_f": 0.1}]
    kept = {"draw": draw, "curve": curve, "dev": {"ents_f": 0.5}, "test": {"ents_f": None}, "score": 1}
    end(tmp_path, "k", **kept)
    (record,) = TrialStore(tmp_path).records().values()
    assert record == record_of("k", **kept)
    assert {name: record.data()[name] for name in kept} == kept and log(tmp_path, "k") == "w"


def test_a_failed_trial_can_be_replaced_and_a_finished_one_cannot(tmp_path):
    for status in ("failed", "timeout", "done"):
        end(tmp_path, "k", status, name=status)
        assert TrialStore(tmp_path).records()["k"].status == status
    end(tmp_path, "k", "failed", name="second")
    assert log(tmp_path, "k") == "done" and TrialStore(tmp_path).records()["k"].status == "done"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_trial_that_another_process_just_finished_is_accepted(status, tmp_path, monkeypatch):
    def too_late(here, there):
        monkeypatch.undo()
        end(tmp_path, "k", status, name="other")
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(store.os, "rename", too_late)

    end(tmp_path, "k", status, name="own")

    assert log(tmp_path, "k") == "other"


def test_a_trial_that_cannot_be_stored_is_an_error(tmp_path, monkeypatch):
    def fail(here, there):
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(store.os, "rename", fail)

    with pytest.raises(ValueError, match=r"L432.*Permission denied"):
        end(tmp_path, "k")


def test_a_record_that_cannot_be_replaced_is_an_error(tmp_path, monkeypatch):
    """The earlier record must not count as that of another process."""
    end(tmp_path, "k", "failed", name="first")
    monkeypatch.setattr(store.shutil, "rmtree", lambda path, ignore_errors: None)

    with pytest.raises(ValueError, match="L432"):
        end(tmp_path, "k", "timeout", name="second")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "other"}', "\0\0"])
def test_an_invalid_record_is_ignored_with_a_warning(text, tmp_path):
    end(tmp_path, "k")
    (TrialStore(tmp_path).place("k") / "record.json").write_text(text, encoding="utf8")
    with pytest.warns(UserWarning, match="LW097"):
        assert TrialStore(tmp_path).records() == {}
    end(tmp_path, "k", name="again")
    assert TrialStore(tmp_path).records()["k"].status == "done"


# Runs


def stored(output, start, **given):
    """Return the record of a trial that a function runs."""
    trial = Trial(output, TrialMethod("crf", {}, read_base(None)), 0, None)
    return run_and_store(TrialStore(output), "k", trial, start, steps=4, **given)


def names_of(output, ending, *folders, **given):
    """Return the names of the files that are stored of a trial which leaves these folders."""

    def start(work):
        write_files(work, {f"{folder}/weights.bin": b"x" for folder in folders})
        return ProcessEnd(ending, 1.0, "")

    stored(output, start, **given)
    return sorted(path.name for path in TrialStore(output).place("k").iterdir())


@pytest.mark.parametrize("ending", ["failed", "timeout", "pruned"])
def test_a_trial_that_is_not_done_keeps_no_checkpoints(ending, tmp_path):
    folders = [".longtail-model-abcdefgh/new/model", "model.stopped", "model"]
    assert names_of(tmp_path, ending, *folders, keep_model=True) == ["record.json"]


@pytest.mark.parametrize("folder", ["model.stopped", ".longtail-model-abcdefgh/new/model", "model"])
def test_the_curve_of_a_failed_training_is_kept(folder, tmp_path):
    def start(work):
        line = {"step": 2, "scores": {"ents_macro_f": 50.0}}
        new_file(work / folder / "curve.jsonl", f"{json.dumps(line)}\n")
        return ProcessEnd("failed", 1.0, "Kaboom")

    record = stored(tmp_path, start)

    assert record.curve == [{"step": 2, "ents_macro_f": 0.5}]
    assert (TrialStore(tmp_path).place("k") / "curve.jsonl").is_file()


def test_the_working_folder_of_another_process_is_left_alone(tmp_path):
    machine = json_checksum(platform.node())[:6]
    theirs = new_file(tmp_path / "work" / f"k-{machine}-{os.getppid()}" / "log.txt", "theirs")
    names_of(tmp_path, "done")
    assert theirs.read_text() == "theirs"


def test_a_trial_that_is_done_keeps_its_model_if_it_should(tmp_path):
    assert names_of(tmp_path, "done", "model", "model.stopped", keep_model=True) == [
        "model",
        "record.json",
    ]


@pytest.mark.parametrize(("method", "limit"), [("ner", None), ("crf", 3.2)])
def test_a_method_can_have_a_limit_of_its_own(method, limit):
    assert TrialOptions(minutes=3.2, limits={"ner": None}).limit_of(method) == limit


def test_the_time_limit_is_that_of_the_process(tmp_path, monkeypatch):
    limits = []
    monkeypatch.setattr(running, "launch", lambda *arguments: limits.append(arguments[3]))
    trial = Trial(tmp_path, TrialMethod("crf", {}, read_base(None)), 0, None)

    run_trial(trial, tmp_path / "work", lambda: None, target=tmp_path / "k", minutes=3.2)

    assert limits == [3.2]
