"""Open types: each mention has types of its own, a fine one and a coarse one, as `fine; coarse`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Place
from .markup import MENTION, parse_line
from .spans import CharSpan, annotate, check_span, read_label
from .tagged import TaggedSentence, Tagger
from .text import bad_line, head_of, lines, read_text, unzipped
from .tokens import check_text, tokenize

SENTENCES = "sents.json"
ANNOTATION = re.compile(r"ann\d*\.txt(\.gz)?")  # beside sents.json
DOMAIN = "domain: "
ARROW, NEXT, NOTHING = " => ", " | ", "-"
HEAD = 4096  # bytes in which a mark is looked for
TYPES_FIX = "Write `fine type; coarse type`."
LINE_FIX = "Write `ID<TAB>mention => fine type; coarse type | ...`, or `ID<TAB>-`."
ROWS_FIX = 'Write a list of ["source", ["token", ...]].'


def fine_and_coarse(label: str) -> tuple[str, str]:
    """The two levels of an open type. A type that names one level has it as both.

    label (str): As "football club; organization".
    """
    fine, _, coarse = (" ".join(part.split()).casefold() for part in label.partition(";"))
    return fine, coarse or fine


def plain_type(label: str) -> str:
    """An open type in lower case: each mention was given its own by hand."""
    fine, coarse = fine_and_coarse(label)
    return f"{fine}; {coarse}" if ";" in label else fine


def is_open(path: Path, encoding: str = "utf8") -> bool:
    """Whether a text file begins with its domain, or soon has a mark with two types."""
    head = head_of(path, encoding, HEAD)
    return head.startswith(DOMAIN) or any("; " in label for _, label in MENTION.findall(head))


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, of marked text or of sents.json."""
    read = _numbered if unzipped(path).name == SENTENCES else _marked
    return read(path, context)


def _marked(path: Path, context: Context) -> Iterator[Doc]:
    """A sentence on each line, with marks `[mention|fine type; coarse type]`."""
    for i, line in enumerate(lines(path, context.settings.encoding), 1):
        if not line.strip() or (i == 1 and line.startswith(DOMAIN)):
            continue
        place, sentence = Place(path, i), parse_line(path, i, line.strip(), None)
        for *_, label in sentence.spans:
            _check_types(label, place)
        doc = tokenize(context.nlp, sentence.text, place)
        own = [] if context.settings.unlabelled else sentence.spans
        spans = [check_span(sentence.text, *span, place, context.events) for span in own]
        yield annotate(doc, spans, context.settings.misaligned, context.events)


def _check_types(label: str, place: Place) -> str:
    if not all(part.strip() for part in label.split(";")) or label.count(";") > 1:
        raise bad_line(place.path, place.line, f"found the types {label!r}", TYPES_FIX)
    return read_label(label, repr(label), place)


def _numbered(path: Path, context: Context) -> Iterator[Doc]:
    """Sentences by number, and `ID<TAB>mention => fine type; coarse type | ...` in the files beside."""
    rows = _rows(path, context.settings.encoding)
    files = sorted(file for file in path.parent.iterdir() if ANNOTATION.fullmatch(file.name))
    if not files:
        fix = f"Put the annotation of {SENTENCES} beside it: ann00.txt, ann01.txt and so on."
        raise ValueError(Errors.L402.format(path=path.with_name("ann*.txt"), fix=fix))
    seen: set[int] = set()
    for file in files:
        for i, line in enumerate(lines(file, context.settings.encoding), 1):
            if not line.strip():
                continue
            place = Place(file, i)
            number, tab, text = line.partition("\t")
            if not tab or not number.isdecimal():
                raise bad_line(file, i, "the line does not begin with a number and a tab", LINE_FIX)
            if int(number) in seen:
                raise bad_line(file, i, f"sentence {number} has a line already", "Remove one.")
            seen.add(int(number))
            words = _words(rows, int(number), place)
            n = len(words)
            found, _ = Tagger(file, context)(TaggedSentence([i] * n, words, ["O"] * n))
            doc = Doc(context.nlp.vocab, words=found)
            yield annotate(doc, _mentions(doc, text.strip(), place, context), None, context.events)


def _rows(path: Path, encoding: str) -> list[object]:
    try:
        rows = json.loads(read_text(path, encoding))
    except json.JSONDecodeError as error:
        raise bad_line(path, error.lineno, f"this is not JSON: {error.msg}", ROWS_FIX) from error
    if not isinstance(rows, list):
        raise bad_line(path, 1, f"found {str(rows)[:60]!r}", ROWS_FIX)
    return rows


def _words(rows: list[object], number: int, place: Place) -> list[str]:
    """The tokens of a sentence."""
    if number >= len(rows):
        problem = f"there is no sentence {number}, {SENTENCES} has {len(rows)}"
        raise bad_line(place.path, place.line, problem, "Sentences are numbered from 0.")
    row = rows[number]
    words = row[1] if isinstance(row, list) and len(row) == 2 else None
    if not (isinstance(words, list) and words):
        problem = f"row {number} of {SENTENCES} is {str(row)[:60]!r}"
        raise bad_line(place.path, place.line, problem, ROWS_FIX)
    return [check_text(word, place) for word in words]


def _mentions(doc: Doc, text: str, place: Place, context: Context) -> Iterator[CharSpan]:
    """The places of the listed mentions: each in all its places that no longer one takes.

    A mention that is listed several times has its types in the order of its places.
    """
    listed: dict[tuple[str, ...], list[str]] = {}
    for item in text.split(NEXT) if text != NOTHING else []:
        mention, arrow, label = item.partition(ARROW)
        if not arrow or not mention.strip():
            raise bad_line(place.path, place.line, f"found {item[:60]!r} as a mention", LINE_FIX)
        listed.setdefault(tuple(mention.split()), []).append(_check_types(label, place))
    words, taken = tuple(token.text for token in doc), set[int]()
    for mention, labels in sorted(listed.items(), key=lambda own: -len(own[0])):
        n = len(mention)
        everywhere = [i for i in range(len(words) - n + 1) if words[i : i + n] == mention]
        if not everywhere:
            detail = f"{' '.join(mention)!r} in {doc.text[:60]!r}"
            for label in labels:
                context.events.add("absent", label, place, detail)
            continue
        free = [i for i in everywhere if taken.isdisjoint(range(i, i + n))] or everywhere[:1]
        for k in range(max(len(free), len(labels))):
            first = free[min(k, len(free) - 1)]
            last = doc[first + n - 1]
            taken.update(range(first, first + n))
            label = labels[min(k, len(labels) - 1)]
            yield CharSpan(doc[first].idx, last.idx + len(last), label, place)
