"""A corpus folder: converting a source into it, and its types."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

from ..errors import Errors, Warnings
from ..output.writing import check_folder, coded_io
from .boundaries import boundary_pipeline, with_boundaries, within_limit
from .conversion import REPORT, Conversion, ConvertedPart, write_conversion
from .counts import CorpusCounts
from .descriptions import (
    TYPES,
    CorpusTypes,
    Declared,
    check_open,
    merged,
    read_declared,
    read_types,
    write_types,
)
from .formats.context import Context, Events, Settings, check_losses
from .formats.docbin import Tally, stream_docs
from .formats.open_types import plain_type
from .formats.sources import FORMATS, find_parts
from .formats.spans import relabelled
from .parts import part_path, replacing_parts, write_part
from .rare import TAIL
from .tokenizers import blank

__all__ = [
    "PARTS",
    "CorpusTypes",
    "convert_corpus",
    "load_docs",
    "part_path",
    "read_types",
    "stream_docs",
    "write_corpus",
]

PARTS = ("train", "dev", "test")
MANY = 0.2  # of the spans misaligned: the tokenizer is a wrong one
PATIENCE = 2.0  # seconds before a progress bar appears


def convert_corpus(
    source: Path, target: Path, lang: str | None = None, settings: Settings | None = None
) -> CorpusTypes:
    """Write the parts of a corpus as `.spacy` files, its types, and what was left out. All or nothing.

    source (Path): A file or folder in one of the formats; a folder may have train, dev and test in it.
        corpus.json in it, or beside the file, may declare lang, tokens, labels and tail.
    lang (Optional[str]): spaCy language code; null takes corpus.json's, else "en".
    """
    settings = settings or Settings()
    with coded_io(source):
        parts = find_parts(source, PARTS, settings)
        path, declared = read_declared(source)
    is_open = settings.open or declared.open or any(part.format == "open" for part in parts.values())
    if is_open:
        check_open(path, declared)
    labels = declared.labels
    declared, renamed = merged(declared)
    if not (labels or is_open) and any(part.format == "articles" for part in parts.values()):
        raise ValueError(Errors.L407.format(path=path))
    lang = lang or declared.lang
    tokens = settings.tokens or declared.tokens
    nlp = blank(lang, tokens)
    boundaries = settings.sentences and boundary_pipeline(settings.sentences, lang, tokens)
    check_corpus_folder(target, parts)

    def name_of(label: str) -> str:
        return plain_type(label) if is_open else renamed.get(label, label)

    with replacing_parts(target, parts) as folder:
        tallies: dict[str, Tally] = {}
        report: dict[str, ConvertedPart] = {}
        happened: list[tuple[Events, str | None]] = []
        for name, part in parts.items():
            misaligned = settings.misaligned or FORMATS[part.format].misaligned
            settled = replace(settings, tokens=tokens, misaligned=misaligned)
            context = Context(nlp, settled, Events(), labels)
            found = part.read(context)
            if is_open or renamed:
                found = (relabelled(doc, name_of) for doc in found)
            if boundaries:
                found = with_boundaries(found, boundaries, part.path, context.events)
            found = within_limit(found, nlp.max_length, part.path, context.events)
            docs = tqdm(found, name, delay=PATIENCE, disable=None, leave=False)
            tallies[name] = write_part(folder, name, docs, settings.docs_per_file)
            report[name] = _reported(part.format, misaligned, tallies[name], context.events)
            happened.append((context.events, misaligned))
        if not settings.allow:
            n_entities = sum(tally.mentions.total() for tally in tallies.values())
            check_losses(source, happened, n_entities)
        types = CorpusTypes([], [], lang, tokens)
        if not is_open:
            types = _types(tallies, declared, lang, tokens)
        write_types(folder, types, is_open)
        write_conversion(folder, Conversion(lang=lang, tokens=tokens, parts=report))
    if renamed:
        which = ", ".join(f"{label} ({name})" for label, name in renamed.items())
        warnings.warn(Warnings.W035.format(path=path, which=which), stacklevel=2)
    n_spans = sum(events.n_spans for events, _ in happened)
    _warn(source, target, path, types, report, n_spans)
    return types


def _reported(form: str, misaligned: str, tally: Tally, events: Events) -> ConvertedPart:
    return ConvertedPart(
        format=form,
        misaligned=misaligned,
        documents=tally.documents,
        tokens=tally.tokens,
        mentions=dict(tally.mentions.most_common()),
        events={kind: dict(found.most_common()) for kind, found in events.counts.items()},
        examples=dict(events.examples),
    )


def _types(tallies: Mapping[str, Tally], declared: Declared, lang: str, tokens: str) -> CorpusTypes:
    found: Counter[str] = sum((tally.mentions for tally in tallies.values()), Counter())
    labels = declared.labels or CorpusCounts(mentions=found).labels
    train = next(iter(tallies.values())).mentions  # or those of the one part that there is
    tail = declared.tail or [t for t in TAIL.types(train) if t in labels]
    texts = {label: text for label, text in declared.descriptions.items() if label in labels}
    return CorpusTypes(list(labels), list(tail), lang, tokens, texts)


def _warn(
    source: Path,
    target: Path,
    declared: Path,
    types: CorpusTypes,
    report: Mapping[str, ConvertedPart],
    n_spans: int,
) -> None:
    found = []
    missing = [name for name in PARTS if name not in report and "all" not in report]
    if missing:
        found.append(Warnings.W030.format(source=source, missing=" and ".join(missing)))
    unknown = sorted({t for part in report.values() for t in part.mentions} - set(types.labels))
    if unknown and types.labels:
        found.append(Warnings.W031.format(path=declared, unknown=", ".join(unknown)))
    stale = [name for name in (*PARTS, "all") if name not in report and part_path(target, name).exists()]
    if stale:
        found.append(Warnings.W032.format(target=target, stale=" and ".join(stale)))
    n = sum(sum(part.events.get("misaligned", {}).values()) for part in report.values())
    if n > MANY * n_spans:
        found.append(Warnings.W033.format(n=n, total=n_spans, lang=types.lang))
    for text in found:
        warnings.warn(text, stacklevel=3)


def check_corpus_folder(target: Path, parts: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder whose files of these parts no command of this package wrote.

    target (Path): The folder, existing or new. parts (Iterable[str]): The parts that will be written.
    inputs (Iterable[Path]): What is read, and must not lie in the folder.
    """
    own = [TYPES, REPORT, *(name for part in parts for name in (part, f"{part}.spacy"))]

    def foreign(folder: Path) -> str:
        found = [name for name in own if (folder / name).exists()]
        try:
            read_types(folder, allow_open=True)
        except ValueError:
            return f"it holds {', '.join(found)} of another origin" if found else ""
        return ""

    check_folder(target, inputs, foreign)


def write_corpus(target: Path, parts: Mapping[str, Iterable[Doc]], types: CorpusTypes) -> None:
    """Write PART.spacy for each part, and types.json. All files or none.

    target (Path): The folder to write; files of these names in it are replaced, others kept.
    """
    with replacing_parts(target, parts) as folder:
        for part, docs in parts.items():
            write_part(folder, part, docs)
        write_types(folder, types)


def load_docs(path: Path, nlp: Language) -> list[Doc]:
    """The documents of a .spacy file or folder, in memory."""
    return list(stream_docs(path, nlp))
