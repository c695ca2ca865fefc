"""What the readers of all formats share: their options, the context of a conversion, and events."""

import codecs
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from spacy.language import Language

from ...errors import Errors
from ...settings import parse_pairs
from ..tokenizers import Tokens
from .text import Place

CHARACTERS, UTF16 = "characters", "utf-16"  # units of character offsets
Scheme = Literal["auto", "iob1", "iob2", "bioes", "bilou"]
Misaligned = Literal["missing", "expand", "contract", "error"]
Offsets = Literal["characters", "utf-16"]
# codecs of Python for single names or literals: they cannot decode a file block by block
NO_TEXT = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")
N_EXAMPLES = 20  # stored for each kind of event
# what each kind of event means, for messages and reports
MEANINGS = {
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


# --- options


class Columns(NamedTuple):
    """Names of columns, or of keys in JSON records. An empty one is the format's default."""

    token: str = ""
    tag: str = ""
    sentence: str = ""  # a sentence begins where its value changes


DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options of every text format.

    encoding (str): Encoding of the files, by Python's name.
    """

    encoding: str = "utf8"

    def __post_init__(self) -> None:
        try:
            " ".encode(self.encoding)
            is_text = codecs.lookup(self.encoding).name not in NO_TEXT
        except (LookupError, ValueError):
            is_text = False
        if not is_text:
            raise ValueError(
                Errors.L001.format(
                    name="encoding",
                    rule="a text encoding that Python knows",
                    value=self.encoding,
                    fix="Examples are utf8, utf-16, cp1252.",
                )
            )


@dataclass(frozen=True, kw_only=True)
class TagOptions(FileOptions):
    """Options of the formats with a tag per token.

    scheme (str): Scheme of the tags. "auto" detects all but iob1.
    """

    scheme: Scheme = "auto"


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """Options of the formats with a text and character spans.

    misaligned (str): Handling of spans that start or end inside a token: "missing" leaves the
        tokens without annotation, "expand" and "contract" move the ends as spaCy's
        `alignment_mode` does, "error" refuses them.
    tokens (Optional[str]): "words" of the language's tokenizer, or "characters". null takes what
        corpus.json declares.
    """

    misaligned: Misaligned = "missing"
    tokens: Tokens | None = None


def bad_option(option: str, given: str, problem: object) -> ValueError:
    """Return the error (L581) for an option whose value the command cannot use."""
    return ValueError(Errors.L581.format(option=option, given=given, problem=problem))


def check_columns(columns: Columns, known: set[str], required: set[str], format: str) -> None:
    """Refuse names of columns that a format does not use, or that lack one it needs.

    columns (Columns): The given names. Without any, the format has its defaults.
    known (Set[str]): Fields of `Columns` that the format uses.
    required (Set[str]): Fields that must be named if any is.
    format (str): Name of the format.
    RAISES (ValueError): L581.
    """
    named = {field for field, name in columns._asdict().items() if name}
    if named - known or (named and required - named):
        problem = f"the format {format} takes {', '.join(sorted(known))}"
        problem += f" and needs {', '.join(sorted(required))}" if required else ""
        raise bad_option("columns", ",".join(sorted(named)), problem)


def parse_columns(text: str) -> Columns:
    """Return the columns that an option names, such as token=word,tag=ner,sentence=sent_id."""
    with suppress(ValueError, TypeError):  # not a pair, or another name
        return Columns(**parse_pairs(text.split(",")))
    raise bad_option("columns", text, "write token=NAME, tag=NAME and sentence=NAME, each at most once")


def read_tag_names(text: str) -> tuple[str, ...]:
    """Return the tags that numbers stand for, in order.

    text (str): Tags separated by commas, as O,B-PER,I-PER; or a file with one tag per line.
    """
    path, names = Path(text), text.split(",")
    with suppress(OSError, ValueError):  # too long for a path, or no text
        if path.is_file():
            names = path.read_text(encoding="utf-8-sig").splitlines()
    tags = [name.strip() for name in names if name.strip()]
    if len(set(tags)) < max(len(tags), 2):
        problem = "expected at least two different tags, or a file with one tag per line"
        raise bad_option("tag-names", text, problem)
    return tuple(tags)


# --- events and context


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
