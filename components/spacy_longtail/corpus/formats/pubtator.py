"""PubTator: title and abstract of an article with lines of annotations; offsets count over both."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .context import Context
from .options import FileOptions, SpanOptions
from .spans import CharSpan, Text
from .text import Place, lines, unreadable

PARTS = re.compile(r"(\d+)\|([ta])\|(.*)")  # ID|t|title and ID|a|abstract
FIX = "PubTator writes ID|t|title, ID|a|abstract, then ID TAB start TAB end TAB mention TAB type."


@dataclass(frozen=True, kw_only=True)
class PubtatorReader(FileOptions, SpanOptions):
    """Reader of PubTator. An article is one document: its title, a blank, its abstract."""

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield each article. Relations between its entities are counted."""
        place, name, texts, spans = Place(path, 1), "", list[str](), list[CharSpan]()
        for at, line in lines(path, self.encoding):
            cells = line.split("\t")
            if part := PARTS.fullmatch(line):
                if part[2] == "t":
                    if texts:
                        yield Text(place, " ".join(texts), spans, (), {"article": name})
                    place, name, texts, spans = at, part[1], [], []
                texts.append(part[3])
            elif len(cells) >= 5 and cells[1].isdecimal() and cells[2].isdecimal():
                start, end = int(cells[1][:15]), int(cells[2][:15])
                spans.append(CharSpan(at, cells[3], start, end, cells[4]))
            elif len(cells) == 4:
                context.events.add("ignored", "relations", at)
            elif line.strip():
                raise unreadable(at, f"expected an annotation, found {line[:60]!r}", FIX)
        if texts:
            yield Text(place, " ".join(texts), spans, (), {"article": name})


def is_pubtator(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file starts with the title of a PubTator article."""
    found = PARTS.match(head.lstrip())
    return bool(found) and found[2] == "t"  # type: ignore[index]
