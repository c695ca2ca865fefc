"""Splitting of words into subwords, with the tokenizer of a transformer."""

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc
from thinc.types import Ints1d

if TYPE_CHECKING:  # an extra
    from tokenizers import Tokenizer

MAX_PIECES = 12  # of a word
MAX_CHARACTERS = 80  # of a word that are read
MAX_WORDS = 100_000  # whose subwords are remembered


class WordSubwords(NamedTuple):
    """Subwords of a document's words, one word after the other."""

    ids: Ints1d  # shape (n_subwords,)
    lengths: Ints1d  # number of subwords of each word, shape (n_words,)


class SubwordTokenizer:
    """Splits words into subwords and caches them by the word's hash. Threads may share it.

    tokenizer (Tokenizer): A tokenizer without padding and truncation.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self.known: dict[int, list[int]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"tokenizer": self.tokenizer, "known": {}}

    @cached_property
    def ends(self) -> tuple[list[int], list[int]]:
        """Return the special subwords before and after a sequence."""
        encoding = self.tokenizer.encode("a")
        inner = [i for i, word in enumerate(encoding.word_ids) if word is not None]
        return encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :]

    @cached_property
    def unknown(self) -> int:
        """Return the subword for tokens without any, such as white space."""
        ids = map(self.tokenizer.token_to_id, ("[UNK]", "<unk>", "<|endoftext|>"))
        return next((int(i) for i in ids if i is not None), 0)

    def of(self, docs: Iterable[Doc]) -> list[WordSubwords]:
        """Return the subwords of each document's words."""
        docs = list(docs)
        known = self.known if len(self.known) <= MAX_WORDS else {}  # other threads keep the old one
        keys = [doc.to_array(ORTH).tolist() for doc in docs]
        fresh = {
            key: doc.vocab.strings[key][:MAX_CHARACTERS]
            for doc, doc_keys in zip(docs, keys, strict=True)
            for key in {*doc_keys}
            if key not in known
        }
        if fresh:
            texts = [[text] for text in fresh.values()]
            encodings = self.tokenizer.encode_batch(
                texts, is_pretokenized=True, add_special_tokens=False
            )
            for key, encoding in zip(fresh, encodings, strict=True):
                known[key] = encoding.ids[:MAX_PIECES] or [self.unknown]
        self.known = known
        by_doc = [[known[key] for key in doc_keys] for doc_keys in keys]
        return [
            WordSubwords(
                np.fromiter(chain.from_iterable(ids), "int64"), np.fromiter(map(len, ids), "int64")
            )
            for ids in by_doc
        ]
