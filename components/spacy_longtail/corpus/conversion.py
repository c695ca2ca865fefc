"""What was read, left out and changed in a conversion, as it stands in conversion.json."""

from pathlib import Path

from ..records import Record
from .descriptions import write_json

REPORT = "conversion.json"  # in a converted corpus


class ConvertedPart(Record):
    format: str
    misaligned: str  # what became of spans that cut a token
    documents: int
    tokens: int
    mentions: dict[str, int]  # by type, most frequent first
    events: dict[str, dict[str, int]]  # how often each kind of event came, by type
    examples: dict[str, list[str]]  # by kind


class Conversion(Record):
    lang: str
    tokens: str
    parts: dict[str, ConvertedPart]


def write_conversion(corpus: Path, found: Conversion) -> None:
    """corpus (Path): The folder. found (Conversion): What conversion.json is to say."""
    write_json(corpus / REPORT, found.as_json())


def read_conversion(corpus: Path) -> Conversion:
    """corpus (Path): A folder that `convert` wrote."""
    return Conversion.model_validate_json((corpus / REPORT).read_bytes())
