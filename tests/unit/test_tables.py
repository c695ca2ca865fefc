"""Tables for a terminal: names to the left, numbers to the right, or as is said."""

import pytest

from spacy_longtail.output.tables import text_table

ROWS = [("ship", 7), ("a", 1200)]


@pytest.mark.parametrize(
    ("aligns", "lines"),
    [
        ("", ["type      n", "----   ----", "ship      7", "a      1200"]),
        ("rl", ["type   n", "----   ----", "ship   7", "   a   1200"]),
    ],
)
def test_columns_are_aligned(aligns, lines):
    table = text_table(("type", "n"), ROWS, aligns)
    assert [line.rstrip() for line in table.strip("\n").split("\n")] == lines
