"""The store of trials: which settings and files are in the key of a trial, and its records."""

import json
import os
import platform
import shutil

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_longtail.studies.configs.compose import read_base
from spacy_longtail.studies.trials import store
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.process import ProcessEnd
from spacy_longtail.studies.trials.store import (
    TrialStore,
    code_version,
    config_content,
    corpus_version,
    trial_key,
)
from spacy_longtail.studies.trials.trial import Trial, TrialMethod
from spacy_longtail.training.provenance import json_checksum
from tests.trials import record_of
from tests.util import SENTENCES, new_file, parse, toy_corpus, write_files

PLAN = "steps: 100\nseeds: 1\ngrids: [{head: softmax}]\n"


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny")


def keys_of(tmp_path, corpus, text=PLAN, **given):
    path = new_file(tmp_path / "plan.yml", text)
    trials = read_plan(str(path), {"corpora": [str(corpus)], **given}).trials()
    return [trial_key(trial.config(), corpus_version(corpus)) for trial in trials]


@pytest.mark.parametrize("name", ["initialize.vectors", "components.ner.source", "paths.vectors"])
def test_a_file_counts_by_its_content_wherever_a_config_names_it(name, tmp_path, corpus):
    def key(place):
        (found,) = keys_of(tmp_path, corpus, settings={name: str(place)})
        store.content_of.cache_clear()
        return found

    folder = write_files(tmp_path / "vectors", {"vectors.bin": b"one"})
    moved = shutil.copytree(folder, tmp_path / "there" / tmp_path.name / "vectors")
    first = key(folder)
    assert key(moved) == first
    (folder / "vectors.bin").write_bytes(b"two")
    assert key(folder) != first
    assert key("/home/a/vectors/en") == key("/mnt/b/vectors/en") != key("/mnt/b/vectors/de")


@pytest.mark.parametrize("start", ["./", "{cwd}/"])
def test_a_path_that_exists_has_one_key_however_it_is_written(start, tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "x" / "model", {"weights.bin": b"one"})
    plain, written = (
        keys_of(tmp_path, corpus, settings={"paths.pretrained": f"{before}x/model"})
        for before in ("", start.format(cwd=tmp_path))
    )
    assert plain == written


def test_a_file_in_a_list_counts_by_its_content(tmp_path, corpus):
    def key():
        store.content_of.cache_clear()
        return keys_of(tmp_path, corpus, settings={"nlp.files": [str(tmp_path / "names.txt")]})

    new_file(tmp_path / "names.txt", "Oslo")
    before = key()
    new_file(tmp_path / "names.txt", "Bergen")

    assert key() != before


def test_lists_without_paths_are_in_the_key_as_they_are():
    config = {"nlp": {"pipeline": ["tok2vec", "ner"], "sizes": [1, 0.5, None], "more": ({"x": "a/b"},)}}

    content = config_content(Config(config))

    assert content == {
        "nlp": {"pipeline": ["tok2vec", "ner"], "sizes": [1, 0.5, None], "more": [{"x": "a/b"}]},
        "paths": {},
        "files": {},
    }


def test_a_trial_keeps_its_key(tmp_path, corpus):
    (first,) = keys_of(tmp_path, corpus)
    assert len(first) == 16 and keys_of(tmp_path, corpus, seeds=[3, 0])[1] == first
    assert keys_of(tmp_path, shutil.copytree(corpus, tmp_path / "elsewhere" / "other")) == [first]


@pytest.mark.parametrize(
    "given",
    [
        {"seeds": [1]},
        {"steps": 101},
        {"grids": [{"head": "crf"}]},
        {"settings": {"training.dropout": 0.3}},
        {"settings": {"paths.vectors": "x"}},
        {"sizes": [100], "partitions": 1, "seeds": None},
        {"shares": [0.1], "partitions": 1, "seeds": None},
    ],
)
def test_each_setting_is_in_the_key(given, tmp_path, corpus):
    text = PLAN.replace("seeds: 1\n", "") if "partitions" in given else PLAN
    (found,) = keys_of(tmp_path, corpus, text, **given)
    assert [found] != keys_of(tmp_path, corpus)


ONE_DOCUMENT = DocBin(docs=[parse(spacy.blank("en"), SENTENCES[0])]).to_bytes()
TYPES = {"labels": ["PER", "GEO", "ART", "NAT"], "tail": ["NAT"], "lang": "en", "tokens": "words"}
CHANGES = {"labels": ["PER", "NAT"], "tail": [], "lang": "xx", "tokens": "characters"}


@pytest.mark.parametrize(
    ("name", "content", "is_in_key"),
    [
        *((f"{part}.spacy", ONE_DOCUMENT, True) for part in ("train", "dev", "test")),
        *(("types.json", json.dumps({**TYPES, key: own}), True) for key, own in CHANGES.items()),
        ("names.jsonl", '{"label": "GEO", "pattern": "Oslo"}\n', True),
        ("types.json", json.dumps(TYPES), False),
        ("conversion.json", '{"read": "yesterday"}', False),
    ],
)
def test_each_part_of_the_corpus_is_in_the_key(name, content, is_in_key, tmp_path, corpus):
    before = keys_of(tmp_path, corpus)
    new_file(corpus / name, content)
    assert (keys_of(tmp_path, corpus) != before) == is_in_key


def test_the_installed_versions_are_in_the_key(tmp_path, corpus, monkeypatch):
    before = keys_of(tmp_path, corpus)
    monkeypatch.setattr(store, "installed_versions", lambda: {"spacy": "9.9"})
    code_version.cache_clear()

    after = keys_of(tmp_path, corpus)

    code_version.cache_clear()
    assert after != before


# Records


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


# Training


def train(output, ending, *folders, **given):
    """Train a trial that leaves these folders, and return what is stored of it."""

    def start(work):
        write_files(work, {f"{folder}/weights.bin": b"x" for folder in folders})
        return ProcessEnd(ending, 1.0, "")

    plain = TrialMethod("crf", {}, read_base(None))
    TrialStore(output).train("k", Trial(output, plain, 0, None), start, steps=4, **given)
    return sorted(path.name for path in TrialStore(output).place("k").iterdir())


@pytest.mark.parametrize("ending", ["failed", "timeout", "pruned"])
def test_a_trial_that_is_not_done_keeps_no_checkpoints(ending, tmp_path):
    folders = [".longtail-model-abcdefgh/new/model", "model.stopped", "model"]
    assert train(tmp_path, ending, *folders, keep_model=True) == ["record.json"]


@pytest.mark.parametrize("folder", ["model.stopped", ".longtail-model-abcdefgh/new/model", "model"])
def test_the_curve_of_a_failed_training_is_kept(folder, tmp_path):
    def start(work):
        line = {"step": 2, "scores": {"ents_macro_f": 50.0}}
        new_file(work / folder / "curve.jsonl", f"{json.dumps(line)}\n")
        return ProcessEnd("failed", 1.0, "Kaboom")

    trial = Trial(tmp_path, TrialMethod("crf", {}, read_base(None)), 0, None)

    record = TrialStore(tmp_path).train("k", trial, start, steps=4)

    assert record.curve == [{"step": 2, "ents_macro_f": 0.5}]
    assert (TrialStore(tmp_path).place("k") / "curve.jsonl").is_file()


def test_the_working_folder_of_another_process_is_left_alone(tmp_path):
    machine = json_checksum(platform.node())[:6]
    theirs = new_file(tmp_path / "work" / f"k-{machine}-{os.getppid()}" / "log.txt", "theirs")
    train(tmp_path, "done")
    assert theirs.read_text() == "theirs"


def test_a_trial_that_is_done_keeps_its_model_if_it_should(tmp_path):
    assert train(tmp_path, "done", "model", "model.stopped", keep_model=True) == ["model", "record.json"]
