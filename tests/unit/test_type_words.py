"""Types without a description are described in English by their names."""

import pytest

from spacy_longtail.corpus.type_words import type_words, words_of


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
        # English words that mean something else in another language
        *(("data", "data"), ("cargo", "cargo"), ("local", "local")),
        ("GPE", "country, state or nationality"),
        *(("PER", "person"), ("programlang", "programming language"), ("组织", "组织"), ("++", "++")),
        *((label, "creative work") for label in ("CreativeWork", "CREATIVE_WORK", "creative-work")),
        *(("cell_type", "cell type"), ("DNAPart", "dna part"), ("Covid19Test", "covid19 test")),
        ("Größe_ΑΒ", "grösse αβ"),  # casefolded
        ("WORK_OF_ART", "work of art, such as a book, film or song"),
    ],
)
def test_a_name_is_described_by_its_words_in_english(label, description):
    assert words_of(label) == description


def test_two_names_with_one_meaning_are_described_apart():
    assert type_words(["Krankheit", "Erkrankung"], {}) == {
        "Krankheit": "disease",
        "Erkrankung": "erkrankung",
    }


def test_a_given_description_wins():
    assert type_words(["Krankheit"], {"Krankheit": "rare disease"}) == {"Krankheit": "rare disease"}
