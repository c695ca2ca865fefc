"""Proposed sentences as files for annotation tools, and how a label finds its way back.

Every proposal has an id that is made of its share and its text: `merge` knows by it what was proposed,
in which share, and whether the text was changed.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..corpus.formats.json_stream import read_records
from ..corpus.formats.offsets import from_utf16
from ..corpus.formats.tasks import TASKS, Task
from ..output.writing import write_file
from .scan import RANDOM
from .selection import Proposal

Entities = tuple[tuple[int, int, str], ...]  # start, end, type
Format = Literal["prodigy", "doccano", "label-studio", "spacy"]
FORMATS: tuple[Format, ...] = ("prodigy", "doccano", "label-studio", "spacy")
DEFAULT_NAMES: dict[Format, str] = {
    "prodigy": "next.jsonl",
    "doccano": "next.jsonl",
    "label-studio": "next.json",
    "spacy": "next.spacy",
}
ID, SHARE, READ = "mine_id", "mine_share", "mine_read"  # READ: what the pipeline has read
WORTH = 0.1  # expected mentions of another type that are worth a word
MINED = "mined"  # the share of what was chosen for a type
PAGE_MARK = "spacy-longtail mine"  # in each page of proposals
MARK = f'"{ID}":'  # in each record


def proposal_id(share: str, text: str) -> str:
    """What a proposed text is known by. share (str): "mined" or "random". RETURNS (str): 16 digits."""
    return hashlib.blake2b(f"{share}\n{text}".encode("utf8", "replace"), digest_size=8).hexdigest()


def entities_of(span: Span) -> Entities:
    """Entities of a text, counted in characters other than white space: tools fold it."""
    at = span.start_char
    return _folded(span.text, [(e.start_char - at, e.end_char - at, e.label_) for e in span.ents])


def _folded(text: str, found: Iterable[tuple[int, int, str]]) -> Entities:
    before = [0, *accumulate(not c.isspace() for c in text)]
    return tuple((before[start], before[end], label) for start, end, label in found)


def entities_digest(doc: Doc) -> str:
    """What the entities of a document are known by. RETURNS (str): 16 digits."""
    return _digest(entities_of(doc[:]))


def _digest(found: Entities) -> str:
    shown = json.dumps(sorted(found))
    return hashlib.blake2b(shown.encode("utf8", "replace"), digest_size=8).hexdigest()


def about(proposal: Proposal, types: Sequence[str], doc: Doc) -> Task:
    """What a record says of its sentence: id, share, type, score, reason, and where it stands.

    types (Sequence[str]): The rare types, in the order of the unit's expected mentions.
    doc (Doc): The sentence with what the pipeline reads in it.
    """
    unit = proposal.unit
    share = RANDOM if proposal.chosen_for == RANDOM else MINED
    found = {
        ID: proposal_id(share, unit.text),
        SHARE: share,
        READ: entities_digest(doc),
        "score": round(proposal.score, 4),
        "reason": reason(proposal, types),
    }
    return {**{k: v for k, v in unit.about.items() if k not in found}, **found}


def is_labelled(path: Path) -> bool:
    """Whether a file of proposals holds anything but what the pipeline has read: somebody's work."""
    try:
        return not all(_is_as_read(record) for _, record in read_records(path, "utf8"))
    except ValueError:  # no file that was written here
        return True


def _is_as_read(record: dict[str, object]) -> bool:
    if "predictions" in record:
        return not record.get("annotations")  # of Label Studio: labels stand beside what was read
    about = record.get("meta", record)
    items = record.get("spans", record.get("label"))
    if "answer" in record or not isinstance(about, dict) or not isinstance(items, list):
        return False
    text, found = str(record.get("text")), []
    table = from_utf16(text) if "label" in record else range(len(text) + 1)  # Doccano counts in these
    for item in items:
        row = [item.get(k) for k in ("start", "end", "label")] if isinstance(item, dict) else item
        match row:
            case [int(start), int(end), str(label)] if 0 <= start <= end < len(table):
                found.append((table[start], table[end], label))
            case _:
                return False
    return about.get(READ) == _digest(_folded(text, found))


def reason(proposal: Proposal, types: Sequence[str]) -> str:
    """Why a sentence was chosen, in words: "EVE 0.41, term festival"."""
    if proposal.chosen_for == RANDOM:
        return "drawn by lot"
    own = proposal.chosen_for
    expected = dict(zip(types, proposal.unit.expected, strict=True))
    others = [label for label in types if label != own and expected[label] >= WORTH]
    shown = [f"{label} {expected[label]:.2f}" for label in (own, *others)]
    return ", ".join([*shown, *(f"term {term}" for term in proposal.unit.terms)])


def write_proposals(
    proposals: Sequence[Proposal], types: Sequence[str], path: Path, format: Format, vocab: Vocab
) -> None:
    """Write the sentences with what the pipeline reads in them, all or nothing.

    path (Path): JSON lines; one array for Label Studio; a .spacy file. RAISES (ValueError): L432.
    """
    docs = [proposal.unit.doc(vocab) for proposal in proposals]
    metas = [about(p, types, doc) for p, doc in zip(proposals, docs, strict=True)]
    if format == "spacy":
        for doc, meta in zip(docs, metas, strict=True):
            doc.user_data.update(meta)
        write_file(path, DocBin(docs=docs, store_user_data=True).to_bytes())
        return
    make = TASKS[format]
    tasks = [make(doc, 0, len(doc), meta) for doc, meta in zip(docs, metas, strict=True)]
    if format == "label-studio":
        write_file(path, json.dumps(tasks, ensure_ascii=False, indent=1))
    else:
        write_file(path, "".join(f"{json.dumps(task, ensure_ascii=False)}\n" for task in tasks))
