"""Labels come back: annotated proposals become part of the corpus, nothing lost and nothing twice."""

import itertools
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import srsly
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.cutting import cut
from ..corpus.descriptions import CorpusTypes, read_types, write_types
from ..corpus.folder import PARTS
from ..corpus.formats.context import Context, Events, Settings, check_losses
from ..corpus.formats.docbin import stream_docs
from ..corpus.formats.records import says_what_is_done
from ..corpus.formats.sources import find_parts
from ..corpus.formats.tasks import prodigy_task
from ..corpus.parts import part_path, replacing_parts, write_part
from ..corpus.sentences import by_punctuation
from ..corpus.tokenizers import blank
from ..errors import Errors, Warnings
from ..output.amounts import number
from ..output.writing import write_file
from .proposals import (
    ID,
    MINED,
    READ,
    SHARE,
    Entities,
    entities_digest,
    entities_of,
    proposal_id,
)
from .scan import RANDOM
from .units import sentences_of, text_key

CONFLICTS = "conflicts.jsonl"  # in the corpus
N_SHOWN = 3
UNLABELLED = "Label it first; with --unchanged it is merged all the same."
UNPROPOSED = (
    "Export the labels of what `mine` proposed, with its fields; `convert` reads other annotations."
)


@dataclass
class Merged:
    """What became of the labelled sentences."""

    parts: Counter[str] = field(default_factory=Counter)  # sentences added, by part
    mentions: Counter[str] = field(default_factory=Counter)  # added, by type
    n_known: int = 0  # in the corpus already, annotated alike
    n_repeated: int = 0  # in the file twice, annotated alike
    conflicts: list[tuple[Doc, str]] = field(default_factory=list)  # annotated otherwise: not added
    new_types: list[str] = field(default_factory=list)
    events: Events = field(default_factory=Events)


def merge_labels(
    corpus: Path, labelled: Path, random_to: str, settings: Settings, unchanged: bool = False
) -> Merged:
    """Add labelled proposals to a corpus: what was mined to train, the random share to a part of choice.

    A sentence that is annotated in two ways, by two annotators of one task too, or otherwise than in
    the corpus, is not added: it is written to conflicts.jsonl in the corpus, in Prodigy's format.

    corpus (Path): A converted corpus with train, dev and test, or some of them.
    labelled (Path): What the annotation tool exported, or a .spacy file.
    random_to (str): "train", "dev" or "test". settings (Settings): How to read the file.
    unchanged (bool): Whether a file is taken in which no suggestion was changed.
    RAISES (ValueError): L402, L403, L404, L420 to L437, L506, L517. Nothing is changed then.
    """
    types = read_types(corpus)
    nlp = blank(types.lang, types.tokens)
    merged = Merged()
    found, is_marked = _labelled(labelled, nlp, settings, merged.events)
    if not settings.allow:
        check_losses(labelled, [(merged.events, settings.misaligned)])
    _check_proposed(found, labelled)
    _check_labelled(found, labelled, unchanged)
    known = _known(corpus, nlp)
    new: dict[str, list[Doc]] = {}
    versions: dict[int, set[Entities]] = {}
    for doc in found:
        versions.setdefault(text_key(doc.text), set()).add(entities_of(doc[:]))
    seen: set[tuple[int, Entities]] = set()
    for doc in found:
        key, ents = text_key(doc.text), entities_of(doc[:])
        is_repeated = (key, ents) in seen
        seen.add((key, ents))
        if key in known:
            if ents == known[key]:
                merged.n_known += 1
            else:
                merged.conflicts.append((doc, "the corpus has it, annotated otherwise"))
        elif is_repeated:
            merged.n_repeated += 1
        elif len(versions[key]) > 1:
            merged.conflicts.append((doc, "the file has it twice, annotated in two ways"))
        else:
            part = random_to if doc.user_data[SHARE] == RANDOM else "train"
            new.setdefault(part, []).append(doc)
            merged.mentions.update(ent.label_ for ent in doc.ents)
    merged.parts.update({part: len(docs) for part, docs in new.items()})
    merged.new_types = sorted(set(merged.mentions) - set(types.labels))
    if not (is_marked or unchanged):
        _warn_of_unchanged([doc for docs in new.values() for doc in docs], labelled)
    _write(corpus, nlp, new, types, merged)
    return merged


def _labelled(path: Path, nlp: Language, settings: Settings, events: Events) -> tuple[list[Doc], bool]:
    """All annotations, and whether the files say which texts somebody has decided on."""
    context = Context(nlp, replace(settings, every_annotation=True), events)
    parts = find_parts(path, PARTS, settings).values()
    found = [doc for part in parts for doc in part.read(context)]
    records = [file for part in parts if part.format == "json" for file in part.files]
    is_marked = len(records) == sum(len(part.files) for part in parts)
    return found, is_marked and all(says_what_is_done(file, settings.encoding) for file in records)


def _check_proposed(docs: list[Doc], path: Path) -> None:
    """Refuse a file with labels of other sentences. RAISES (ValueError): L506."""
    foreign, changed = [], []
    for doc in docs:
        share = doc.user_data.get(SHARE)
        if ID not in doc.user_data or share not in (MINED, RANDOM):
            foreign.append(doc.text)
        elif doc.user_data[ID] != proposal_id(share, doc.text):
            changed.append(doc.text)
    for texts, what in (
        (foreign, "were not proposed"),
        (changed, "have another text than was proposed"),
    ):
        if texts:
            shown = "; ".join(repr(text[:60]) for text in texts[:N_SHOWN])
            problem = f"{len(texts)} of {len(docs)} sentences {what}, such as {shown}"
            raise ValueError(Errors.L506.format(path=path, problem=problem, fix=UNPROPOSED))


def _check_labelled(docs: list[Doc], path: Path, unchanged: bool) -> None:
    """Refuse what a pipeline has read, and nobody has looked at. RAISES (ValueError): L506."""
    if docs and all(map(_is_as_read, docs)) and not unchanged:
        problem = f"all {len(docs)} sentences have just the entities that the pipeline has read in them"
        raise ValueError(Errors.L506.format(path=path, problem=problem, fix=UNLABELLED))


def _warn_of_unchanged(docs: list[Doc], path: Path) -> None:
    """Tell of suggestions that become gold as they are, where nothing says that they were looked at."""
    n = sum(map(_is_as_read, docs))
    if n:
        shown = {"path": path, "n": n, "total": number(len(docs), "sentence")}
        warnings.warn(Warnings.W114.format(**shown), stacklevel=3)


def _is_as_read(doc: Doc) -> bool:
    """Whether a document has just the entities that were suggested."""
    return doc.user_data.get(READ) == entities_digest(doc)


def _known(corpus: Path, nlp: Language) -> dict[int, Entities]:
    """The annotation of each document and each sentence of the corpus, by its text."""
    paths = [path for part in PARTS if (path := part_path(corpus, part)).exists()]
    found: dict[int, Entities] = {}
    for doc in itertools.chain(*(stream_docs(path, nlp) for path in paths)):
        parsed = doc if doc.has_annotation("SENT_START") else by_punctuation([doc])[0]
        for sentence in cut(parsed, [row for row in sentences_of(parsed) if row[0] < row[1]]):
            found[text_key(sentence.text)] = entities_of(sentence[:])
        found[text_key(doc.text)] = entities_of(doc[:])
    return found


def _write(
    corpus: Path, nlp: Language, new: dict[str, list[Doc]], types: CorpusTypes, merged: Merged
) -> None:
    """The parts that grow, the types, and the conflicts; all or nothing.

    RAISES (ValueError): L432, L517.
    """
    before = _conflicts(corpus) if merged.conflicts else []
    with replacing_parts(corpus, new) as folder:
        for part, docs in new.items():
            path = part_path(corpus, part)
            old = stream_docs(path, nlp) if path.exists() else iter(())
            write_part(folder, part, itertools.chain(old, docs), _docs_per_file(path, nlp))
        if merged.new_types:
            labels, tail = [*types.labels, *merged.new_types], [*types.tail, *merged.new_types]
            write_types(folder, types._replace(labels=labels, tail=tail))
    if merged.conflicts:
        tasks = [prodigy_task(doc, 0, len(doc), {"problem": why}) for doc, why in merged.conflicts]
        rows: dict[str, object] = {}
        for row in (*before, *tasks):  # a file merged again adds none
            rows.setdefault(srsly.json_dumps([row["text"], row["spans"]]), row)
        write_file(corpus / CONFLICTS, "".join(f"{srsly.json_dumps(row)}\n" for row in rows.values()))


def _conflicts(corpus: Path) -> list[dict[str, object]]:
    """The conflicts that a corpus has. RAISES (ValueError): L517."""
    path = corpus / CONFLICTS
    if not path.exists():
        return []
    try:
        rows = list(srsly.read_jsonl(path))
    except (OSError, ValueError) as error:
        raise ValueError(Errors.L517.format(path=path, problem=str(error).rstrip("."))) from error
    for i, row in enumerate(rows, 1):
        if not (isinstance(row, dict) and {"text", "spans"} <= set(row)):
            problem = f"record {i} has no text with spans"
            raise ValueError(Errors.L517.format(path=path, problem=problem))
    return rows


def _docs_per_file(path: Path, nlp: Language) -> int | None:
    """Of a part that is a folder of files: as many as the first one has."""
    if not path.is_dir():
        return None
    first = sorted(path.rglob("*.spacy"))[0]
    return sum(1 for _ in stream_docs(first, nlp))
