"""What makes a trial another one, and what does not."""

import shutil
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_longtail.studies.trials import keys
from spacy_longtail.studies.trials.keys import code_version, corpus_version, trial_key
from spacy_longtail.studies.trials.plan import read_plan
from tests.util import SENTENCES, parse, toy_corpus

PLAN = "steps: 100\nseeds: 1\ngrids: [{head: softmax}]\n"


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny")


@pytest.mark.parametrize("name", ["initialize.vectors", "components.ner.source", "paths.vectors"])
def test_a_file_counts_by_its_content_wherever_a_config_names_it(name, tmp_path, corpus):
    def key(place):
        (found,) = keys_of(tmp_path, corpus, settings={name: str(place)})
        keys.content_of.cache_clear()
        return found

    for place, text in (("a", "one"), ("b", "one"), ("c", "two")):
        folder = tmp_path / place / "vectors" / "en"
        folder.mkdir(parents=True)
        (folder / "vocab").write_text(text)
    a, b, c = (key(tmp_path / place / "vectors" / "en") for place in "abc")
    assert a == b != c
    assert key("/" + "x" * 5000)  # no file can have such a name


def keys_of(tmp_path, corpus, text=PLAN, **given):
    path = tmp_path / "plan.yml"
    path.write_text(text, encoding="utf8")
    trials = read_plan(str(path), {"corpora": [str(corpus)], **given}).trials()
    return [trial_key(trial, corpus_version(corpus)) for trial in trials]


def test_a_trial_keeps_its_key(tmp_path, corpus):
    (first,) = keys_of(tmp_path, corpus)
    assert len(first) == 16 and keys_of(tmp_path, corpus) == [first]
    assert keys_of(tmp_path, corpus, seeds=[3, 0])[1] == first
    elsewhere = shutil.copytree(corpus, tmp_path / "elsewhere" / "other")
    assert keys_of(tmp_path, elsewhere) == [first]


def test_two_corpora_keep_their_keys_apart(tmp_path, corpus):
    version = corpus_version(corpus)
    found = {**version, "train": version["dev"]}
    (trial,) = read_plan(str(write(tmp_path)), {"corpora": [str(corpus)]}).trials()
    assert trial_key(trial, found) != trial_key(trial, version)


def write(tmp_path):
    (tmp_path / "plan.yml").write_text(PLAN, encoding="utf8")
    return tmp_path / "plan.yml"


@pytest.mark.parametrize(
    "given",
    [
        {"seeds": [1]},
        {"steps": 101},
        {"settings": {"training.dropout": 0.3}},
        {"settings": {"paths.vectors": "en_core_web_lg"}},
        {"settings": {"components.tok2vec.model.width": 64}},
        {"grids": [{"head": "crf"}]},
        {"grids": [{"head": "softmax", "reader": "sC"}]},
        {"sizes": [100], "partitions": 1, "seeds": None},
        {"shares": [0.1], "partitions": 1, "seeds": None},
    ],
    ids=str,
)
def test_each_setting_is_in_the_key(given, tmp_path, corpus):
    text = PLAN.replace("seeds: 1\n", "") if "partitions" in given else PLAN
    (found,) = keys_of(tmp_path, corpus, text, **given)
    assert [found] != keys_of(tmp_path, corpus)


@pytest.mark.parametrize(
    "change", ["train", "dev", "test", "labels", "tail", "lang", "tokens", "conversion"]
)
def test_each_part_of_the_corpus_is_in_the_key(change, tmp_path, corpus):
    before = keys_of(tmp_path, corpus)
    if change in ("train", "dev", "test"):
        DocBin(docs=[parse(spacy.blank("en"), SENTENCES[0])]).to_disk(corpus / f"{change}.spacy")
    elif change == "conversion":
        srsly.write_json(corpus / "conversion.json", {"read": "yesterday"})
    else:
        values = {"labels": ["PER", "NAT"], "tail": [], "lang": "xx", "tokens": "characters"}
        found = srsly.read_json(corpus / "types.json")
        srsly.write_json(corpus / "types.json", {**found, change: values[change]})
    assert (keys_of(tmp_path, corpus) == before) == (change == "conversion")


def test_a_corpus_without_a_part(tmp_path, corpus):
    (corpus / "dev.spacy").unlink()
    with pytest.raises(ValueError, match=r"L402.*dev.*train, dev and test"):
        corpus_version(corpus)


def test_absolute_paths_are_the_same_elsewhere(tmp_path, corpus):
    found = [
        keys_of(tmp_path, corpus, settings={"paths.vectors": path})[0]
        for path in ("/home/a/vectors/en", "/mnt/b/vectors/en", "/mnt/b/vectors/de")
    ]
    assert found[0] == found[1] != found[2]


def test_a_config_without_paths(tmp_path, corpus):
    (trial,) = read_plan(str(write(tmp_path)), {"corpora": [str(corpus)]}).trials()
    del trial.method.config["paths"]
    assert trial_key(trial, corpus_version(corpus))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package whose version is taken."""
    shutil.copytree(keys.PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "PACKAGE", tmp_path / "package")
    return tmp_path / "package"


def version():
    return code_version.__wrapped__()


def test_the_code_that_trains_is_in_the_version(package):
    assert version() == version() != ""
    assert version() == version()
    before = version()
    for name in ("losses/focal.py", "training/train.py", "evaluation/evaluate.py", "corpus/counts.py"):
        path = package / name
        text = path.read_bytes()
        path.write_bytes(text + b"\n# changed\n")
        assert version() != before, name
        path.write_bytes(text)
        assert version() == before
    (package / "losses" / "focal.py").rename(package / "losses" / "focus.py")
    assert version() != before


def test_what_reports_is_not(package):
    before = version()
    for name in ("cli/matrix.py", "evaluation/report/page.py", "evaluation/significance/paired.py"):
        path = package / name
        path.write_bytes(path.read_bytes() + b"\n# changed\n")
    assert version() == before


def test_what_is_left_out_is_there():
    assert all((keys.PACKAGE / name).exists() for name in keys.IDLE)


def test_installed_versions_are(monkeypatch):
    before = version()
    monkeypatch.setattr(keys, "versions", lambda: {"spacy": "9.9"})
    assert version() != before


def test_the_version_is_of_this_package():
    assert Path(spacy.__file__).parent != keys.PACKAGE and (keys.PACKAGE / "errors.py").is_file()


def test_the_content_of_a_file_that_a_config_names_counts(tmp_path, corpus):
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / "vectors.bin").write_bytes(b"one")
    given = {"settings": {"paths.vectors": str(folder)}}
    first = keys_of(tmp_path, corpus, **given)
    moved = shutil.copytree(folder, tmp_path / "there" / tmp_path.name / "vectors")
    assert keys_of(tmp_path, corpus, settings={"paths.vectors": str(moved)}) == first
    (folder / "vectors.bin").write_bytes(b"two")
    keys.content_of.cache_clear()  # one command reads it once
    assert keys_of(tmp_path, corpus, **given) != first
    named = keys_of(tmp_path, corpus, settings={"paths.vectors": "en_core_web_lg"})
    assert named != first and len(named) == 1


def test_a_file_of_the_working_folder_counts_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = Config({"components": {"embed": {"clusters": "paths.txt", "mode": "spacy.Tok2Vec.v2"}}})
    contents = []
    for text in ("one", "two"):
        Path("paths.txt").write_text(text, encoding="utf8")
        keys.content_of.cache_clear()
        contents.append(keys.config_content(config)["files"])
    assert contents[0] != contents[1] and list(contents[0]) == ["components.embed.clusters"]
