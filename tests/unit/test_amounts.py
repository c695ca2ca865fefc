"""Numbers agree with their nouns, and columns with their heads."""

import pytest

from spacy_longtail.output.amounts import number, p_value, percent, signed, verb
from spacy_longtail.output.tables import text_table


def test_numbers_agree_with_their_nouns():
    entity = ("entity", "entities")
    assert [number(n, *entity) for n in (0, 1, 2000)] == ["0 entities", "1 entity", "2,000 entities"]
    assert [number(n, "minute") for n in (1.0, 0.5)] == ["1 minute", "0.5 minutes"]
    assert [verb(1, word) for word in ("have", "are", "occur")] == ["has", "is", "occurs"]
    assert (percent(0.12345), percent(None)) == ("12.3", "–")
    assert [signed(x) for x in (1.26, -1.26, -0.01, None)] == ["+1.3", "−1.3", "0.0", "–"]
    assert [p_value(p, sign="= ") for p in (0.0001, 0.0123)] == ["< 0.001", "= 0.012"]


@pytest.mark.parametrize(
    ("aligns", "lines"),
    [
        ("", ["type      n", "----   ----", "ship      7", "a      1200"]),
        ("rl", ["type   n", "----   ----", "ship   7", "   a   1200"]),
    ],
)
def test_columns_are_aligned(aligns, lines):
    table = text_table(("type", "n"), [("ship", 7), ("a", 1200)], aligns)
    assert [line.rstrip() for line in table.strip("\n").split("\n")] == lines
    # wasabi keeps what is wider than 30 characters apart
    wide = text_table(("name", "n"), [("x" * 50, 1), ("y", 22)], aligns).strip("\n").splitlines()
    assert len({len(line) for line in wide[1:3]}) == 1
