"""Texts to documents: by a tokenizer, or with the tokens that a record brings."""

import re
from collections.abc import Iterator

from spacy.language import Language
from spacy.tokens import Doc

from ...errors import Errors
from .context import Place

# spaCy's tokenizer looks at all of a word again for each punctuation mark that it takes off
TANGLE = re.compile(r"(?<![^\w\s])[^\w\s]{2000}")  # from where a row begins: each character once


def is_tangled(text: str) -> bool:
    """Whether a text has so many punctuation marks in a row that its tokenizer takes hours."""
    return TANGLE.search(text) is not None


def check_text(text: object, place: Place) -> str:
    """A string that spaCy can hold: no half of a surrogate pair."""
    try:
        if isinstance(text, str):
            text.encode("utf8")
            return text
        problem = f"{str(text)[:60]!r} is not text"
    except UnicodeEncodeError as error:
        problem = f"character {error.start} of the text is half a surrogate pair"
    raise ValueError(Errors.L426.format(place=place, problem=problem, fix="Write UTF-8 text."))


def tokenize(nlp: Language, text: str, place: Place) -> Doc:
    """A text as a document."""
    if is_tangled(text):
        tangle = "it has 2,000 punctuation marks without a space between them"
        raise ValueError(Errors.L426.format(place=place, problem=tangle, fix="Leave them out."))
    problem: object = "its tokens give another text"
    try:
        doc = nlp.tokenizer(text)
        if doc.text == text:
            return doc
    except Exception as error:  # each language's tokenizer raises its own kinds
        problem = error
    raise ValueError(Errors.L427.format(place=place, lang=nlp.lang, problem=problem))


def given_tokens(nlp: Language, text: str, tokens: object, place: Place) -> Doc:
    """A document of the tokens that a record brings, white space between them kept.

    tokens (object): A list of records with start and end, offsets in the text.
    """
    words: list[str] = []
    spaces: list[bool] = []
    at = 0
    for start, end in [*_offsets(text, tokens, place), (len(text), len(text))]:
        if start < at or not _fill_gap(words, spaces, text[at:start]):
            problem = f"its tokens do not cover the text in order, at character {at}"
            raise ValueError(Errors.L426.format(place=place, problem=problem, fix="Remove 'tokens'."))
        if end > start:
            words.append(text[start:end])
            spaces.append(False)
        at = end
    return Doc(nlp.vocab, words=words, spaces=spaces)


def _offsets(text: str, tokens: object, place: Place) -> Iterator[tuple[int, int]]:
    for token in tokens if isinstance(tokens, list) else [tokens]:
        known = token if isinstance(token, dict) else {}
        start, end = known.get("start"), known.get("end")
        if type(start) is int and type(end) is int and 0 <= start < end <= len(text):
            own = text[start:end]
            if known.get("text", own) == own:
                yield start, end
                continue
        problem = f"token {str(token)[:60]} is not in the text"
        raise ValueError(Errors.L426.format(place=place, problem=problem, fix="Remove 'tokens'."))


def _fill_gap(words: list[str], spaces: list[bool], gap: str) -> bool:
    """Append the white space between two given tokens, as spaCy keeps it. False if it is not."""
    if gap.startswith(" ") and words:
        spaces[-1], gap = True, gap[1:]
    if gap:
        words.append(gap)
        spaces.append(False)
    return not gap.strip()
