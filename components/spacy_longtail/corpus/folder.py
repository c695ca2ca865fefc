"""A corpus folder: converting a source into it, and its types."""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator
from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

from ..errors import Errors, Warnings
from ..output.writing import check_folder, coded_io
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
from .formats.context import Context, Events, Settings, check_losses
from .formats.docbin import stream_docs
from .formats.sources import FORMATS, find_parts
from .parts import part_path, replacing_parts, write_part  # noqa: F401  # for importers
from .rare import rare_types, tail_types
from .tokenizers import blank

REPORT = "conversion.json"  # in a converted corpus
PARTS = ("train", "dev", "test")
PATIENCE = 2.0  # seconds before a progress bar appears


# most frequent first
Counts = Annotated[dict[str, int], AfterValidator(lambda counts: dict(Counter(counts).most_common()))]


class ConvertedPart(Record):
    format: str
    misaligned: str  # what became of spans that cut a token
    documents: int
    tokens: int
    mentions: Counts  # by type
    events: dict[str, Counts]  # how often each kind of event came, by type
    examples: dict[str, list[str]]  # by kind


class Conversion(Record):
    """What was read, left out and changed, as it stands in conversion.json."""

    lang: str
    tokens: str
    parts: dict[str, ConvertedPart]


def convert_corpus(
    source: Path,
    target: Path,
    lang: str | None = None,
    settings: Settings | None = None,
    rare_mentions: int | None = None,
) -> CorpusTypes:
    """Write the parts of a corpus as `.spacy` files, its types, and what was left out; or nothing.

    source (Path): A file or folder in one of the formats; a folder may have train, dev and test in
        it. corpus.json in it, or beside the file, may declare lang, tokens, labels and tail.
    lang (Optional[str]): spaCy language code; null takes corpus.json's, else "en".
    rare_mentions (Optional[int]): The largest number of training mentions of a rare type; null
        takes the limit of `corpus.rare`. A corpus that declares its tail takes none.
    """
    settings = settings or Settings()
    with coded_io(source):
        parts = find_parts(source, PARTS, settings)
        path, declared = read_declared(source)
    formats = {part.format for part in parts.values()}
    is_open = settings.open or declared.open or "open" in formats
    check_declared(path, declared, is_open, "articles" in formats)
    if rare_mentions is not None and (is_open or "tail" in declared.model_fields_set):
        problem = "open types are never rare" if is_open else f"{path} declares the tail"
        raise ValueError(Errors.L420.format(name="rare-mentions", problem=problem))
    lang, tokens = lang or declared.lang, settings.tokens or declared.tokens
    nlp = blank(lang, tokens)
    boundaries = settings.sentences and boundary_pipeline(settings.sentences, lang, tokens)
    check_corpus_folder(target, parts)

    report: dict[str, ConvertedPart] = {}
    happened: list[tuple[Events, str | None]] = []
    with replacing_parts(target, parts) as folder:
        for name, part in parts.items():
            misaligned = settings.misaligned or FORMATS[part.format].misaligned
            settled = replace(settings, tokens=tokens, misaligned=misaligned)
            context = Context(nlp, settled, Events(), declared.labels)
            docs: Iterable[Doc] = part.read(context)
            if boundaries:
                docs = with_boundaries(docs, boundaries, part.path, context.events)
            docs = tqdm(docs, name, delay=PATIENCE, disable=None, leave=False)
            tally, events = write_part(folder, name, docs, settings.docs_per_file), context.events
            record = {"format": part.format, "misaligned": misaligned, **tally._asdict()}
            record |= {"events": events.counts, "examples": events.examples}
            report[name] = ConvertedPart.model_validate(record)
            happened.append((events, misaligned))
        if not settings.allow:
            check_losses(source, happened, sum(sum(part.mentions.values()) for part in report.values()))
        empty = CorpusTypes([], [], lang, tokens)
        types = empty if is_open else _types(report, declared, empty, rare_mentions)
        write_types(folder, types, is_open)
        write_json(folder / REPORT, Conversion(lang=lang, tokens=tokens, parts=report).as_json())
    for problem in _problems(types, report, declared):
        warnings.warn(Warnings.W030.format(path=source, problem=problem), stacklevel=2)
    return types


def read_conversion(corpus: Path) -> Conversion:
    """corpus (Path): A folder that `convert` wrote."""
    return Conversion.model_validate_json((corpus / REPORT).read_bytes())


def _types(
    report: Mapping[str, ConvertedPart],
    declared: Declared,
    empty: CorpusTypes,
    rare_mentions: int | None,
) -> CorpusTypes:
    mentions = sum((Counter(part.mentions) for part in report.values()), Counter[str]())
    labels = declared.labels or rare_types(mentions, math.inf)
    train = next(iter(report.values())).mentions  # or those of the one part that there is
    tail = declared.tail
    if "tail" not in declared.model_fields_set:
        tail = tail_types(train, labels, rare_mentions)
    texts = {label: text for label, text in declared.descriptions.items() if label in labels}
    found = empty._replace(labels=list(labels), tail=list(tail), descriptions=texts)
    return found._replace(group_by=declared.group_by)


def _problems(
    types: CorpusTypes, report: Mapping[str, ConvertedPart], declared: Declared
) -> Iterator[str]:
    """Describe what is legal and probably not meant."""
    if missing := [name for name in PARTS if name not in report and "all" not in report]:
        text = "which training and evaluation need. `split` makes parts of a corpus"
        yield f"it has no {' and '.join(missing)}, {text}"
    unknown = sorted({t for part in report.values() for t in part.mentions} - set(types.labels))
    if unknown and types.labels:
        text = "They are neither scored nor counted as rare"
        yield f"corpus.json does not declare the types {', '.join(unknown)}. {text}"
    if described := [label for label in declared.descriptions if label not in types.labels]:
        text = "They have no mention: name them in labels of corpus.json to keep them"
        yield f"the descriptions of {', '.join(described)} are left out. {text}"


def check_corpus_folder(target: Path, parts: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder whose files of these parts no command of this package wrote.

    target (Path): The folder, existing or new.
    parts (Iterable[str]): The parts that will be written.
    inputs (Iterable[Path]): What is read, and must not lie in the folder.
    """
    ours = [TYPES, REPORT, *(name for part in parts for name in (part, f"{part}.spacy"))]

    def foreign(folder: Path) -> str:
        names = [name for name in ours if (folder / name).exists()]
        with suppress(ValueError):
            read_types(folder, allow_open=True)
            return ""
        return f"it holds {', '.join(names)} of another origin" if names else ""

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
    return list(stream_docs(path, nlp.vocab))
