"""The proposals as a page to look at: sentences by type, with what the pipeline reads in them."""

from pathlib import Path
from typing import NamedTuple

from ..evaluation.report.rendering import render
from ..output.writing import write_file
from .mining import Mined
from .proposals import reason
from .scan import RANDOM
from .units import Unit


class Piece(NamedTuple):
    text: str
    label: str = ""  # empty outside entities


class Row(NamedTuple):
    pieces: list[Piece]
    reason: str
    place: str


def write_page(found: Mined, path: Path, pool: str) -> None:
    """found (Mined): What was proposed. path (Path): The HTML file. pool (str): Where it is from.

    RAISES (ValueError): L432.
    """
    groups = {name: list[Row]() for name in (*found.types, RANDOM)}
    for proposal in found.proposals:
        row = Row(_pieces(proposal.unit), reason(proposal, found.types), proposal.unit.document)
        groups[proposal.chosen_for].append(row)
    values = {"groups": {name: rows for name, rows in groups.items() if rows}, "pool": pool}
    write_file(path, render("mine.html", scan=found.scan, tail=found.types, **values))


def _pieces(unit: Unit) -> list[Piece]:
    """The text, cut at entities."""
    parts = [w + " " * s for w, s in zip(unit.words, unit.spaces, strict=True)]
    found, at = [], 0
    for start, end, label in sorted(unit.ents):
        found.append(Piece("".join(parts[at:start])))
        inside = "".join(parts[start:end])
        found.append(Piece(inside.rstrip(), label))
        found.append(Piece(inside[len(inside.rstrip()) :]))
        at = end
    found.append(Piece("".join(parts[at:])))
    return [piece for piece in found if piece.text]
