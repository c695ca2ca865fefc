"""A corpus folder: converting a source into it, its types, and which of them are rare."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

from ..counts import CorpusCounts
from ..errors import Errors, Warnings
from ..writing import check_folder, coded_io
from .descriptions import TYPES, CorpusTypes, read_declared, read_types, write_json, write_types
from .formats.context import Context, Events, Settings
from .formats.docbin import Tally, stream_docs
from .formats.sources import FORMATS, find_parts
from .parts import part_path, replacing_parts, write_part
from .tokenizers import blank

__all__ = [
    "PARTS",
    "CorpusTypes",
    "convert_corpus",
    "load_docs",
    "part_path",
    "rare_sentences",
    "rare_types",
    "read_types",
    "stream_docs",
    "write_corpus",
]

PARTS = ("train", "dev", "test")
REPORT = "conversion.json"  # in a converted corpus: what was read, left out and changed
TAIL_SHARE = 0.1  # of the most frequent type's mentions
MANY = 0.2  # of the spans misaligned: the tokenizer is a wrong one
PATIENCE = 2.0  # seconds before a progress bar appears


def rare_types(counts: CorpusCounts) -> list[str]:
    """Types with at most a tenth of the mentions of the most frequent; else the rarest third, or one."""
    labels = counts.labels
    if not labels:
        return []
    most = counts.mentions[labels[0]]
    rare = [t for t in labels if counts.mentions[t] <= TAIL_SHARE * most]
    return rare or labels[-max(1, len(labels) // 3) :]


def convert_corpus(
    source: Path, target: Path, lang: str | None = None, settings: Settings | None = None
) -> CorpusTypes:
    """Write the parts of a corpus as `.spacy` files, its types, and what was left out. All or nothing.

    source (Path): A file or folder in one of the formats; a folder may have train, dev and test in it.
        corpus.json in it, or beside the file, may declare lang, tokens, labels and tail.
    target (Path): The folder to write.
    lang (Optional[str]): spaCy language code; null takes corpus.json's, else "en".
    settings (Optional[Settings]): How to read and write.
    RETURNS (CorpusTypes): The types.
    RAISES (ValueError): L401 to L404, L407, L420 to L437.
    """
    settings = settings or Settings()
    with coded_io(source):
        parts = find_parts(source, PARTS, settings)
        path, declared = read_declared(source)
    labels = declared.get("labels", [])
    if not labels and any(part.format == "articles" for part in parts.values()):
        raise ValueError(Errors.L407.format(path=path))
    lang = lang or declared.get("lang", "en")
    tokens = settings.tokens or declared.get("tokens", "words")
    nlp = blank(lang, tokens)
    check_corpus_folder(target, parts)
    with replacing_parts(target, parts) as folder:
        tallies: dict[str, Tally] = {}
        report: dict[str, Any] = {}
        for name, part in parts.items():
            misaligned = settings.misaligned or FORMATS[part.format].misaligned
            settled = replace(settings, tokens=tokens, misaligned=misaligned)
            context = Context(nlp, settled, Events(), labels)
            docs = tqdm(part.read(context), name, delay=PATIENCE, disable=None, leave=False)
            tallies[name] = write_part(folder, name, docs, settings.docs_per_file)
            report[name] = _reported(part.format, misaligned, tallies[name], context.events)
        types = _types(tallies, declared, lang, tokens)
        write_types(folder, types)
        write_json(folder / REPORT, {"lang": lang, "tokens": tokens, "parts": report})
    _warn(source, target, path, types, report)
    return types


def _reported(form: str, misaligned: str, tally: Tally, events: Events) -> dict[str, Any]:
    """What conversion.json says of a part: how often each kind of event came, by type, and examples."""
    return {
        "format": form,
        "misaligned": misaligned,
        "documents": tally.documents,
        "tokens": tally.tokens,
        "mentions": dict(tally.mentions.most_common()),
        "events": {kind: dict(found.most_common()) for kind, found in events.counts.items()},
        "examples": events.examples,
    }


def _types(
    tallies: Mapping[str, Tally], declared: Mapping[str, Any], lang: str, tokens: str
) -> CorpusTypes:
    found: Counter[str] = sum((tally.mentions for tally in tallies.values()), Counter())
    labels = declared.get("labels") or CorpusCounts(mentions=found).labels
    train = next(iter(tallies.values()))  # or the one part that there is
    tail = declared.get("tail") or rare_types(CorpusCounts(mentions=train.mentions))
    texts = {label: text for label, text in declared.get("descriptions", {}).items() if label in labels}
    return CorpusTypes(list(labels), list(tail), lang, tokens, texts)


def _warn(
    source: Path, target: Path, declared: Path, types: CorpusTypes, report: Mapping[str, Any]
) -> None:
    found = []
    missing = [name for name in PARTS if name not in report and "all" not in report]
    if missing:
        found.append(Warnings.W030.format(source=source, missing=" and ".join(missing)))
    unknown = sorted({t for part in report.values() for t in part["mentions"]} - set(types.labels))
    if unknown:
        found.append(Warnings.W031.format(path=declared, unknown=", ".join(unknown)))
    stale = [name for name in (*PARTS, "all") if name not in report and part_path(target, name).exists()]
    if stale:
        found.append(Warnings.W032.format(target=target, stale=" and ".join(stale)))
    n = sum(sum(part["events"].get("misaligned", {}).values()) for part in report.values())
    total = n + sum(sum(part["mentions"].values()) for part in report.values())
    if n > MANY * total:
        found.append(Warnings.W033.format(n=n, total=total, lang=types.lang))
    for text in found:
        warnings.warn(text, stacklevel=3)


def check_corpus_folder(target: Path, parts: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder whose files of these parts no command of this package wrote.

    target (Path): The folder, existing or new. parts (Iterable[str]): The parts that will be written.
    inputs (Iterable[Path]): What is read, and must not lie in the folder.
    RAISES (ValueError): L432, L434, L436, L437.
    """
    own = [TYPES, REPORT, *(name for part in parts for name in (part, f"{part}.spacy"))]

    def foreign(folder: Path) -> str:
        found = [name for name in own if (folder / name).exists()]
        try:
            read_types(folder)
        except ValueError:
            return f"it holds {', '.join(found)} of another origin" if found else ""
        return ""

    check_folder(target, inputs, foreign)


def write_corpus(target: Path, parts: Mapping[str, Iterable[Doc]], types: CorpusTypes) -> None:
    """Write PART.spacy for each part, and types.json. All files or none.

    target (Path): The folder to write; files of these names in it are replaced, others kept.
    parts (Mapping[str, Iterable[Doc]]): Documents of each part, by its name.
    types (CorpusTypes): The types of the corpus.
    RAISES (ValueError): L432, L433, L434, L435.
    """
    with replacing_parts(target, parts) as folder:
        for part, docs in parts.items():
            write_part(folder, part, docs)
        write_types(folder, types)


def load_docs(path: Path, nlp: Language) -> list[Doc]:
    """The documents of a .spacy file or folder, in memory. RAISES (ValueError): L402, L403, L404."""
    return list(stream_docs(path, nlp))


def rare_sentences(docs: Iterable[Doc], tail: Iterable[str]) -> int:
    """Sentences that hold a rare type."""
    rare = set(tail)
    return sum(any(ent.label_ in rare for ent in sent.ents) for doc in docs for sent in doc.sents)
