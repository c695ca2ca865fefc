"""Where a corpus stands and in which format: parts of a folder, or one file or folder without parts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from ...settings import one_of
from . import brat, columns, conllu, docbin, markup, open_types, records, table
from .context import Context, Settings
from .tag_names import Columns
from .text import GZIP, unzipped


class Format(NamedTuple):
    read: Callable[[Path, Context], Iterator[Doc]]
    suffixes: tuple[str, ...]
    heeds: tuple[str, ...]  # the settings that are not for all formats
    misaligned: str = "missing"  # unless the settings say more
    columns: tuple[str, ...] = ()  # those of `Columns` that can be named
    is_text: bool = True  # and may be gzipped


SPANS = ("encoding", "misaligned", "tokens")
UNDIVIDED = (*SPANS, "sentences")  # formats without sentence boundaries
FORMATS = {
    "columns": Format(
        columns.read_docs,
        (".iob", ".iob1", ".iob2", ".bio", ".bioes", ".bilou", ".conll", ".tsv", ".txt"),
        ("encoding", "scheme", "token_column", "tag_column", "documents"),
    ),
    "json": Format(
        records.read_docs,
        (".jsonl", ".json"),
        (*UNDIVIDED, "scheme", "columns", "tag_names", "text_key", "decisions", "offsets"),
        columns=("token", "tag"),
    ),
    "csv": Format(
        table.read_docs, (".csv",), ("encoding", "scheme", "columns"), columns=Columns._fields
    ),
    "conllu": Format(
        conllu.read_docs,
        (".conllu", ".conllup"),
        ("encoding", "scheme", "documents", "columns"),
        columns=("tag",),
    ),
    "spacy": Format(docbin.read_docs, (".spacy",), ("sentences",), is_text=False),
    "brat": Format(brat.read_docs, (".txt",), UNDIVIDED),
    "articles": Format(markup.read_docs, (".txt",), SPANS, misaligned="error"),
    "open": Format(open_types.read_docs, (".txt",), SPANS, misaligned="expand"),
}
WANTED = "Give a file, or a folder with train, dev and test, each a file PART.* or a folder PART."
OURS = ("corpus.json", "types.json", "conversion.json")  # beside a corpus, no part of it


class Part(NamedTuple):
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


def find_parts(source: Path, names: Sequence[str], settings: Settings) -> dict[str, Part]:
    """The parts of a corpus.

    source (Path): A folder with a file PART.* or a folder PART of files for some of the names; or a file
        or folder of files, which becomes the part "all".
    names (Sequence[str]): The parts to look for; the first must be there if any is.
    settings (Settings): Their format, if it is not to be found.
    RETURNS (Dict[str, Part]): By name, at least one.
    """
    one_of("format", settings.format, (None, *FORMATS))
    parts = {}
    if source.is_dir():
        beside = _visible(source.iterdir())
        for name in names:
            files = [path for path in beside if unzipped(path).stem == name]
            if (source / name).is_dir():
                parts[name] = _folder(source / name, _visible((source / name).rglob("*")), settings)
            elif _by_format(files, settings):
                parts[name] = _file(files, settings)
        if parts and names[0] not in parts:
            raise ValueError(Errors.L402.format(path=source / names[0], fix=WANTED))
        parts = parts or {"all": _folder(source, beside, settings)}
    elif source.is_file():
        parts["all"] = _file([source], settings)
    else:
        raise ValueError(Errors.L402.format(path=source, fix=WANTED))
    _refuse_ignored(parts.values(), settings)
    return parts


def _visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and p.name not in OURS)


def _folder(path: Path, files: list[Path], settings: Settings) -> Part:
    found = _by_format(files, settings)
    if not found:
        raise ValueError(Errors.L402.format(path=path / "*", fix=WANTED))
    if len(found) > 1:
        raise _ambiguous(path, [f"{of[0].name} as {name}" for name, of in found.items()])
    ((name, kept),) = found.items()
    return Part(path, name, kept)


def _file(files: list[Path], settings: Settings) -> Part:
    found = [(path, name) for name, of in _by_format(files, settings).items() for path in of]
    if not found:
        raise ValueError(Errors.L421.format(path=files[0], known=", ".join(FORMATS)))
    if len(found) > 1:
        raise _ambiguous(files[0].with_suffix(".*"), [f"{path.name} as {name}" for path, name in found])
    ((path, name),) = found
    return Part(path, name, [path])


def _ambiguous(path: Path, readings: list[str]) -> ValueError:
    return ValueError(Errors.L422.format(path=path, found=", ".join(readings)))


def _named_by(path: Path) -> list[str]:
    """The formats that a file's name may be of."""
    plain = unzipped(path)
    if plain.name == open_types.SENTENCES:
        return ["open"]
    packed = plain != path
    suffix = plain.suffix.lower()
    return [n for n, f in FORMATS.items() if suffix in f.suffixes and (f.is_text or not packed)]


def _by_format(files: list[Path], settings: Settings) -> dict[str, list[Path]]:
    """Files by the format that name and content speak for, or those that may be in the wanted one."""
    wanted = settings.format
    numbered = {path.parent for path in files if unzipped(path).name == open_types.SENTENCES}
    files = [p for p in files if not (p.parent in numbered and open_types.ANNOTATION.fullmatch(p.name))]
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
        fix = "Every .ann file needs its .txt file."
        raise ValueError(Errors.L402.format(path=text, fix=fix))
    if suffix == ".txt" and (in_brat or brat.annotation_file(path).is_file()):
        return "brat"
    if suffix == ".txt" and markup.is_article(path, settings.encoding):
        return "articles"
    if suffix == ".txt" and open_types.is_open(path, settings.encoding):
        return "open"
    if suffix == ".tsv" and settings.columns.named:
        return "csv"
    return next(iter(_named_by(path)), None)


def _refuse_ignored(parts: Iterable[Part], settings: Settings) -> None:
    """A setting that no part's format uses must be left alone."""
    used = {part.format for part in parts}
    for field in fields(settings):
        users = [name for name, known in FORMATS.items() if field.name in known.heeds]
        if users and not used & set(users) and getattr(settings, field.name) != field.default:
            name, found = field.name.replace("_", "-"), ", ".join(sorted(used))
            raise ValueError(Errors.L420.format(name=name, found=found, users=", ".join(users)))
    named, known = set(settings.columns.named), {c for name in used for c in FORMATS[name].columns}
    problem = ""
    if named - known:
        names = " and ".join(sorted(known))
        problem = f"the source is read as {', '.join(sorted(used))}, and has {names} alone"
    elif named and "csv" in used and not named >= {"token", "tag"}:
        problem = "csv needs token and tag"
    if problem:
        found = ",".join(f"{c}={getattr(settings.columns, c)}" for c in settings.columns.named)
        raise ValueError(Errors.L581.format(found=found, problem=problem))
