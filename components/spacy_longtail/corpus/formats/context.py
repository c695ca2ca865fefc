"""Context of a conversion: the tokenizer, the declared types, and counts of what was changed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language

from ...errors import Errors
from ..tokenizers import Tokens
from .options import Misaligned
from .text import Place

N_EXAMPLES = 20  # stored for each kind of event
MEANINGS = {  # of the kinds of events
    "misaligned": "spans that start or end inside a token (is --lang or --tokens another one?)",
    "overlapping": "spans that overlap a longer one, dropped; their other tokens have no annotation",
    "doubled": "second labels of a span, dropped",
    "folded": "texts whose two-character line ends count as one character, read that way",
    "repeated": "spans given twice, kept once",
    "discontinuous": "discontinuous spans, dropped; their tokens have no annotation",
    "unreadable": "annotations without a readable type or place, dropped",
    "utf16": "spans whose offsets count UTF-16 units, converted to characters",
    "ambiguous": "spans whose offsets may count characters or UTF-16 units (see --offsets), read as"
    " characters",
    "trimmed": "spans that start or end with white space, trimmed",
    "rejected": "records that were not accepted, skipped",
    "cancelled": "cancelled annotations, skipped",
    "further": "annotations besides the one that is marked as ground truth, skipped",
    "unlabelled": "records without an annotation, skipped",
    "empty": "texts without a word, skipped",
    "tangled": "texts with too many punctuation marks in a row for the tokenizer, skipped",
    "ignored": "annotations that are not entities, skipped",
    "unannotated": "documents without any entity annotation, kept without",
    "absent": "mentions whose words are not in their sentence, skipped",
    "joined": "entities across a sentence boundary; the boundary was dropped",
    "blank": "tokens of white space alone, dropped",
    "comments": "lines that begin with #, skipped as comments",
    "unprefixed": "tokens whose tag has no prefix such as B-, read in the scheme IO: neighbours of one"
    " type are one entity",
    "outside": "tokens without entity under another tag than O, read as O",
    "contracted": "multiword tokens whose words have different tags; the first tag but O was taken",
    "groups": "spans of doc.spans, read as entities",
    "retokenized": "texts whose tokens do not cover them, tokenized anew",
    "merged": "texts given several times with annotations of different types, merged",
    "contradicting": "texts given several times with contradicting annotations (see --duplicates), all"
    " kept",
    "further copies": "further copies of a text with another annotation, skipped",
    "long": "documents that exceed nlp.max_length, which spaCy will not process (E088); cut them, or"
    " raise nlp.max_length of the pipeline",
}
UNCOUNTED = ("discontinuous", "unreadable", "absent")  # annotations that are no spans of tokens
LOST = ("misaligned", "overlapping", "doubled", *UNCOUNTED)
TOLERABLE = 0.05  # share of the annotations that may be lost, or of the texts that may contradict
WIDTH = 30  # characters of context on each side of an example


@dataclass
class Events:
    """Events in which a reader skipped or changed something: numbers by type, and examples."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    n_spans: int = 0  # character spans that were to become entities

    def add(self, kind: str, what: str, place: Place, detail: str = "") -> None:
        """Count an event.

        kind (str): A key of MEANINGS.
        what (str): Type of the entity, or another name by which the events are counted.
        place (Place): Place of the event.
        detail (str): Text of the example. Without it, the example shows `what`.
        """
        self.counts[kind][what] += 1
        if len(self.examples[kind]) < N_EXAMPLES:
            self.examples[kind].append(f"{place.path.name}:{place.within}: {detail or what}")

    def n(self, kind: str) -> int:
        """Return the number of events of a kind."""
        return self.counts[kind].total() if kind in self.counts else 0

    def summary(self) -> str:
        """Return the number of events of each kind and its most frequent types, as text."""
        return "; ".join(f"{kind} {n.total()} ({shown(n)})" for kind, n in self.counts.items())


def shown(counts: Counter[str]) -> str:
    """Return counts as text, most frequent first."""
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def check_losses(
    source: Path,
    parts: Iterable[tuple[Events, Misaligned]],
    n_entities: int | None = None,
    *,
    command: str = "convert",
    done: str = "converted",
) -> None:
    """Refuse a source that loses too many annotations.

    source (Path): The file or folder.
    parts (Iterable[Tuple[Events, str]]): Events of each part, and its handling of misaligned spans.
    n_entities (Optional[int]): Number of entities that were read; null where there may be none.
    command (str): The command, for the message.
    done (str): Participle of the command.
    RAISES (ValueError): L700.
    """
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[str, str] = {}
    n_annotations = 0
    for events, misaligned in parts:
        n_annotations += events.n_spans + sum(map(events.n, UNCOUNTED))
        for kind in LOST:
            if events.n(kind) and (kind != "misaligned" or misaligned == "missing"):
                lost[kind] += events.counts[kind]
                examples.setdefault(kind, events.examples[kind][0])
    n_lost = sum(counts.total() for counts in lost.values())
    problem = f"{n_lost} of {n_annotations} annotations would be lost"
    if n_entities == 0:
        problem = "it has no entity that can be read"
    elif n_lost <= TOLERABLE * n_annotations:
        return
    for kind, counts in lost.items():
        problem += f"; {counts.total()} {MEANINGS[kind]} ({shown(counts)}), as {examples[kind]}"
    raise ValueError(Errors.L700.format(source=source, problem=problem, convert=command, converted=done))


class Context(NamedTuple):
    """Context of a reader, beside the path.

    nlp (Language): Its tokenizer makes the tokens of formats that have none.
    events (Events): Counts what is skipped or changed.
    labels (Collection[str]): The declared types; empty where none are.
    tokens (str): "words" or "characters", settled for the corpus.
    misaligned (str): Handling of spans that start or end inside a token.
    unlabelled (bool): Whether only the text is wanted: tags and types are not checked.
    texts_only (bool): Whether records of given tokens can be skipped.
    """

    nlp: Language
    events: Events
    labels: Collection[str] = ()
    tokens: Tokens = "words"
    misaligned: Misaligned = "missing"
    unlabelled: bool = False
    texts_only: bool = False


def excerpt(text: str, start: int, end: int) -> str:
    """Return a span with the text around it, on one line."""
    left = ("..." if start > WIDTH else "") + text[max(0, start - WIDTH) : start]
    right = text[end : end + WIDTH] + ("..." if end + WIDTH < len(text) else "")
    return " ".join(f"{left}[{text[start:end]}]{right}".split())
