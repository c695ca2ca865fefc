"""Keys of trials: which settings and files of a trial are in its key."""

import json
import shutil

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_longtail.studies.trials import key as module
from spacy_longtail.studies.trials.key import code_version, config_content, corpus_version, trial_key
from spacy_longtail.studies.trials.plan import read_plan
from tests.util import SENTENCES, new_file, parse, toy_corpus, write_files

PLAN = "steps: 100\nseeds: 1\ngrids: [{head: softmax}]\n"


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny")


def keys_of(tmp_path, corpus, text=PLAN, **given):
    path = new_file(tmp_path / "plan.yml", text)
    trials = read_plan(str(path), {"corpora": [str(corpus)], **given}).trials()
    return [trial_key(trial.make_config(), corpus_version(corpus)) for trial in trials]


@pytest.mark.parametrize("name", ["initialize.vectors", "components.ner.source", "paths.vectors"])
def test_a_file_counts_by_its_content_wherever_a_config_names_it(name, tmp_path, corpus):
    def key(place):
        (found,) = keys_of(tmp_path, corpus, settings={name: str(place)})
        module.content_of.cache_clear()
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
        module.content_of.cache_clear()
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
    monkeypatch.setattr(module, "installed_versions", lambda: {"spacy": "9.9"})
    code_version.cache_clear()

    after = keys_of(tmp_path, corpus)

    code_version.cache_clear()
    assert after != before
