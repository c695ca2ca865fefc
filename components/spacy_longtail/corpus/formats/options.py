"""Options of the import formats: what they share, and how the command's texts become them."""

import codecs
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import Errors
from ...settings import parse_pairs
from ..tokenizers import Tokens

CHARACTERS, UTF16 = "characters", "utf-16"  # units of character offsets
Scheme = Literal["auto", "iob1", "iob2", "bioes", "bilou"]
Misaligned = Literal["missing", "expand", "contract", "error"]
Offsets = Literal["characters", "utf-16"]
# codecs of Python for single names or literals: they cannot decode a file block by block
NO_TEXT = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")


class Columns(NamedTuple):
    """Names of columns, or of keys in JSON records. An empty one is the format's default."""

    token: str = ""
    tag: str = ""
    sentence: str = ""  # a sentence begins where its value changes


DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options of every text format.

    encoding (str): Encoding of the files, by Python's name.
    """

    encoding: str = "utf8"

    def __post_init__(self) -> None:
        try:
            " ".encode(self.encoding)
            is_text = codecs.lookup(self.encoding).name not in NO_TEXT
        except (LookupError, ValueError):
            is_text = False
        if not is_text:
            raise ValueError(
                Errors.L001.format(
                    name="encoding",
                    rule="a text encoding that Python knows",
                    value=self.encoding,
                    fix="Examples are utf8, utf-16, cp1252.",
                )
            )


@dataclass(frozen=True, kw_only=True)
class TagOptions(FileOptions):
    """Options of the formats with a tag per token.

    scheme (str): Scheme of the tags. "auto" detects all but iob1.
    """

    scheme: Scheme = "auto"


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """Options of the formats with a text and character spans.

    misaligned (str): Handling of spans that start or end inside a token: "missing" leaves the
        tokens without annotation, "expand" and "contract" move the ends as spaCy's
        `alignment_mode` does, "error" refuses them.
    tokens (Optional[str]): "words" of the language's tokenizer, or "characters". null takes what
        corpus.json declares.
    """

    misaligned: Misaligned = "missing"
    tokens: Tokens | None = None


def bad_option(option: str, given: str, problem: object) -> ValueError:
    """Return the error (L581) for an option whose value the command cannot use."""
    return ValueError(Errors.L581.format(option=option, given=given, problem=problem))


def check_columns(columns: Columns, known: set[str], required: set[str], format: str) -> None:
    """Refuse names of columns that a format does not use, or that lack one it needs.

    columns (Columns): The given names. Without any, the format has its defaults.
    known (Set[str]): Fields of `Columns` that the format uses.
    required (Set[str]): Fields that must be named if any is.
    format (str): Name of the format.
    RAISES (ValueError): L581.
    """
    named = {field for field, name in columns._asdict().items() if name}
    if named - known or (named and required - named):
        problem = f"the format {format} takes {', '.join(sorted(known))}"
        problem += f" and needs {', '.join(sorted(required))}" if required else ""
        raise bad_option("columns", ",".join(sorted(named)), problem)


def parse_columns(text: str) -> Columns:
    """Return the columns that an option names, such as token=word,tag=ner,sentence=sent_id."""
    with suppress(ValueError, TypeError):  # not a pair, or another name
        return Columns(**parse_pairs(text.split(",")))
    raise bad_option("columns", text, "write token=NAME, tag=NAME and sentence=NAME, each at most once")


def read_tag_names(text: str) -> tuple[str, ...]:
    """Return the tags that numbers stand for, in order.

    text (str): Tags separated by commas, as O,B-PER,I-PER; or a file with one tag per line.
    """
    path, names = Path(text), text.split(",")
    with suppress(OSError, ValueError):  # too long for a path, or no text
        if path.is_file():
            names = path.read_text(encoding="utf-8-sig").splitlines()
    tags = [name.strip() for name in names if name.strip()]
    if len(set(tags)) < max(len(tags), 2):
        raise bad_option(
            "tag-names", text, "expected at least two different tags, or a file with one tag per line"
        )
    return tuple(tags)
