"""Keys by which repeated texts are recognised: exactly, in any case, or with other names.

Two texts are the same if they differ in nothing but white space and characters that nobody sees.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator

from spacy.tokens import Doc

from ..sentences import all_bounds, plain_text, visible_text
from .counts import EntityBounds, entity_bounds

NUMBERS = re.compile(r"\d+")
MIN_WORDS = 5  # of a template, beside its names and numbers: shorter ones are alike by chance


def digest(text: str) -> int:
    """Return 64 bits of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf8", "replace"), digest_size=8).digest(), "big")


def exact_key(text: str) -> int:
    """Return a key of a text that distinguishes case, as names need. 64 bits."""
    return digest(visible_text(text))


def text_key(text: str) -> int:
    """Return a key of 64 bits for a text, the same in any case."""
    return digest(plain_text(text))


def skeleton(text: str) -> str:
    """Return a text in which all numbers are alike."""
    return NUMBERS.sub("0", plain_text(text))


def template_key(doc: Doc, start: int, end: int, bounds: Iterable[EntityBounds]) -> int:
    """Return a key of a sentence that is the same for other names and numbers.

    doc (Doc): The document.
    start (int): First token of the sentence.
    end (int): One past the last token of the sentence.
    bounds (Iterable[EntityBounds]): The entities of the document; each is replaced by its type.
    RETURNS (int): The key, of 64 bits; 0 for a sentence with fewer than MIN_WORDS other words.
    """
    words = [skeleton(token.text) for token in doc[start:end]]
    is_word = [any(map(str.isalpha, word)) for word in words]
    for first, last, label in bounds:
        if start <= first and last <= end:
            words[first - start : last - start] = [doc.vocab.strings[label], *[""] * (last - first - 1)]
            is_word[first - start : last - start] = [False] * (last - first)
    return digest("\n".join(filter(None, words))) if sum(is_word) >= MIN_WORDS else 0


def sentence_keys(doc: Doc, near: bool = False) -> Iterator[int]:
    """Yield the key of each sentence of a document; blank sentences are skipped.

    near (bool): Whether sentences that differ only in names and numbers have the same key.
    """
    bounds = entity_bounds(doc) if near else []
    for start, end in all_bounds(doc):
        text = doc[start:end].text
        key = (near and template_key(doc, start, end, bounds)) or text_key(text)
        if not text.isspace():
            yield key
