"""Text files in any encoding, gzipped or not, places in them, and formats that no reader reads."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast
from xml.etree import ElementTree

from ...errors import Errors

GZIP = ".gz"
HEAD_SIZE = 4096  # number of bytes by which a format is recognised
BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
ENCODING = "Name the file's encoding, as --encoding cp1252 for files of older Windows programs."


class Place(NamedTuple):
    """Place in a source file, as errors and examples name it."""

    path: Path
    line: int  # from 1; 0 in an array of records
    record: int = 0  # from 1, in an array of records

    @property
    def within(self) -> str:
        """Return the place without the path: the line, the record or both."""
        record = f"record {self.record}" if self.record else ""
        return ", ".join(filter(None, [str(self.line or ""), record]))

    def __str__(self) -> str:
        return f"{self.path}:{self.within}"


def unreadable(place: Place, problem: object, fix: str) -> ValueError:
    """Return the error (L401) for what cannot be read at a place."""
    return ValueError(Errors.L401.format(path=place.path, line=place.within, problem=problem, fix=fix))


def unzipped(path: Path) -> Path:
    """Return a path without .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP else path


def beside(path: Path, name: str) -> Path:
    """Return the path of a file in the same folder, gzipped if only that one exists."""
    plain, packed = path.with_name(name), path.with_name(f"{name}{GZIP}")
    return packed if packed.is_file() and not plain.is_file() else plain


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if unzipped(path) != path else path.open("rb")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, gzipped or not.

    RAISES (ValueError): If it is no intact gzip file (L401).
    """
    try:
        with _open(path) as file:
            yield file
    except BROKEN_GZIP as error:
        raise unreadable(
            Place(path, 1),
            f"this is not an intact gzip file: {error}",
            "Copy it again, or unpack it yourself.",
        ) from error


@contextmanager
def open_text(
    path: Path, encoding: str, newline: str | None = None, fix: str = ENCODING
) -> Iterator[IO[str]]:
    """Open a text file for reading, gzipped or not. A byte order mark of UTF-8 is skipped.

    path (Path): The file.
    encoding (str): Encoding, by Python's name.
    newline (Optional[str]): Handling of line ends, as in Python's open: null turns them into
        newlines, "" keeps them.
    fix (str): What to do if the file is in another encoding.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the file there."))
    name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        with _opened(path) as source, io.TextIOWrapper(source, name, newline=newline) as file:
            yield file
    except UnicodeError as error:
        raise unreadable(
            Place(path, _bad_line(path, name)),
            f"this is not {encoding}: {getattr(error, 'reason', error)}",
            fix,
        ) from error


def _bad_line(path: Path, encoding: str) -> int:
    """Return the line of the first byte that cannot be decoded: Python decodes blocks."""
    with (
        suppress(UnicodeError, *BROKEN_GZIP),
        io.TextIOWrapper(_open(path), encoding, errors="replace") as file,
    ):
        return next((i for i, line in enumerate(file, 1) if "\ufffd" in line), 1)
    return 1


def head_of(path: Path, encoding: str) -> str:
    """Return the text of the first bytes of a file, as far as it can be decoded."""
    head = b""
    with suppress(*BROKEN_GZIP), _open(path) as file:
        head = file.read(HEAD_SIZE)
    return head.decode(encoding, "ignore").lstrip("\ufeff")


def lines(path: Path, encoding: str, fix: str = ENCODING) -> Iterator[tuple[Place, str]]:
    """Yield the lines of a file without their ends, each after its place."""
    with open_text(path, encoding, fix=fix) as file:
        for i, line in enumerate(file, 1):
            yield Place(path, i), line.rstrip("\n")


def xml_elements(path: Path, tag: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of an XML file with a tag, each cleared after its use, and the root last.

    path (Path): The file, gzipped or not. XML names its own encoding.
    RAISES (ValueError): L401, if it is no XML.
    """
    with _opened(path) as file:
        try:
            for _, element in ElementTree.iterparse(file):
                if element.tag == tag:
                    yield element
                    element.clear()
        except (ElementTree.ParseError, LookupError, ValueError) as error:  # of an encoding, too
            line, _ = getattr(error, "position", (1, 0))
            raise unreadable(
                Place(path, line), f"this is no XML: {error}", "Export the file again."
            ) from error


def read_text(path: Path, encoding: str, newline: str | None = None) -> str:
    """Return the text of a whole file."""
    with open_text(path, encoding, newline) as file:
        return file.read()


# name, suffixes, possible beginnings of the file, advice
FOREIGN: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    (
        "Parquet",
        (".parquet",),
        (),
        "Write JSON with pandas: pandas.read_parquet(PATH).to_json('train.jsonl', orient='records',"
        " lines=True).",
    ),
    (
        "WebAnno TSV",
        (),
        ("#FORMAT=WebAnno",),
        "Export UIMA CAS XMI from INCEpTION or WebAnno instead, which convert reads.",
    ),
    (
        "UIMA CAS JSON",
        (".json",),
        ('{"%TYPES"', '"%FEATURE_STRUCTURES"'),
        "Export UIMA CAS XMI instead, which convert reads, or write it with the Python package"
        " dkpro-cassis: load_cas_from_json(file).to_xmi('a.xmi').",
    ),
    (
        "Rasa's NLU format",
        (".yml", ".yaml", ".md"),
        ("nlu:", "## intent"),
        "Write JSON with Rasa, which convert reads: rasa data convert nlu -f json --data PATH --out"
        " train.json.",
    ),
    (
        "GATE XML",
        (".xml",),
        ("<GateDocument",),
        "Load it with the Python package gatenlp, Document.load(PATH, fmt='gatexml'), and write one JSON"
        " object per document: text, spans.",
    ),
    (
        "tagtog's ann.json",
        (),
        ('{"annotatable"', '{"anncomplete"'),
        "It holds no text: write one JSON object per document with the text of its .plain.html file and"
        " spans.",
    ),
    ("a ZIP archive", (".zip",), (), "Unpack it, and name the folder."),
    ("an Excel file", (".xlsx", ".xls"), (), "Save it as CSV."),
    (
        "a pickle",
        (".pkl", ".pickle"),
        (),
        "Write JSON: a list of [text, {'entities': [[start, end, type], ...]}] as spaCy 2 was trained"
        " on is read.",
    ),
)


def check_foreign(path: Path, head: str) -> None:
    """Refuse a file of a known format without a reader, and name a program that converts it.

    path (Path): The file.
    head (str): Its first characters.
    RAISES (ValueError): L831.
    """
    # JSON is compared without its white space
    compact = "".join(head[:400].split(" ")).replace("\n", "") if head.lstrip()[:1] == "{" else head
    for name, suffixes, beginnings, advice in FOREIGN:
        is_named = not suffixes or unzipped(path).suffix.lower() in suffixes
        if is_named and (not beginnings or any(begin in compact[:400] for begin in beginnings)):
            raise ValueError(Errors.L831.format(path=path, format=name, fix=advice))
