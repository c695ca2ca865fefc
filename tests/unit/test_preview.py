"""What an encoder knows of a corpus's types before training."""

import pytest

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.evaluation.preview import known_types, preview
from tests.util import blank, parse, refused, run_app

DESCRIPTIONS = {"STORM": "named storm", "TOWN": "harbour town", "GADGET": "device"}


@pytest.fixture
def corpus(tmp_path):
    nlp = blank()
    train = [parse(nlp, "Storm [Ida|STORM] left the town of [Whitby|TOWN] on Monday .")]
    dev = [parse(nlp, "[Hurricane Isolde|STORM] passed the town of [Hull|TOWN] on Monday .")]
    for doc in train + dev:
        doc.set_ents(doc.ents, default="outside")
    types = CorpusTypes(list(DESCRIPTIONS), [], "en", descriptions=DESCRIPTIONS)
    write_corpus(tmp_path / "corpus", {"train": train, "dev": dev}, types)
    return tmp_path / "corpus"


def test_each_type_has_its_mentions_and_its_zero_shot_f1(corpus):
    rows = {row.label: row for row in preview(corpus, "en_longtail_cnn").types}
    assert (rows["STORM"].mentions, rows["STORM"].support, rows["STORM"].f) == (1, 1, 1.0)
    assert (rows["TOWN"].mentions, rows["TOWN"].support, rows["TOWN"].f) == (1, 1, 1.0)
    assert (rows["GADGET"].mentions, rows["GADGET"].support, rows["GADGET"].f) == (0, 0, 0.0)


def test_the_nearest_known_type_of_a_known_description_is_itself(corpus):
    rows = {row.label: row for row in preview(corpus, "en_longtail_cnn").types}
    words, cosine = rows["GADGET"].nearest[0]
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
