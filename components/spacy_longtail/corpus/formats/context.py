"""What all readers share: the settings of a conversion, and the record of what it met."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from spacy.language import Language

from ...errors import Errors
from ..tokenizers import Tokens
from .text import Place

SENTENCIZER = "sentencizer"  # spaCy's
CHARACTERS, UTF16 = "characters", "utf-16"  # what offsets count
Scheme = Literal["auto", "iob1", "iob2", "bioes", "bilou"]
Misaligned = Literal["missing", "expand", "contract", "error"]
Offsets = Literal["characters", "utf-16"]
N_EXAMPLES = 20  # kept of each kind of event
MEANINGS = {  # of the kinds of events
    "misaligned": "spans that do not begin and end with a token (of another --lang or --tokens?)",
    "overlapping": "spans dropped for a longer one, their other tokens without annotation",
    "doubled": "further labels of a span that has one, left out",
    "folded": "texts whose line ends of two characters count as one, read as such",
    "repeated": "spans given twice, kept once",
    "discontinuous": "spans in pieces dropped, their tokens without annotation",
    "unreadable": "annotations without a type or a place that can be read, left out",
    "utf16": "spans whose offsets count UTF-16 units, read as such",
    "ambiguous": "spans that may count characters or UTF-16 units (--offsets), read as characters",
    "trimmed": "spans with white space at an end, trimmed",
    "rejected": "records that were not accepted, left out",
    "cancelled": "cancelled annotations, left out",
    "further": "annotations of a text that has one already, left out",
    "unlabelled": "records without an annotation, left out",
    "empty": "texts without a word, left out",
    "ignored": "annotations that are not entities, left out",
    "unannotated": "documents without any entity annotation, kept as such",
    "absent": "mentions that their sentence does not have word by word, left out",
    "joined": "entities across a sentence boundary, which is dropped",
    "blank": "tokens of white space alone, left out",
}
UNCOUNTED = ("discontinuous", "unreadable", "absent")  # annotations that are no spans of tokens
LOST = ("misaligned", "overlapping", "doubled", *UNCOUNTED)
TOLERABLE = 0.05  # of the annotations, lost
WIDTH = 30  # characters of context on each side of an example


class Columns(NamedTuple):
    """Columns by name; an empty one is the format's usual one."""

    token: str = ""
    tag: str = ""
    sentence: str = ""  # where its value changes, a sentence begins

    @property
    def named(self) -> set[str]:
        """Those that are not the usual ones."""
        return {field for field, name in self._asdict().items() if name}


def no_names(option: str, given: str, problem: object) -> ValueError:
    """L581, to be raised: an option that names what the source does not name is of no use."""
    return ValueError(Errors.L581.format(option=option, given=given, problem=problem))


def parse_columns(text: str) -> Columns:
    """The columns that an option names, as in token=word,tag=ner,sentence=sent_id."""
    pairs = [[part.strip() for part in pair.split("=")] for pair in text.split(",")]
    with suppress(ValueError, TypeError):  # not a pair, or another name
        if len(names := dict(pairs)) == len(pairs) and all(names.values()):
            return Columns(**names)
    raise no_names("columns", text, "it is not token=, tag= and sentence= with names, each once")


def read_tag_names(text: str) -> tuple[str, ...]:
    """The tags that numbers stand for, in order.

    text (str): Tags separated by commas, as O,B-PER,I-PER; or a file with one tag per line.
    """
    path, names = Path(text), text.split(",")
    with suppress(OSError, ValueError):  # too long for a path, or no text
        if path.is_file():
            names = path.read_text(encoding="utf-8-sig").splitlines()
    tags = [name.strip() for name in names if name.strip()]
    if len(set(tags)) < max(len(tags), 2):
        raise no_names("tag-names", text, "it is no list of different tags, and no file of one")
    return tuple(tags)


USUAL = Columns()


@dataclass(frozen=True)
class Settings:
    """How a corpus is read and written. `None` is the format's or the corpus's own choice."""

    format: str | None = None  # a name of FORMATS; null finds it
    encoding: str = "utf8"  # of text files, by Python's name
    scheme: Scheme = "auto"  # of tags; "auto" tells all but iob1 apart
    token_column: int = 0  # from 0, or from -1 backwards
    tag_column: int = -1
    columns: Columns = USUAL  # by name, where they have names and are not the usual ones
    tag_names: tuple[str, ...] | None = None  # tags by number, where records have numbers
    documents: bool = False  # whether the sentences between -DOCSTART- lines form one document
    # what becomes of a span that cuts a token: "missing" leaves its tokens without annotation,
    # "expand" takes them whole, "contract" takes those inside, "error" stops
    misaligned: Misaligned | None = None
    tokens: Tokens | None = None  # "words" of the language's tokenizer, or "characters"
    every_annotation: bool = False  # of a task of Label Studio is a document; else the first alone
    text_key: str | None = None  # of the text in records; null is each tool's own
    offsets: Offsets | None = None  # what they count: "characters" or "utf-16" units; null finds it
    allow: bool = False  # whether more than a twentieth of the annotations may be lost
    sentences: str | Language | None = None  # what sets boundaries where a format has none
    docs_per_file: int | None = None  # null writes one file per part
    unlabelled: bool = False  # whether text alone is wanted: tags and types are not looked at
    open: bool = False  # whether each mention has a type of its own, which `pretrain` alone reads

    def __post_init__(self) -> None:
        try:
            " ".encode(self.encoding)
        except (LookupError, ValueError) as error:
            shown = {"name": "encoding", "rule": "a text encoding that Python knows"}
            fix = "Examples are utf8, utf-16, cp1252."
            raise ValueError(Errors.L001.format(**shown, value=self.encoding, fix=fix)) from error


@dataclass
class Events:
    """What a reader left out or changed: how often, of what, and the first of each kind."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    n_spans: int = 0  # of characters, that were to become entities

    def add(self, kind: str, what: str, place: Place, detail: str = "") -> None:
        """kind (str): What happened. what (str): The type, or what else it happened to."""
        self.counts[kind][what] += 1
        if len(self.examples[kind]) < N_EXAMPLES:
            self.examples[kind].append(f"{place.path.name}:{place.within}: {detail or what}")

    def n(self, kind: str) -> int:
        """How often a kind of event came."""
        return self.counts[kind].total() if kind in self.counts else 0

    def summary(self) -> str:
        """Every kind with its number and what it happened to."""
        return "; ".join(f"{kind} {n.total()} ({shown(n)})" for kind, n in self.counts.items())


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def check_losses(
    source: Path, parts: Iterable[tuple[Events, str | None]], n_entities: int | None = None
) -> None:
    """Refuse what lost too many annotations.

    source (Path): Where they stand.
    parts (Iterable[Tuple[Events, Optional[str]]]): What happened in each, and its `misaligned`.
    n_entities (Optional[int]): How many there are now; null where there may be none.
    """
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[str, str] = {}
    n_annotations = 0
    for events, misaligned in parts:
        n_annotations += events.n_spans + sum(map(events.n, UNCOUNTED))
        for kind in LOST:
            if events.n(kind) and (kind != "misaligned" or misaligned in (None, "missing")):
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
    raise ValueError(Errors.L700.format(source=source, problem=problem))


class Context(NamedTuple):
    """What a reader is given beside the path."""

    nlp: Language  # its tokenizer makes the tokens of formats that have none
    settings: Settings
    events: Events
    labels: Collection[str] = ()  # the declared types


def excerpt(text: str, start: int, end: int) -> str:
    """A span with the text around it, on one line."""
    left = ("..." if start > WIDTH else "") + text[max(0, start - WIDTH) : start]
    right = text[end : end + WIDTH] + ("..." if end + WIDTH < len(text) else "")
    return " ".join(f"{left}[{text[start:end]}]{right}".split())
