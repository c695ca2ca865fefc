"""Types without a description are described in English by their names."""

import pytest

from spacy_longtail.corpus.type_words import in_words, words_of


@pytest.mark.parametrize(
    ("label", "description"),
    [
        ("Krankheit", "disease"),
        ("MALADIE", "disease"),
        ("enfermedad", "disease"),
        ("Malattia", "disease"),
        ("ziekte", "disease"),
        ("doença", "disease"),
        ("Choroba", "disease"),
        ("Straße", "street"),
        ("numero_de_dossier", "case number"),
        ("Organizacion", "organization, company or institution"),
    ],
)
def test_a_common_name_in_another_language_is_described_in_english(label, description):
    assert words_of(label) == description


def test_an_english_word_keeps_its_english_meaning():
    assert [words_of(label) for label in ("data", "cargo", "local")] == ["data", "cargo", "local"]


def test_two_names_with_one_meaning_are_described_apart():
    assert in_words(["Krankheit", "Erkrankung"], {}) == {
        "Krankheit": "disease",
        "Erkrankung": "erkrankung",
    }


def test_a_given_description_wins():
    assert in_words(["Krankheit"], {"Krankheit": "rare disease"}) == {"Krankheit": "rare disease"}
