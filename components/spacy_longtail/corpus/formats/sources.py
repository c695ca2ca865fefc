"""Where a corpus stands and in which format: parts of a folder, or one file or folder without parts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from ...settings import one_of
from . import brat, docbin, markup, records, tagged
from .columns import no_names
from .context import Context, Settings
from .text import GZIP, unzipped


class Format(NamedTuple):
    read: Callable[[Path, Context], Iterator[Doc]]
    suffixes: tuple[str, ...]
    heeds: tuple[str, ...]  # the settings that are not for all formats
    misaligned: str = "missing"  # unless the settings say more
    columns: tuple[str, ...] = ()  # those of `Columns` that can be named


COLUMN_FILES = (".iob", ".iob1", ".iob2", ".bio", ".bioes", ".bilou", ".conll", ".tsv", ".txt")
SPANS = ("encoding", "misaligned", "tokens")
UNDIVIDED = (*SPANS, "sentences")  # formats without sentence boundaries
TAGS = ("encoding", "scheme")
JSON = (*UNDIVIDED, *records.OF_TEXTS, *records.OF_TOKENS)
FORMATS = {
    "columns": Format(
        tagged.read_columns, COLUMN_FILES, (*TAGS, "token_column", "tag_column", "documents")
    ),
    "json": Format(records.read_docs, (".jsonl", ".json"), JSON, columns=("token", "tag")),
    "csv": Format(tagged.read_csv, (".csv",), (*TAGS, "columns"), columns=("token", "tag", "sentence")),
    "conllu": Format(
        tagged.read_conllu,
        (".conllu", ".conllup"),
        (*TAGS, "documents", "columns"),
        columns=("tag",),
    ),
    "spacy": Format(docbin.read_docs, (".spacy",), ("sentences",)),
    "brat": Format(brat.read_docs, (".txt",), UNDIVIDED),
    "articles": Format(markup.read_articles, (".txt",), SPANS, misaligned="error"),
    "open": Format(markup.read_open, (".txt",), SPANS, misaligned="expand"),
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
        n_docs = 0
        for path in self.files:
            for doc in FORMATS[self.format].read(path, context):
                n_docs += 1
                yield doc
        if not n_docs:
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
    parts = {}
    if source.is_dir():
        beside = _visible(source.iterdir())
        for name in names:
            files = [path for path in beside if unzipped(path).stem == name]
            if (source / name).is_dir():
                parts[name] = _part(source / name, _visible((source / name).rglob("*")), settings)
            elif _by_format(files, settings):
                parts[name] = _part(files[0], files, settings)
        if parts and names[0] not in parts:
            raise ValueError(Errors.L402.format(path=source / names[0], fix=WANTED))
        parts = parts or {"all": _part(source, beside, settings)}
    elif source.is_file():
        parts["all"] = _part(source, [source], settings)
    else:
        raise ValueError(Errors.L402.format(path=source, fix=WANTED))
    _refuse_ignored(parts.values(), settings)
    return parts


def _visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and p.name not in OURS)


def _part(path: Path, files: list[Path], settings: Settings) -> Source:
    """The files of a folder; or the one file of a part, which has several forms by mistake."""
    found = _by_format(files, settings)
    if not found and path.is_dir():
        raise ValueError(Errors.L402.format(path=path / "*", fix=WANTED))
    if len(found) == 1 and (path.is_dir() or len(next(iter(found.values()))) == 1):
        ((name, kept),) = found.items()
        return Source(path if path.is_dir() else kept[0], name, kept)
    readings = [f"{file.name} as {name}" for name, own in found.items() for file in own[:2]]
    problem = f"it can be read as {', '.join(readings)}" if found else "its name tells no format"
    raise ValueError(Errors.L421.format(path=path, problem=problem, known=", ".join(FORMATS)))


def _named_by(path: Path) -> list[str]:
    """The formats that a file's name may be of."""
    plain = unzipped(path)
    if plain.name == markup.SENTENCES:
        return ["open"]
    names = [name for name, known in FORMATS.items() if plain.suffix.lower() in known.suffixes]
    return names if plain == path else [name for name in names if name != "spacy"]


def _by_format(files: list[Path], settings: Settings) -> dict[str, list[Path]]:
    """Files by the format that name and content speak for, or those that may be in the wanted one."""
    wanted = settings.format
    numbered = {path.parent for path in files if unzipped(path).name == markup.SENTENCES}
    files = [p for p in files if p.parent not in numbered or not markup.ANNOTATION.fullmatch(p.name)]
    if wanted not in (None, "brat"):
        usual = [p for p in files if wanted in _named_by(p)]
        unknown = [p for p in files if not _named_by(p)]
        return {wanted: usual or unknown or files} if files else {}
    annotated = {path.parent for path in files if unzipped(path).suffix == ".ann"}
    found: dict[str, list[Path]] = {}
    for path in files:
        name = _detect(path, path.parent in annotated, settings)
        if name and wanted in (None, name):
            found.setdefault(name, []).append(path)
    return found


def _detect(path: Path, in_brat: bool, settings: Settings) -> str | None:
    plain = unzipped(path)
    suffix, text = plain.suffix.lower(), plain.with_suffix(".txt")
    if suffix == ".ann" and not (text.is_file() or text.with_name(f"{text.name}{GZIP}").is_file()):
        raise ValueError(Errors.L402.format(path=text, fix="Every .ann file needs its .txt file."))
    if suffix == ".txt" and (in_brat or brat.annotation_file(path).is_file()):
        return "brat"
    if suffix == ".txt" and markup.is_article(path, settings.encoding):
        return "articles"
    if suffix == ".txt" and markup.is_open(path, settings.encoding):
        return "open"
    if suffix == ".tsv" and settings.columns.named:
        return "csv"
    return next(iter(_named_by(path)), None)


def _refuse_ignored(parts: Iterable[Source], settings: Settings) -> None:
    """A setting that no part's format uses must be left alone."""
    used = {part.format for part in parts}
    read_as = ", ".join(sorted(used))
    for field in fields(settings):
        users = {name for name, known in FORMATS.items() if field.name in known.heeds}
        if users and not used & users and getattr(settings, field.name) != field.default:
            problem = f"the source is read as {read_as}, and it is for {', '.join(sorted(users))}"
            raise ValueError(Errors.L420.format(name=field.name.replace("_", "-"), problem=problem))
    named, known = set(settings.columns.named), {c for name in used for c in FORMATS[name].columns}
    if named - known or (named and "csv" in used and not named >= {"token", "tag"}):
        problem = f"{read_as} needs {' and '.join(sorted(known))}"
        raise no_names("columns", ",".join(sorted(named)), problem)
