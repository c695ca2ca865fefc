"""A corpus folder: its parts on disk, its types, and which of them are rare."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from .counts import CorpusCounts, count_docs
from .errors import Errors
from .formats.iob import read_docs
from .formats.markup import article_doc, read_articles

PARTS = ("train", "dev", "test")
TYPES = "types.json"  # in a converted corpus: its types and the rare ones
TAIL_SHARE = 0.1  # of the most frequent type's mentions


class CorpusTypes(NamedTuple):
    labels: list[str]  # most frequent first, unless declared
    tail: list[str]  # the rare ones
    lang: str = "en"  # of the tokenizer


def rare_types(counts: CorpusCounts) -> list[str]:
    """Types with at most a tenth of the mentions of the most frequent; else the rarest third, or one."""
    labels = counts.labels
    if not labels:
        return []
    most = counts.mentions[labels[0]]
    rare = [t for t in labels if counts.mentions[t] <= TAIL_SHARE * most]
    return rare or labels[-max(1, len(labels) // 3) :]


def _part_docs(source: Path, part: str, nlp: Language, labels: list[str]) -> Iterator[Doc]:
    if (source / part).is_dir():
        if not labels:
            raise ValueError(Errors.L407.format(path=source / "corpus.json"))
        for article in read_articles(source / part, labels):
            yield article_doc(nlp, article)
    else:
        yield from read_docs(source / f"{part}.iob", nlp.vocab)


def convert_corpus(source: Path, target: Path, lang: str | None = None) -> CorpusTypes:
    """Write train, dev and test `.spacy` files of a corpus, and its types. All parts or none.

    source (Path): A folder with PART.iob files (IOB2) or PART folders of marked-up articles, for
        train, dev and test; corpus.json may declare lang, labels and tail.
    target (Path): The folder to write.
    lang (Optional[str]): spaCy language code; null takes corpus.json's, else "en".
    RETURNS (CorpusTypes): The types.
    RAISES (ValueError): L401, L402, L403, L407.
    """
    if not source.is_dir():
        fix = "Give a folder with train, dev and test as PART.iob files or PART folders."
        raise ValueError(Errors.L402.format(path=source, fix=fix))
    declared = srsly.read_json(source / "corpus.json") if (source / "corpus.json").is_file() else {}
    lang = lang or declared.get("lang", "en")
    nlp = spacy.blank(lang)
    counts, parts = {}, {}
    for part in PARTS:
        parts[part] = list(_part_docs(source, part, nlp, declared.get("labels", [])))
        counts[part] = count_docs(parts[part])
    labels = declared.get("labels") or (counts["train"] + counts["dev"] + counts["test"]).labels
    tail = declared.get("tail") or rare_types(counts["train"])
    types = CorpusTypes(list(labels), list(tail), lang)
    write_corpus(target, parts, types)
    return types


def write_corpus(target: Path, parts: Mapping[str, Iterable[Doc]], types: CorpusTypes) -> None:
    """Write PART.spacy for each part, and types.json. All files or none.

    target (Path): The folder to write; files of these names in it are replaced, others kept.
    parts (Mapping[str, Iterable[Doc]]): Documents of each part, by its name.
    types (CorpusTypes): The types of the corpus.
    """
    with tempfile.TemporaryDirectory(prefix="longtail-") as folder:
        for part, docs in parts.items():
            DocBin(docs=docs, store_user_data=True).to_disk(Path(folder) / f"{part}.spacy")
        srsly.write_json(Path(folder) / TYPES, types._asdict())
        target.mkdir(parents=True, exist_ok=True)
        for path in Path(folder).iterdir():
            shutil.copyfile(path, target / path.name)


def read_types(corpus: Path) -> CorpusTypes:
    """The types of a converted corpus. RAISES (ValueError): L402."""
    path = corpus / TYPES
    if not path.is_file():
        fix = "Run `python -m spacy_longtail convert` first."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    return CorpusTypes(**srsly.read_json(path))


def part_path(corpus: Path, part: str) -> Path:
    """Where a part of a converted corpus is: PART.spacy, or a folder PART of .spacy files."""
    folder = corpus / part
    return folder if folder.is_dir() else corpus / f"{part}.spacy"


def stream_docs(path: Path, nlp: Language) -> Iterator[Doc]:
    """The documents of a .spacy file, or of every .spacy file below a folder in order of name.

    One file at a time is in memory. RAISES (ValueError): L402, L403, L404.
    """
    paths = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
    if not path.exists() or not paths:
        raise ValueError(Errors.L402.format(path=path, fix="Name a .spacy file, or a folder of them."))
    n_docs = 0
    for part in paths:
        try:
            for doc in DocBin().from_disk(part).get_docs(nlp.vocab):
                n_docs += 1
                yield doc
        except Exception as error:  # msgpack, zlib and spaCy raise their own kinds
            raise ValueError(Errors.L404.format(path=part, problem=error)) from error
    if not n_docs:
        raise ValueError(Errors.L403.format(path=path, fix="Convert a corpus that has documents."))


def load_docs(path: Path, nlp: Language) -> list[Doc]:
    """The documents of a .spacy file or folder, in memory. RAISES (ValueError): L402, L403, L404."""
    return list(stream_docs(path, nlp))


def rare_sentences(docs: Iterable[Doc], tail: Iterable[str]) -> int:
    """Sentences that hold a rare type."""
    rare = set(tail)
    return sum(any(ent.label_ in rare for ent in sent.ents) for doc in docs for sent in doc.sents)
