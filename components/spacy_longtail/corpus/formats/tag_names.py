"""Names that a source does not give by itself: of its columns, and of tags that are numbers."""

from pathlib import Path
from typing import NamedTuple

import srsly

from ...errors import Errors

TAG = "ner_tags"  # as records on the Hugging Face hub usually call it


class Columns(NamedTuple):
    """Columns by name; an empty one is the format's usual one."""

    token: str = ""
    tag: str = ""
    sentence: str = ""  # where its value changes, a sentence begins

    @property
    def named(self) -> tuple[str, ...]:
        """What is not the usual one."""
        return tuple(field for field, name in self._asdict().items() if name)


USUAL = Columns()


def parse_columns(text: str) -> Columns:
    """The columns that an option names, as in token=word,tag=ner,sentence=sent_id."""
    found: dict[str, str] = {}
    for pair in text.split(","):
        field, _, name = (part.strip() for part in pair.partition("="))
        if field not in Columns._fields or not name or field in found:
            problem = f"{pair.strip()!r} names no column, or one again"
            raise ValueError(Errors.L581.format(found=text, problem=problem))
        found[field] = name
    return Columns(**found)


def read_tag_names(text: str, column: str = "") -> tuple[str, ...]:
    """The tags that numbers stand for, in order.

    text (str): Tags separated by commas, as O,B-PER,I-PER; or a file: a JSON list, a JSON object with
        names, label_names, id2label or the features of a data set, or one tag per line.
    column (str): The one whose feature it is, where a file has more than one.
    """
    path = Path(text)
    try:
        if not path.is_file():
            names: object = text.split(",")
        elif path.suffix.lower() == ".json":
            names = _names(srsly.read_json(path), column or TAG)
        else:
            names = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise ValueError(Errors.L583.format(found=text, problem=error)) from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problem = "it has no list of names" if path.is_file() else "there is no such file"
        raise ValueError(Errors.L583.format(found=text, problem=problem))
    tags = tuple(name.strip() for name in names if name.strip())
    problem = ""
    if len(set(tags)) < len(tags):
        problem = "a tag is named twice"
    elif len(tags) < 2:
        problem = "there is no such file, and it is no list of tags"
    if problem:
        raise ValueError(Errors.L583.format(found=text, problem=problem))
    return tags


def _names(found: object, column: str) -> object:
    """The list of names in what a JSON file holds; a column's own, if it has columns."""
    if not isinstance(found, dict):
        return found
    for key in ("names", "label_names"):
        if key in found:
            return found[key]
    if isinstance(ids := found.get("id2label"), dict):
        return [ids.get(str(i)) for i in range(len(ids))]
    for key in ("features", column, "feature"):
        if key in found:
            return _names(found[key], column)
    return None
