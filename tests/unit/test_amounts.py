"""Numbers agree with their nouns, in messages and on pages."""

import pytest

from spacy_longtail.errors import Errors, Warnings
from spacy_longtail.output.amounts import number, verb
from spacy_longtail.output.tables import text_table


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [
        (0, ("sentence",), "0 sentences"),
        (1, ("sentence",), "1 sentence"),
        (2000, ("sentence",), "2,000 sentences"),
        (1, ("entity", "entities"), "1 entity"),
        (3, ("entity", "entities"), "3 entities"),
        (1.0, ("minute",), "1 minute"),
        (0.5, ("minute",), "0.5 minutes"),
        (30.0, ("minute",), "30 minutes"),
    ],
)
def test_a_noun_agrees_with_its_number(n, words, text):
    assert number(n, *words) == text


def test_a_verb_agrees_with_its_number():
    assert [verb(1, word) for word in ("have", "are", "occur")] == ["has", "is", "occurs"]
    assert [verb(2, word) for word in ("have", "are", "occur")] == ["have", "are", "occur"]


@pytest.mark.parametrize("text", [Errors.L446, Warnings.W040])
def test_messages_leave_the_noun_to_it(text):
    assert "{least} in each part" in text


def test_a_wide_cell_keeps_columns_apart():
    """A path or a type's name is wider than the 30 characters that wasabi aligns."""
    lines = text_table(("name", "n"), [("x" * 50, 1), ("y", 22)]).strip().splitlines()
    assert {len(line) for line in lines} == {50 + 3 + 2}
