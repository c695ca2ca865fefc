"""Pipelines that earlier versions saved are read by this one, and find what they found."""

import json
import re
import tempfile
from importlib.util import find_spec

import pytest
import srsly
from packaging.version import Version

from spacy_longtail.about import __version__
from spacy_longtail.training.loading import load_pipeline
from tests.contracts import saved
from tests.contracts.pipe_cases import PIPES
from tests.util import ROOT, run_script

SCRIPT = ROOT / "scripts" / "fixtures.py"
UNRELEASED = {"longtail_gazetteer"}  # first saved by the release that has it
ALL = list(saved.all_saved())
TOLERANCE = 1e-4  # of a score: machines multiply in another order


@pytest.mark.usefixtures("no_pickle")
@pytest.mark.parametrize("one", ALL, ids=[f"{one.version}-{one.name}" for one in ALL])
def test_an_earlier_version_s_pipeline_finds_the_same(one):
    for package in saved.needs(one.name):
        pytest.importorskip(package)
    nlp, expected = saved.load(one.path)
    docs = [nlp(row["text"]) for row in expected]
    for doc, row in zip(docs, expected, strict=True):
        found = saved.seen(doc)
        scores, own = found.pop("scores"), row.pop("scores")
        assert {"text": doc.text, **found} == row
        assert scores.keys() == own.keys()
        for key, values in own.items():
            assert scores[key] == pytest.approx(values, abs=TOLERANCE)
    assert sum(bool(row["ents"] or any(row["spans"].values())) for row in expected) >= 3
    for doc, again in zip(docs, nlp.pipe([row["text"] for row in expected]), strict=True):
        assert saved.seen(again)["ents"] == saved.seen(doc)["ents"]


def test_each_version_saved_all_its_pipelines():
    by_version = {}
    for one in ALL:
        by_version.setdefault(one.version, set()).add(one.name)
    if not by_version:
        pytest.skip("no version since 0.3 is released")
    newest = max(by_version, key=Version)
    assert Version(newest) <= Version(__version__)
    names = set(map(saved.folder_name, saved.SAVED))
    assert {name.partition("-")[0] for name in by_version[newest]} >= set(PIPES) - UNRELEASED
    if newest == __version__:
        assert by_version[newest] == names


def test_settings_of_an_earlier_version_are_named(tmp_path):
    saved.can_save()["longtail_token_ner-softmax"](tmp_path / "one")
    config = tmp_path / "one" / "config.cfg"
    factory = 'factory = "longtail_token_ner"\n'
    text = config.read_text(encoding="utf8")
    config.write_text(text.replace(factory, factory + 'typed = true\nrepair = "begin"\n'))
    with pytest.raises(ValueError, match=r"L408.*earlier version.*typed, repair.*config\.cfg"):
        load_pipeline(tmp_path / "one")


def test_what_is_kept_is_small_and_names_no_folder_of_a_machine(tmp_path):
    for one in ALL:
        sizes = [path.stat().st_size for path in one.path.rglob("*") if path.is_file()]
        assert sum(sizes) < 130 * 1024, one.path
    places = re.compile(r"/(?:tmp|home|root|opt|var|Users)/")
    for one in ALL:
        for path in one.path.rglob("*"):
            if path.name == "cfg" or path.suffix in (".cfg", ".json"):
                assert not places.search(path.read_text(encoding="utf8")), path
    (tmp_path / "cfg").write_text(f'{{"model": "{tempfile.gettempdir()}/gliner1/encoder", "n": 1}}')
    saved.without_folders(tmp_path)
    assert json.loads((tmp_path / "cfg").read_text()) == {"model": "tiny", "n": 1}


def test_a_version_is_written_once(tmp_path):
    (tmp_path / __version__).mkdir()
    result = run_script(SCRIPT, tmp_path)
    assert result.exit_code == 1 and "stays as it was" in result.output
    assert not list((tmp_path / __version__).iterdir())


def test_what_is_saved_is_what_was_trained(tmp_path):
    """Writer and reader agree on one pipe; the others take as long to train as their contract."""
    saved.can_save()["longtail_token_ner-softmax"](tmp_path / "one")
    nlp, expected = saved.load(tmp_path / "one")
    assert expected[0]["ents"]
    assert [json.loads(json.dumps(saved.seen(nlp(row["text"])))) for row in expected] == [
        {key: value for key, value in row.items() if key != "text"} for row in expected
    ]
    assert srsly.read_json(tmp_path / "one" / "meta.json")["lang"] == "en"
    assert find_spec("torch") is None or set(map(saved.folder_name, saved.TORCH)) <= set(
        saved.can_save()
    )
