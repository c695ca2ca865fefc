"""What `evaluate` and its like accept: installed packages, and types under other names."""

import json
import shutil
import sys

import pytest
import srsly

from spacy_longtail.training.pretrained import SEEN_FILE
from tests.util import corpus_of, invoke, one_pipe, refused, run_app, tiny_cnn, toy_corpus, write_files


@pytest.fixture
def pipeline(tmp_path):
    """Finds Maria and Jon as PERSON, and Oslo as GEO."""
    nlp = one_pipe("entity_ruler", "ruler")
    patterns = [("PERSON", "Maria"), ("PERSON", "Jon"), ("GEO", "Oslo")]
    nlp.get_pipe("ruler").add_patterns([{"label": label, "pattern": name} for label, name in patterns])
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def annotated(folder, person="PER", place="GEO"):
    """A corpus that calls persons and places what it likes."""
    texts = [
        f"[Maria|{person}] saw [Oslo|{place}] .",
        f"[Oslo|{place}] was far .",
        f"[Jon|{person}] met [Maria|{person}] .",
    ]
    return corpus_of(folder, [person, place], train=texts, dev=texts, test=texts)


def flat(text):
    return " ".join(text.split())


def test_other_names_of_types_are_said_with_the_option_that_maps_them(tmp_path, pipeline):
    result = run_app("evaluate", pipeline, annotated(tmp_path / "c"))
    said = flat(result.stderr)
    assert "[LW199]" in said and "PERSON (3)" in said
    assert "--map PERSON=PER" in said


def test_no_type_in_common_is_refused(tmp_path, pipeline):
    corpus = annotated(tmp_path / "c", "PER", "LOC")
    result = refused(
        ["evaluate", pipeline, corpus, "-o", tmp_path / "m.json"], "L841", tmp_path / "m.json"
    )
    assert "--map PERSON=PER --map GEO=LOC" in flat(result.stderr)


def test_mapped_types_are_scored_under_the_names_of_the_corpus(tmp_path, pipeline):
    corpus, out = annotated(tmp_path / "c", "PER", "LOC"), tmp_path / "m.json"
    names = ["--map", "PERSON=PER", "--map", "GEO=LOC"]
    result = run_app("evaluate", pipeline, corpus, *names, "-o", out)
    found = srsly.read_json(out)
    assert found["scores"]["ents_macro_f"] == 1.0
    assert found["names"] == {"PERSON": "PER", "GEO": "LOC"}
    assert "LW199" not in result.stderr


def test_a_mapping_that_has_no_effect_or_no_type_is_said(tmp_path, pipeline):
    corpus = annotated(tmp_path / "c", "PER")
    names = ["--map", "PERSON=PER", "--map", "PRODUCT=GEO"]
    assert "[LW200] --map PRODUCT=GEO" in flat(run_app("evaluate", pipeline, corpus, *names).stderr)
    names = ["--map", "PERSON=PEOPLE", "--map", "GEO=LAND"]
    said = flat(refused(["evaluate", pipeline, corpus, *names], "L840").stderr)
    assert "to LAND, PEOPLE, which" in said and "declares PER, GEO." in said
    assert invoke("evaluate", pipeline, corpus, "--map", "PERSON").exit_code == 2


@pytest.fixture
def package(tmp_path, pipeline, monkeypatch):
    """The pipeline as `spacy package` lays it out, on the path."""
    meta = {**srsly.read_json(pipeline / "meta.json"), "name": "garden", "version": "0.0.0"}
    files = {
        "en_garden/meta.json": json.dumps(meta),
        "en_garden/__init__.py": "from spacy.util import load_model_from_init_py\n"
        "def load(**settings):\n    return load_model_from_init_py(__file__, **settings)\n",
        "en_garden-0.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: en_garden\nVersion: 0.0.0\n",
    }
    site = write_files(tmp_path / "site", files)
    shutil.copytree(pipeline, site / "en_garden" / "en_garden-0.0.0")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "en_garden", raising=False)
    return "en_garden"


def test_an_installed_package_is_evaluated_under_its_name(tmp_path, package):
    corpus, out = annotated(tmp_path / "c", "PERSON"), tmp_path / "m.json"
    run_app("evaluate", package, corpus, "-o", out, "--before", package)
    found = srsly.read_json(out)
    assert (found["name"], found["model"]) == ("en_garden", "en_garden")
    assert found["scores"]["ents_macro_f"] == 1.0


def test_other_commands_load_an_installed_package(tmp_path, package):
    """They then refuse this one, which has no scores; not that it does not exist."""
    corpus = annotated(tmp_path / "c", "PERSON")
    refused(["thresholds", package, corpus, "-o", tmp_path / "t"], "L255")
    refused(["thresholds", package, corpus, "--in-place"], "L842")
    other = ["ensemble", package, tmp_path / "model", "-o", tmp_path / "e"]
    refused(other, "L514")
    metrics = tmp_path / "metrics"
    run_app("stats", corpus, "-o", metrics / "stats.json")
    run_app("evaluate", package, corpus, "-o", metrics / "a.json")
    card = ["evaluate", metrics, "--report", tmp_path / "r.html", "--card", package]
    assert "Model card" in run_app(*card).output


def test_an_encoder_is_evaluated_on_the_types_of_the_corpus(tmp_path):
    """Without training, by their descriptions, as `mine` takes it."""
    corpus, out = toy_corpus(tmp_path / "c"), tmp_path / "m.json"
    encoder = tiny_cnn(tmp_path / "encoder")
    (encoder / SEEN_FILE).write_bytes(b"")  # as `pretrain` leaves it
    run_app("evaluate", encoder, corpus, "-o", out)
    labels = {label for doc in srsly.read_json(out)["documents"] for *_, label, _ in doc["predicted"]}
    assert labels <= {"PER", "GEO", "ART", "NAT"}
