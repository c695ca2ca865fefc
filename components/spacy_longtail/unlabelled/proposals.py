"""Proposed sentences as files for annotation tools, and how a label finds its way back.

Every proposal has an id that is made of its share and its text: `merge` knows by it what was
proposed, in which share, and whether the text was changed.
"""

import json
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..corpus.formats.tasks import TASKS
from ..corpus.likeness import digest
from ..output.writing import write_file
from .scan import RANDOM, Proposal

Entities = tuple[tuple[int, int, str], ...]  # start, end, type
ProposalFormat = Literal["prodigy", "doccano", "label-studio", "spacy"]
DEFAULT_NAMES: dict[ProposalFormat, str] = {
    "prodigy": "next.jsonl",
    "doccano": "next.jsonl",
    "label-studio": "next.json",
    "spacy": "next.spacy",
}
ID, SHARE, READ = "mine_id", "mine_share", "mine_read"  # READ: what the pipeline has read
MINED = "mined"  # the share of what was chosen for a type


def proposal_id(share: str, text: str) -> str:
    """The id of a proposed text. share (str): "mined" or "random". RETURNS (str): 16 digits."""
    return format(digest(f"{share}\n{text}"), "016x")


def entities_of(doc: Doc) -> Entities:
    """Entities of a text, counted in characters other than white space: tools fold it."""
    before = [0, *accumulate(not c.isspace() for c in doc.text)]
    return tuple((before[e.start_char], before[e.end_char], e.label_) for e in doc.ents)


def entities_digest(doc: Doc) -> str:
    """What the entities of a document are known by. RETURNS (str): 16 digits."""
    return format(digest(json.dumps(sorted(entities_of(doc)))), "016x")


def write_proposals(
    proposals: Sequence[Proposal], path: Path, format: ProposalFormat, vocab: Vocab
) -> None:
    """Write the sentences with what the pipeline reads in them, all or nothing.

    Beside each stand its id, share, score, the reason, what was read, and its place in the pool.
    """
    docs = [proposal.unit.doc(vocab) for proposal in proposals]
    for proposal, doc in zip(proposals, docs, strict=True):
        share, why = MINED, f"{proposal.chosen_for} {proposal.score:.2f}"
        if proposal.chosen_for == RANDOM:
            share, why = RANDOM, "drawn by lot"
        about: dict[str, object] = {
            ID: proposal_id(share, proposal.unit.text),
            SHARE: share,
            READ: entities_digest(doc),
            "score": round(proposal.score, 4),
            "reason": why,
        }
        doc.user_data = {**{k: v for k, v in doc.user_data.items() if k not in about}, **about}
    if format == "spacy":
        write_file(path, DocBin(docs=docs, store_user_data=True).to_bytes())
        return
    tasks = [TASKS[format](doc, 0, len(doc), dict(doc.user_data)) for doc in docs]
    if format == "label-studio":
        write_file(path, json.dumps(tasks, ensure_ascii=False, indent=1))
    else:
        write_file(path, "".join(f"{json.dumps(task, ensure_ascii=False)}\n" for task in tasks))
