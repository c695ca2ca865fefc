"""A corpus folder: converting a source into it, and its types."""

import math
import shutil
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Annotated, cast

from pydantic import AfterValidator, Field
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..output.console import number, progress
from ..output.targets import check_folder
from ..output.writing import coded_io
from ..records import Record
from .boundaries import boundary_pipeline, with_boundaries
from .descriptions import (
    TYPES,
    CorpusTypes,
    Declared,
    check_declared,
    read_declared,
    read_types,
    write_json,
    write_types,
)
from .formats.context import Context, Events, check_losses
from .formats.duplicates import Duplicates
from .formats.options import Misaligned
from .formats.sources import FORMATS, find_parts
from .names import NAMES, UTF8, Names, convert_names, number_of_names
from .parts import (  # noqa: F401  other packages import what they need of corpora from here
    all_parts,
    check_docs,
    number_with,
    part_path,
    replacing_parts,
    stream_docs,
    write_part,
)
from .rare import rare_types, tail_types
from .tokenizers import Tokens, blank

REPORT = "conversion.json"  # in a converted corpus
PARTS = ("train", "dev", "test")
PROPOSAL = "mine_id"  # key of user_data of the sentences that `merge` added


# most frequent first
Counts = Annotated[dict[str, int], AfterValidator(lambda counts: dict(Counter(counts).most_common()))]


class ConvertedPart(Record):
    format: str
    misaligned: str  # handling of spans that start or end inside a token
    documents: int
    tokens: int
    mentions: Counts  # by type
    events: dict[str, Counts]  # how often each kind of event came, by type
    examples: dict[str, list[str]]  # by kind


class Conversion(Record):
    """Record of what was read, skipped and changed: conversion.json."""

    lang: str
    tokens: str
    parts: dict[str, ConvertedPart]
    names: Counts = Field(default_factory=dict)  # number of names in the list of each type


def convert_corpus(
    source: Path,
    target: Path,
    lang: str | None = None,
    *,
    format: str | None = None,
    open_types: bool = False,
    sentences: str | Language | None = None,
    duplicates: Duplicates = "merge",
    docs_per_file: int | None = None,
    allow: bool = False,
    rare_mentions: int | None = None,
    **options: object,
) -> CorpusTypes:
    """Convert a corpus to `.spacy` files with its types and a record of everything skipped.

    All files are written, or none.

    source (Path): File or folder in one of the formats. A folder may contain train, dev and test.
        corpus.json in it, or beside the file, may declare lang, tokens, labels and tail.
    target (Path): Folder to write.
    lang (Optional[str]): spaCy language code. Defaults to that of corpus.json, else "en".
    format (Optional[str]): Name of the format. Detected by default.
    open_types (bool): Whether the corpus has free-text types, which only `pretrain` accepts.
    sentences (Optional[Union[str, Language]]): "sentencizer" or a pipeline, which sets the sentence
        boundaries of documents without any.
    duplicates (str): Handling of texts that are given several times with different annotation:
        "merge", "keep", "first" or "refuse".
    docs_per_file (Optional[int]): Number of documents per file of a part. Null writes one file.
    allow (bool): Whether more than a twentieth of the annotations may be lost.
    rare_mentions (Optional[int]): Maximum number of training mentions of a rare type; null uses
        the limit of `corpus.rare`. It must be null if the corpus declares its tail.
    **options (object): Options of the format, such as encoding="cp1252" or scheme="iob1".
    RETURNS (CorpusTypes): The types of the corpus.
    """
    with coded_io(source):
        parts, ignored = find_parts(source, PARTS, format, options)
        path, declared = read_declared(source)
    formats = {part.format for part in parts.values()}
    is_open = open_types or declared.open or "open" in formats
    check_declared(path, declared, is_open, "articles" in formats)
    _check_options(formats, sentences, rare_mentions, is_open, path, declared)
    lang, tokens = lang or declared.lang, cast(Tokens, options.get("tokens") or declared.tokens)
    nlp = blank(lang, tokens)
    boundaries = sentences and boundary_pipeline(sentences, lang, tokens)
    check_corpus_folder(target, parts)
    _check_merged(target)

    report: dict[str, ConvertedPart] = {}
    happened: list[tuple[Events, Misaligned]] = []
    with replacing_parts(target, parts, [NAMES]) as folder:
        for name, part in parts.items():
            context = Context(nlp, Events(), declared.labels, tokens)
            docs: Iterable[Doc] = part.read(context, duplicates)
            if boundaries:
                docs = with_boundaries(docs, boundaries, part.path, context.events)
            tally = write_part(folder, name, progress(_not_merged(docs), name), docs_per_file)
            report[name] = ConvertedPart(
                format=part.format,
                misaligned=part.misaligned,
                **tally._asdict(),
                events={kind: dict(counts) for kind, counts in context.events.counts.items()},
                examples=context.events.examples,
            )
            happened.append((context.events, part.misaligned))
        if not allow:
            check_losses(source, happened, sum(sum(part.mentions.values()) for part in report.values()))
        empty = CorpusTypes([], [], lang, tokens)
        types = empty if is_open else _types(report, declared, empty, rare_mentions)
        write_types(folder, types, is_open)
        names = convert_names(source, folder, nlp, str(options.get("encoding", UTF8)))
        sizes = {label: number_of_names(of_type) for label, of_type in names.items()}
        conversion = Conversion(lang=lang, tokens=tokens, parts=report, names=sizes)
        write_json(folder / REPORT, conversion.as_json())
    for file in ignored:
        warnings.warn(Warnings.W195.format(path=source, names=file.name), stacklevel=2)
    for problem in _problems(types, report, declared, names):
        warnings.warn(Warnings.W030.format(path=source, problem=problem), stacklevel=2)
    return types


def _check_options(
    formats: Set[str],
    sentences: str | Language | None,
    rare_mentions: int | None,
    is_open: bool,
    path: Path,
    declared: Declared,
) -> None:
    """Refuse options that the source leaves without effect.

    formats (Set[str]): Formats of the parts.
    sentences (Optional[Union[str, Language]]): Sets the sentence boundaries.
    rare_mentions (Optional[int]): Maximum number of training mentions of a rare type.
    is_open (bool): Whether the corpus has free-text types.
    path (Path): File of the declarations.
    declared (Declared): The declarations.
    RAISES (ValueError): L420.
    """
    if sentences and all(FORMATS[name].has_sentences for name in formats):
        problem = f"the source is read as {', '.join(sorted(formats))}, which has sentence boundaries"
        raise ValueError(Errors.L420.format(name="sentences", problem=problem))
    if rare_mentions is not None and (is_open or "tail" in declared.model_fields_set):
        problem = "free-text types are never rare" if is_open else f"{path} declares the tail"
        raise ValueError(Errors.L420.format(name="rare-mentions", problem=problem))


def _types(
    report: Mapping[str, ConvertedPart],
    declared: Declared,
    empty: CorpusTypes,
    rare_mentions: int | None,
) -> CorpusTypes:
    mentions = sum((Counter(part.mentions) for part in report.values()), Counter[str]())
    labels = declared.labels or rare_types(mentions, math.inf)
    known = set(labels)
    train = next(iter(report.values())).mentions  # or those of its only part
    has_tail = "tail" in declared.model_fields_set
    return empty._replace(
        labels=list(labels),
        tail=declared.tail if has_tail else tail_types(train, labels, rare_mentions),
        descriptions={t: text for t, text in declared.descriptions.items() if t in known},
        group_by=declared.group_by,
        other_descriptions={t: own for t, own in declared.other_descriptions.items() if t in known},
    )


def _problems(
    types: CorpusTypes, report: Mapping[str, ConvertedPart], declared: Declared, names: Names
) -> Iterator[str]:
    """Yield what is legal but probably not intended."""
    if missing := [name for name in PARTS if name not in report and "all" not in report]:
        yield (
            f"it has no {' and '.join(missing)}, which training and evaluation need. "
            "`split` makes parts of a corpus"
        )
    unknown = sorted({t for part in report.values() for t in part.mentions} - set(types.labels))
    if unknown and types.labels:
        yield (
            f"corpus.json does not declare the types {', '.join(unknown)}. "
            "They are neither scored nor counted as rare"
        )
    if strange := [label for label in names if label not in types.labels]:
        yield f"there are lists of names for {', '.join(strange)}, which are no types of the corpus"
    if described := [label for label in declared.descriptions if label not in types.labels]:
        yield (
            f"the types {', '.join(described)} have descriptions but no mention, so they are ignored. "
            "Name them in labels of corpus.json to keep them"
        )


def check_corpus_folder(target: Path, parts: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder with files of these parts that this package did not write.

    target (Path): The folder, existing or new.
    parts (Iterable[str]): The parts that will be written.
    inputs (Iterable[Path]): Files and folders that are read. None may lie in the folder.
    """
    ours = [TYPES, REPORT, *(name for part in parts for name in (part, f"{part}.spacy"))]

    def foreign(folder: Path) -> str:
        names = [name for name in ours if (folder / name).exists()]
        with suppress(ValueError):
            read_types(folder, allow_open=True)
            return ""
        return f"it holds {', '.join(names)} of another origin" if names else ""

    check_folder(target, inputs, foreign)


def _not_merged(docs: Iterable[Doc]) -> Iterator[Doc]:
    """Remove the mark of merged sentences, since exported proposals have it, too."""
    for doc in docs:
        doc.user_data.pop(PROPOSAL, None)
        yield doc


def _check_merged(target: Path) -> None:
    """Refuse to convert into a corpus to which `merge` added sentences: they would be lost."""
    n = 0
    for path in all_parts(target):
        with suppress(ValueError):  # a damaged file
            n += number_with(path, PROPOSAL)
    if n:
        added = number(n, "sentence")
        problem = f"`merge` added {added} to it. Merge their files again after the conversion"
        raise ValueError(Errors.L437.format(path=target, problem=problem))


def write_corpus(
    target: Path, parts: Mapping[str, Iterable[Doc]], types: CorpusTypes, source: Path | None = None
) -> None:
    """Write PART.spacy for each part, and types.json. All files or none.

    target (Path): The folder to write. Files of these names in it and lists of names are replaced,
        others kept.
    parts (Mapping[str, Iterable[Doc]]): The documents of each part.
    types (CorpusTypes): The types.
    source (Optional[Path]): Folder of the corpus that the documents are from, whose lists of names
        are copied.
    """
    with replacing_parts(target, parts, [NAMES]) as folder:
        for part, docs in parts.items():
            write_part(folder, part, docs)
        write_types(folder, types)
        if source is not None and (names := source / NAMES).is_file():
            shutil.copyfile(names, folder / NAMES)


def load_docs(path: Path, nlp: Language) -> list[Doc]:
    """Return the documents of a .spacy file or folder, in memory."""
    return list(stream_docs(path, nlp.vocab))
