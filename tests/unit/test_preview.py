"""What an encoder knows of a corpus's types before training."""

import pytest

from spacy_longtail.evaluation.preview import known_types, preview
from tests.util import blank, corpus_of, refused, run_app

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
