"""OpenNLP's training format: a sentence of blank-separated tokens per line, with marked names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc

from .context import Context
from .options import FileOptions
from .tags import TaggedToken, TagReader, tokens_doc
from .text import Place, lines, unreadable

START, END = re.compile(r"<START(?::(.+))?>"), "<END>"
FIX = "Write <START:type> token ... <END>, with blanks between."


@dataclass(frozen=True, kw_only=True)
class OpennlpReader(FileOptions):
    """Reader of OpenNLP's name finder format. A name without a type gets the type "default"."""

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield one document per sentence. The tokens are as given."""
        reader = TagReader(context, "iob2")
        for place, line in lines(path, self.encoding):
            if rows := _rows(line, place):
                yield tokens_doc(context.nlp.vocab, [reader.read(rows)])


def _rows(line: str, place: Place) -> list[TaggedToken]:
    rows: list[TaggedToken] = []
    label, prefix = "", ""  # of the open name
    for token in line.split():
        if start := START.fullmatch(token):
            if label:
                raise unreadable(place, f"{token} begins a name within another one", FIX)
            label, prefix = start[1] or "default", "B"
        elif token == END:
            if prefix != "I":
                raise unreadable(place, f"{END} ends no name, or one without a token", FIX)
            label = prefix = ""
        else:
            rows.append(TaggedToken(place, token, f"{prefix}-{label}" if label else "O"))
            prefix = "I" if label else ""
    if label:
        raise unreadable(place, f"a name of type {label!r} has no {END}", FIX)
    return rows


def is_opennlp(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file marks names as OpenNLP does."""
    return "<START" in head and END in head
