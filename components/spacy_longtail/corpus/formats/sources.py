"""Where a corpus stands and in which format: parts of a folder, or a file or folder without."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from ...settings import one_of
from . import brat, docbin, markup, open_types, records, tables
from .context import Context, Misaligned, Settings, no_names
from .tags import Rows, tagged_docs
from .text import beside, head_of, unzipped

Read = Callable[[Path, Context], Iterator[Doc]]


class Format(NamedTuple):
    read: Read
    suffixes: tuple[str, ...]
    heeds: tuple[str, ...]  # the settings that are not for all formats
    misaligned: Misaligned = "missing"  # unless the settings say more
    columns: tuple[str, ...] = ()  # those of `Columns` that can be named


def _of_rows(rows_of: Callable[[Path, Settings], Rows]) -> Read:
    return lambda path, context: tagged_docs(rows_of(path, context.settings), context)


COLUMN_FILES = (".iob", ".iob1", ".iob2", ".bio", ".bioes", ".bilou", ".conll", ".tsv", ".txt")
CONLLU_FILES = (".conllu", ".conllup")
SPANS = ("encoding", "misaligned", "tokens")
UNDIVIDED = (*SPANS, "sentences")  # formats without sentence boundaries
TAGS = ("encoding", "scheme", "columns")
LINES = ("encoding", "scheme", "token_column", "tag_column", "documents")
JSON = (*UNDIVIDED, "text_key", "offsets", "scheme", "columns", "tag_names")
FORMATS = {
    "columns": Format(_of_rows(tables.column_rows), COLUMN_FILES, LINES),
    "json": Format(records.read_docs, (".jsonl", ".json"), JSON, columns=("token", "tag")),
    "csv": Format(_of_rows(tables.csv_rows), (".csv",), TAGS, columns=("token", "tag", "sentence")),
    "conllu": Format(_of_rows(tables.conllu_rows), CONLLU_FILES, (*TAGS, "documents"), columns=("tag",)),
    "spacy": Format(docbin.read_docs, (".spacy",), ("sentences",)),
    "brat": Format(brat.read_docs, (".txt",), UNDIVIDED),
    "articles": Format(markup.read_articles, (".txt",), SPANS, misaligned="error"),
    "open": Format(open_types.read_docs, (".txt",), SPANS, misaligned="expand"),
}
WANTED = "Give a file, or a folder with train, dev and test, each a file PART.* or a folder PART."
OURS = ("corpus.json", "types.json", "conversion.json")  # beside a corpus, no part of it


class Source(NamedTuple):
    """The files of one part, all in one format."""

    path: Path  # a file or a folder
    format: str
    files: list[Path]

    def read(self, context: Context) -> Iterator[Doc]:
        """Its documents."""
        is_empty = True
        for path in self.files:
            for doc in FORMATS[self.format].read(path, context):
                is_empty = False
                yield doc
        if is_empty:
            fix = f"Left out: {context.events.summary() or 'nothing'}."
            raise ValueError(Errors.L403.format(path=self.path, fix=fix))


def find_parts(source: Path, names: Sequence[str], settings: Settings) -> dict[str, Source]:
    """The parts of a corpus.

    source (Path): A folder with a file PART.* or a folder PART of files for some of the names; or a
        file or folder of files, which becomes the part "all".
    names (Sequence[str]): The parts to look for; the first must be there if any is.
    settings (Settings): Their format, if it is not to be found.
    RETURNS (Dict[str, Source]): By name, at least one.
    """
    one_of("format", settings.format, (None, *FORMATS))
    if not source.exists():
        raise ValueError(Errors.L402.format(path=source, fix=WANTED))
    parts: dict[str, Source] = {}
    files = _visible(source.iterdir()) if source.is_dir() else [source]
    for name in names if source.is_dir() else ():
        same = [path for path in files if unzipped(path).stem == name]
        if (source / name).is_dir():
            parts[name] = _part(source / name, _visible((source / name).rglob("*")), settings)
        elif _by_format(same, settings):
            parts[name] = _part(same[0], same, settings)
    if parts and names[0] not in parts:
        raise ValueError(Errors.L402.format(path=source / names[0], fix=WANTED))
    parts = parts or {"all": _part(source, files, settings)}
    _refuse_ignored({part.format for part in parts.values()}, settings)
    return parts


def _visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and p.name not in OURS)


def _part(path: Path, files: list[Path], settings: Settings) -> Source:
    """The files of a folder; or the one file of a part, which has several forms by mistake."""
    by_format = _by_format(files, settings)
    if not by_format and path.is_dir():
        raise ValueError(Errors.L402.format(path=path / "*", fix=WANTED))
    readings = [f"{file.name} as {name}" for name, files in by_format.items() for file in files[:2]]
    if len(by_format) == 1 and (path.is_dir() or len(readings) == 1):
        ((name, kept),) = by_format.items()
        return Source(path if path.is_dir() else kept[0], name, kept)
    problem = f"it can be read as {', '.join(readings)}" if readings else "its name tells no format"
    raise ValueError(Errors.L421.format(path=path, problem=problem, known=", ".join(FORMATS)))


def _by_format(files: list[Path], settings: Settings) -> dict[str, list[Path]]:
    """Files by the format of their name and content, or those that may be in the wanted one."""
    wanted = settings.format
    if wanted and files:
        usual = [path for path in files if wanted in _by_suffix(path)]
        return {wanted: usual or [path for path in files if not _by_suffix(path)] or files}
    annotated = {path.parent for path in files if unzipped(path).suffix == ".ann"}
    by_format: dict[str, list[Path]] = {}
    for path in files:
        if name := _detect(path, path.parent in annotated, settings):
            by_format.setdefault(name, []).append(path)
    return by_format


def _by_suffix(path: Path) -> list[str]:
    """The formats that a file's name may be of."""
    plain = unzipped(path)
    names = (name for name, known in FORMATS.items() if plain.suffix.lower() in known.suffixes)
    return [name for name in names if plain == path or name != "spacy"]


def _detect(path: Path, in_brat: bool, settings: Settings) -> str | None:
    suffix, text = unzipped(path).suffix.lower(), beside(path, f"{unzipped(path).stem}.txt")
    if suffix == ".ann" and not text.is_file():
        raise ValueError(Errors.L402.format(path=text, fix="Every .ann file needs its .txt file."))
    if unzipped(path).name == open_types.SENTENCES and any(path.parent.glob("ann*.txt*")):
        return None  # their lists are read with them
    if suffix == ".tsv" and settings.columns.named:
        return "csv"
    if suffix != ".txt":
        return next(iter(_by_suffix(path)), None)
    head = head_of(path, settings.encoding)
    if in_brat or brat.annotation_file(path).is_file():
        return "brat"
    if head.startswith("title: "):
        return "articles"
    return "open" if open_types.is_open(path, head) else "columns"


def _refuse_ignored(used: set[str], settings: Settings) -> None:
    """A setting that no part's format uses must be left alone. used (Set[str]): The formats."""
    read_as = ", ".join(sorted(used))
    for field in fields(settings):
        users = {name for name, known in FORMATS.items() if field.name in known.heeds}
        if users and not used & users and getattr(settings, field.name) != field.default:
            problem = f"the source is read as {read_as}, and it is for {', '.join(sorted(users))}"
            raise ValueError(Errors.L420.format(name=field.name.replace("_", "-"), problem=problem))
    named, known = settings.columns.named, {c for name in used for c in FORMATS[name].columns}
    if named - known or (named and "csv" in used and not named >= {"token", "tag"}):
        problem = f"{read_as} needs {' and '.join(sorted(known))}"
        raise no_names("columns", ",".join(sorted(named)), problem)
