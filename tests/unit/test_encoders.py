"""Encoders are found by their name, from anywhere, and say what they know of a corpus's types."""

import sys
from importlib.metadata import distribution

import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import get_model_meta

from spacy_longtail.encoders import check_encoder, located, shipped_encoder
from spacy_longtail.evaluation.preview import known_types, preview
from spacy_longtail.training.loading import load_for_types
from tests.util import blank, corpus_of, refused, run_app, run_python, write_files

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
    assert run_python(code).strip() == "Hurricane Isolde"


# What an encoder knows of a corpus's types before training

DESCRIPTIONS = {"STORM": "named storm", "TOWN": "harbour town", "GADGET": "device"}


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(
        tmp_path / "corpus",
        labels=DESCRIPTIONS,
        descriptions=DESCRIPTIONS,
        train=["Storm [Ida|STORM] left the town of [Whitby|TOWN] on Monday ."],
        dev=["[Hurricane Isolde|STORM] passed the town of [Hull|TOWN] on Monday ."],
    )


def test_each_type_has_its_mentions_its_zero_shot_f1_and_its_nearest_known_type(corpus):
    rows = {row.label: row for row in preview(corpus, "en_longtail_cnn").types}
    found = {label: (row.mentions, row.support, row.f) for label, row in rows.items()}
    assert found == {"STORM": (1, 1, 1.0), "TOWN": (1, 1, 1.0), "GADGET": (0, 0, 0.0)}
    words, cosine = rows["GADGET"].nearest[0]  # whose description is that of a known type
    assert words == "device" and cosine == pytest.approx(1.0, abs=1e-4)


def test_the_known_types_are_those_of_donors_and_of_free_text():
    assert {"programming language", "football club"} <= set(known_types())


def test_stats_shows_what_an_encoder_knows(corpus):
    output = run_app("stats", corpus, "--encoder", "en_longtail_cnn").output
    assert "What en_longtail_cnn knows of the types" in output
    assert "device (1.00)" in output
    assert "not what your corpus means by them" in " ".join(output.split())


def test_stats_refuses_an_encoder_beside_json(corpus):
    refused(["stats", corpus, "--encoder", "en_longtail_cnn", "--json"], "L420")


def test_stats_says_how_to_name_another_encoder(corpus, tmp_path):
    blank().to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match=r"L274.*stats.*DescribedTypes.*found nothing.* --encoder"):
        preview(corpus, str(tmp_path / "blank"))
