"""Encoders are found by their name, from anywhere."""

import subprocess
import sys
from importlib.metadata import distribution

import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import get_model_meta

from spacy_longtail.encoders import check_encoder, located, shipped_encoder
from spacy_longtail.training.loading import load_for_types
from tests.util import write_files

NAME = "en_longtail_cnn"
MOST_BYTES = 10_000_000


def test_spacy_finds_the_encoder_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spacy.blank("en").add_pipe("tok2vec", source=spacy.load(NAME))
    assert check_encoder(NAME) == located(NAME)
    meta = get_model_meta(located(NAME))
    assert f"{meta['lang']}_{meta['name']}" == NAME and meta["version"] == distribution(NAME).version
    files = [path for path in located(NAME).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_what_is_no_encoder_is_a_path_or_refused_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("training/model-best", "spacy", "", "${paths.x}", "__main__"):
        assert str(located(path)) == (path or ".")
    assert shipped_encoder("en") == NAME and shipped_encoder("fi") == NAME
    with pytest.raises(ValueError, match=r"L720.*en_longtail_large.*pip install"):
        check_encoder("en_longtail_large")


def test_an_installed_package_of_a_pipeline_is_found_as_spacy_package_lays_it_out(tmp_path, monkeypatch):
    package = write_files(tmp_path / "en_own_encoder", {"__init__.py": "{}", "meta.json": "{}"})
    inner = package / "en_own_encoder-1.2.3"
    spacy.blank("en").to_disk(inner)
    monkeypatch.syspath_prepend(tmp_path)
    assert check_encoder("en_own_encoder") == inner
    assert located("en_own_encoder/seen.bin") == inner / "seen.bin"


@pytest.mark.parametrize(("version", "is_known"), [("1.1.1", True), ("2.0.0", False)])
def test_an_encoder_package_of_another_major_version_is_refused(
    tmp_path, monkeypatch, version, is_known
):
    files = {"__init__.py": "", "meta.json": f'{{"version": "{version}"}}'}
    package = write_files(tmp_path / "en_longtail_trf", files)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "en_longtail_trf", raising=False)  # of a test before this one
    if is_known:
        assert check_encoder("en_longtail_trf") == package
    else:
        with pytest.raises(ValueError, match=r"L890.*2\.0\.0.*pip install 'en_longtail_trf==1\.\*'"):
            check_encoder("en_longtail_trf")


def test_the_shipped_encoder_finds_types_by_their_descriptions(tmp_path):
    nlp = spacy.load(NAME)
    nlp.get_pipe("ner").set_labels({"STORM": "named storm", "TOWN": "harbour town"})
    text = "Hurricane Isolde passed the town of Whitby on Monday ."
    nlp.to_disk(tmp_path)
    for own in (nlp, spacy.load(tmp_path)):
        doc = own(Doc(own.vocab, words=text.split()))
        assert [(e.text, e.label_) for e in doc.ents] == [
            ("Hurricane Isolde", "STORM"),
            ("Whitby", "TOWN"),
        ]
        scores = doc.spans["entity_scores"].attrs["scores"]
        assert len(scores) == 2 and all(0.5 < score <= 1 for score in scores)
    asked = load_for_types(NAME, {"STORM": "named storm"})
    assert asked.get_pipe("ner").labels == ("STORM",)
    assert [(ent.text, ent.label_) for ent in asked(text).ents] == [("Hurricane Isolde", "STORM")]


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_the_shipped_encoder_needs_no_extra():
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers', 'tokenizers'):\n"
        "    sys.modules[name] = None\n"
        "import spacy, spacy_longtail\n"
        f"nlp = spacy.load({NAME!r})\n"
        "nlp.get_pipe('ner').set_labels(['named storm'])\n"
        "print(*nlp('Hurricane Isolde passed the town of Whitby.').ents, sep=';')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Hurricane Isolde"
