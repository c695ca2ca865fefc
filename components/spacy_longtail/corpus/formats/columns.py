"""Names that a source does not give by itself: of its columns, and of tags that are numbers."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...errors import Errors

TAG = "ner_tags"  # as records on the Hugging Face hub usually call it


class Columns(NamedTuple):
    """Columns by name; an empty one is the format's usual one."""

    token: str = ""
    tag: str = ""
    sentence: str = ""  # where its value changes, a sentence begins

    @property
    def named(self) -> set[str]:
        """Those that are not the usual ones."""
        return {field for field, name in self._asdict().items() if name}


USUAL = Columns()


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
