"""Files of proposed sentences for annotation tools.

The id of a proposal is a checksum of its share (mined or random) and its text. By it, `merge`
recognises proposals, and refuses texts that were changed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..corpus.folder import PROPOSAL as ID
from ..corpus.formats.tasks import TASKS
from ..corpus.likeness import digest
from ..output.writing import write_file
from ..sentences import visible_text
from .scan import RANDOM, Proposal

Entities = tuple[tuple[int, int, str], ...]  # start, end, type
ProposalFormat = Literal["prodigy", "doccano", "label-studio", "spacy"]
DEFAULT_NAMES: dict[ProposalFormat, str] = {
    "prodigy": "next.jsonl",
    "doccano": "next.jsonl",
    "label-studio": "next.json",
    "spacy": "next.spacy",
}
SHARE, READ = "mine_share", "mine_read"  # READ: digest of the predictions
MINED = "mined"  # share of the sentences that were chosen for a type


def proposal_id(share: str, text: str) -> str:
    """Return the id of a proposed sentence, 16 hexadecimal digits.

    share (str): "mined" or "random".
    text (str): Text of the sentence.
    """
    return format(digest(f"{share}\n{text}"), "016x")


def entities_of(doc: Doc) -> Entities:
    """Return start, end and type of each entity, to compare the annotation of texts.

    The offsets count visible characters only. So they are the same if two files write a text with
    other white space, soft hyphens or forms of accents.
    """
    text, read, n, entities = doc.text, 0, 0, list[tuple[int, int, str]]()
    for ent in doc.ents:
        start = n + len(visible_text(text[read : ent.start_char]))
        n = start + len(visible_text(text[ent.start_char : ent.end_char]))
        read = ent.end_char
        entities.append((start, n, ent.label_))
    return tuple(entities)


def entities_digest(doc: Doc) -> str:
    """Return a checksum of the entities of a document, 16 hexadecimal digits."""
    return format(digest(json.dumps(sorted(entities_of(doc)))), "016x")


def write_proposals(
    proposals: Sequence[Proposal], path: Path, format: ProposalFormat, vocab: Vocab
) -> None:
    """Write proposed sentences with the entities that the pipeline predicts, atomically.

    Each has its id, share, score, the reason of its choice, a checksum of the predicted entities,
    and its place in the pool as metadata.

    proposals (Sequence[Proposal]): The proposals.
    path (Path): File to write.
    format (str): "prodigy", "doccano", "label-studio" or "spacy".
    vocab (Vocab): Vocabulary of the pipeline.
    """
    docs = [proposal.unit.doc(vocab) for proposal in proposals]
    for proposal, doc in zip(proposals, docs, strict=True):
        share, why = MINED, f"{proposal.chosen_for} {proposal.score:.2f}"
        if proposal.chosen_for == RANDOM:
            share, why = RANDOM, "random sample"
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
