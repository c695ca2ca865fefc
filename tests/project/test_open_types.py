"""The corpus of free-text types: what its card says, and that each of its marks can be read."""

import re
from collections import Counter
from pathlib import Path

from spacy_longtail.pretraining.donors import read_donors
from tests.util import ROOT, blank

FOLDER = ROOT / "assets" / "open_types"
MARK = re.compile(r"\[([^\[\]|]+)\|([^\[\];|]+); ([^\[\];|]+)\]")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf8").split("\n")


def test_it_is_what_its_card_says():
    files = sorted(FOLDER.glob("*.txt"))
    sentences = [line for path in files for line in lines(path)[2:] if line.strip()]
    marks = [mark for line in sentences for mark in MARK.findall(line)]
    domains = {lines(path)[0] for path in files}
    assert all(domain.startswith("domain: ") for domain in domains)
    types = {fine for _, fine, _ in marks}, {coarse for *_, coarse in marks}
    card = (FOLDER / "README.md").read_text(encoding="utf8")
    figures = [int(n.replace(",", "")) for n in re.findall(r"\| ([\d,]+) \|$", card, flags=re.M)]
    assert figures == [len(things) for things in (domains, sentences, marks, *types)]


def test_every_mark_can_be_read_and_no_sentence_comes_twice():
    [donor] = read_donors([FOLDER], [], ["train"], blank().vocab)
    texts = Counter(doc.text for doc in donor.train + donor.dev)
    assert donor.is_open and len(texts) > 1000 and max(texts.values()) == 1


def test_no_sentence_is_in_field_notes():
    strip = re.compile(r"\[([^\[\]|]+)\|[^\[\]]+\]")
    notes = {
        strip.sub(r"\1", line)
        for part in ("train", "dev", "test")
        for path in (ROOT / "assets" / "field_notes" / part).iterdir()
        for line in lines(path)
        if len(line.split()) > 4
    }
    own = {strip.sub(r"\1", line) for path in FOLDER.glob("*.txt") for line in lines(path)[2:]}
    assert len(notes) > 1000 and not notes & own
