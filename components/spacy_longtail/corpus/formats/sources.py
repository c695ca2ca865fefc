"""Sources of a corpus: which files form a part, in which format, and their documents."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple, Protocol

from spacy.tokens import Doc

from ...errors import Errors
from ..descriptions import DECLARED, TYPES
from ..names import NAMES
from . import bioc, docbin, inline, records, standoff, tables
from .context import Context
from .duplicates import Duplicates, single_copies
from .options import FileOptions, Misaligned, SpanOptions
from .spans import Text, text_doc
from .text import Place, beside, check_foreign, head_of, unzipped

Given = Mapping[str, object]  # options of formats, by name
# tells whether a file has a format, from its path, its first characters and its folder's suffixes
Sniff = Callable[[Path, str, set[str]], bool]


class Reader(Protocol):
    """Reader of a format: a frozen dataclass whose fields are the options of the format."""

    def read(self, path: Path, context: Context) -> Iterator[Doc | Text]:
        """Yield the documents of a file, or texts with spans, which become documents."""


class Format(NamedTuple):
    """Import format.

    reader (Callable): Dataclass that reads it.
    suffixes (Tuple[str, ...]): Suffixes of its files.
    sniff (Optional[Callable]): Tells whether a file with such a suffix has the format, from its
        first bytes and without the options. null holds for all files that no other format claims.
    has_sentences (bool): Whether the documents have sentence boundaries.
    """

    reader: Callable[..., Reader]
    suffixes: tuple[str, ...]
    sniff: Sniff | None = None
    has_sentences: bool = True

    @property
    def options(self) -> set[str]:
        """Return the names of its options."""
        return {field.name for field in fields(self.reader)}  # type: ignore[arg-type]


COLUMN_FILES = (".iob", ".iob1", ".iob2", ".bio", ".bioes", ".bilou", ".conll", ".tsv", ".txt")
FORMATS = {
    "columns": Format(tables.ColumnReader, COLUMN_FILES),
    "json": Format(records.JsonReader, (".jsonl", ".json"), has_sentences=False),
    "csv": Format(tables.CsvReader, (".csv", ".tsv")),
    "conllu": Format(tables.ConlluReader, (".conllu", ".conllup")),
    "spacy": Format(docbin.DocBinReader, (".spacy",), has_sentences=False),
    "brat": Format(standoff.BratReader, (".txt",), standoff.is_brat, has_sentences=False),
    "articles": Format(inline.ArticleReader, (".txt",), inline.is_article),
    "open": Format(inline.OpenReader, (".txt",), inline.is_open),
    "pubtator": Format(
        standoff.PubtatorReader, (".txt", ".pubtator"), standoff.is_pubtator, has_sentences=False
    ),
    "opennlp": Format(inline.OpennlpReader, (".txt", ".train"), inline.is_opennlp),
    "bioc": Format(bioc.BiocReader, (".xml",), bioc.is_bioc, has_sentences=False),
    "xmi": Format(standoff.XmiReader, (".xmi",), has_sentences=False),
}
WANTED = "Give a file, or a folder with train, dev and test, each a file PART.* or a folder PART."
OURS = (DECLARED, TYPES, "conversion.json", NAMES)  # beside a corpus, no part of it
ALIASES = {"dev": ("valid", "validation", "val", "devel", "development")}


class Source(NamedTuple):
    """Files of one part, all in one format.

    path (Path): The file or folder.
    format (str): A name of FORMATS.
    files (List[Path]): The files, in order.
    reader (Reader): The format's reader with its options.
    """

    path: Path
    format: str
    files: list[Path]
    reader: Reader

    @property
    def misaligned(self) -> Misaligned:
        """Return the handling of misaligned spans; formats without spans have the default."""
        reader = self.reader
        return reader.misaligned if isinstance(reader, SpanOptions) else SpanOptions.misaligned

    def read(self, context: Context, duplicates: Duplicates = "keep") -> Iterator[Doc]:
        """Yield the documents.

        context (Context): Context of the conversion.
        duplicates (str): Handling of texts that are given several times.
        RAISES (ValueError): L403 if there are none, L830 for copies that contradict each other.
        """
        context = context._replace(misaligned=self.misaligned)
        is_empty = True
        has_texts = isinstance(self.reader, SpanOptions) and not FORMATS[self.format].has_sentences
        items = single_copies(self.path, self._items, context, duplicates if has_texts else "keep")
        for item in items:
            doc = text_doc(item, context) if isinstance(item, Text) else item
            if doc is None:
                continue
            is_empty = False
            if len(doc) and doc[-1].idx + len(doc[-1]) > context.nlp.max_length:
                place = item.place if isinstance(item, Text) else Place(self.path, 0)
                context.events.add("long", "documents", place, f"{doc.text[:40]!r}...")
            yield doc
        if is_empty:
            raise ValueError(
                Errors.L403.format(
                    path=self.path, fix=f"Skipped: {context.events.summary() or 'nothing'}."
                )
            )

    def _items(self, context: Context) -> Iterator[Doc | Text]:
        for path in self.files:
            yield from self.reader.read(path, context)


class Found(NamedTuple):
    """Parts of a corpus by name, and the files beside them that are in no part."""

    parts: dict[str, Source]
    ignored: list[Path]


def find_parts(
    source: Path, names: Sequence[str], format: str | None = None, given: Given | None = None
) -> Found:
    """Return the parts of a corpus.

    source (Path): A folder with a file PART.* or a folder PART of files for some of the names; or a
        file or folder of files, which becomes the part "all". valid and validation stand for dev.
    names (Sequence[str]): The parts to look for; the first is required if any is there.
    format (Optional[str]): A name of FORMATS; null detects the format.
    given (Optional[Mapping[str, object]]): Options of formats. Each part gets those that its format
        has.
    RETURNS (Found): At least one part.
    RAISES (ValueError): L402, L421 and L831 for files that cannot be read, L420 for options that no
        part has.
    """
    if format not in (None, *FORMATS):
        rule, fix = f"one of {', '.join(map(repr, (None, *FORMATS)))}", "Use one of them."
        raise ValueError(Errors.L001.format(name="format", rule=rule, value=format, fix=fix))
    given = given or {}
    FileOptions(encoding=str(given.get("encoding", FileOptions.encoding)))  # checked before it is used
    if not source.exists():
        raise ValueError(Errors.L402.format(path=source, fix=WANTED))
    parts: dict[str, Source] = {}
    files = _visible(source.iterdir()) if source.is_dir() else [source]
    for name in names if source.is_dir() else ():
        for stem in (name, *ALIASES.get(name, ())):
            folder, same = source / stem, [path for path in files if unzipped(path).stem == stem]
            if name not in parts and folder.is_dir():
                parts[name] = _part(folder, _visible(folder.rglob("*")), format, given)
            elif name not in parts and _by_format(same, format, given):
                parts[name] = _part(same[0], same, format, given)
    if parts and names[0] not in parts:
        raise ValueError(Errors.L402.format(path=source / names[0], fix=WANTED))
    used = {path for part in parts.values() for path in part.files}
    ignored = [path for path in files if parts and path not in used and _by_suffix(path)]
    parts = parts or {"all": _part(source, files, format, given)}
    _refuse_ignored({part.format for part in parts.values()}, given)
    return Found(parts, ignored)


def _visible(paths: Iterable[Path]) -> list[Path]:
    """Return the files that may be parts: neither hidden nor declarations of the corpus."""
    return sorted(p for p in paths if p.is_file() and p.name[0] != "." and p.name not in OURS)


def _part(path: Path, files: list[Path], format: str | None, given: Given) -> Source:
    """Return a part, refusing files of several formats and several files of a part."""
    by_format = _by_format(files, format, given)
    for file in files if not by_format else ():
        check_foreign(file, _head(file, given))
    if not by_format and path.is_dir():
        raise ValueError(Errors.L402.format(path=path / "*", fix=WANTED))
    readings = [f"{file.name} as {name}" for name, files in by_format.items() for file in files[:2]]
    if len(by_format) == 1 and (path.is_dir() or len(readings) == 1):
        ((name, kept),) = by_format.items()
        own = {option: given[option] for option in given.keys() & FORMATS[name].options}
        return Source(path if path.is_dir() else kept[0], name, kept, FORMATS[name].reader(**own))
    problem = f"it can be read as {', '.join(readings)}" if readings else "its name tells no format"
    raise ValueError(Errors.L421.format(path=path, problem=problem, known=", ".join(FORMATS)))


def _by_format(files: list[Path], format: str | None, given: Given) -> dict[str, list[Path]]:
    """Return files by their format, detected by name and content, or as wanted."""
    if format and files:
        usual = [path for path in files if format in _by_suffix(path)]
        return {format: usual or [path for path in files if not _by_suffix(path)] or files}
    suffixes, names = defaultdict[Path, set[str]](set), defaultdict[Path, list[str]](list)
    for path in files:
        suffixes[path.parent].add(unzipped(path).suffix)
        names[path.parent].append(path.name)
    by_format: dict[str, list[Path]] = {}
    for path in files:
        if inline.is_sentences(path, names[path.parent]):
            continue
        if name := _detect(path, suffixes[path.parent], given):
            by_format.setdefault(name, []).append(path)
    return by_format


def _head(path: Path, given: Given) -> str:
    return head_of(path, str(given.get("encoding", FileOptions.encoding)))


def _by_suffix(path: Path) -> list[str]:
    """Return the formats that a file may have by its name."""
    plain = unzipped(path)
    names = (name for name, known in FORMATS.items() if plain.suffix.lower() in known.suffixes)
    return [name for name in names if plain == path or name != "spacy"]


def _detect(path: Path, siblings: set[str], given: Given) -> str | None:
    """Return the format of a file, or None if its name tells none."""
    suffix, text = unzipped(path).suffix.lower(), beside(path, f"{unzipped(path).stem}.txt")
    if suffix == ".ann" and not text.is_file():
        raise ValueError(Errors.L402.format(path=text, fix="Every .ann file needs its .txt file."))
    names = _by_suffix(path)
    if not names:
        return None
    head = "" if suffix == ".spacy" else _head(path, given)
    check_foreign(path, head)
    for name in names:
        sniff = FORMATS[name].sniff
        if sniff and sniff(path, head, siblings):
            return name
    rest = [name for name in names if not FORMATS[name].sniff]
    knowing = [name for name in rest if given.keys() <= FORMATS[name].options]
    return next(iter(knowing or rest), None)


def _refuse_ignored(used: set[str], given: Given) -> None:
    """Refuse an option that no part's format has.

    used (Set[str]): Formats of the parts.
    given (Mapping[str, object]): The options.
    """
    for name in given:
        users = sorted(known for known, form in FORMATS.items() if name in form.options)
        if not used & {*users}:
            problem = f"the source is read as {', '.join(sorted(used))}"
            problem += f"; the option is of {', '.join(users)}" if users else "; no format has it"
            raise ValueError(Errors.L420.format(name=name.replace("_", "-"), problem=problem))
