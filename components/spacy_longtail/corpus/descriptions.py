"""Declarations of a corpus: corpus.json in a source, types.json in a converted corpus."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from spacy.language import Language

from ..errors import Errors
from ..records import Record, problem_of
from .labels import check_label
from .tokenizers import Tokens, blank

DECLARED = "corpus.json"
TYPES = "types.json"
EXAMPLE = 'Write a JSON object such as {"labels": ["PER", "GEO"], "tail": ["GEO"], "lang": "en"}.'


class CorpusTypes(NamedTuple):
    labels: list[str]  # most frequent first, unless declared
    tail: list[str]  # the rare ones
    lang: str = "en"  # of the tokenizer
    tokens: str = "words"  # that it makes, or "characters"
    descriptions: dict[str, str] = {}  # noqa: RUF012  of types, in words; others are their names
    group_by: str | None = None  # key of user_data: documents of one value stay in one part or fold
    other_descriptions: dict[str, list[str]] = {}  # noqa: RUF012  in other words or languages

    def blank(self) -> Language:
        """Return a pipeline with only the tokenizer of the corpus."""
        return blank(self.lang, self.tokens)


TypeName = Annotated[str, AfterValidator(check_label)]
Words = Annotated[str, StringConstraints(pattern=r"\S")]


class Declared(Record):
    """`CorpusTypes` as files have them, or some of them; `model_fields_set` says which."""

    labels: list[TypeName] = Field(default_factory=list)
    tail: list[TypeName] = Field(default_factory=list)
    lang: str = "en"
    tokens: Tokens = "words"
    descriptions: dict[str, Words] = Field(default_factory=dict)
    group_by: Words | None = None
    other_descriptions: dict[str, list[Words]] = Field(default_factory=dict)
    open: bool = False  # whether types are free text, one per mention, and not declared


def read_types(corpus: Path, allow_open: bool = False) -> CorpusTypes:
    """Return the types of a converted corpus.

    corpus (Path): A folder that `convert` wrote.
    allow_open (bool): Whether the types may be free text.
    RAISES (ValueError): If there are no types (L402), or they cannot be used (L419, L430).
    """
    path = corpus / TYPES
    if not path.is_file():
        raise ValueError(
            Errors.L402.format(path=path, fix="Run `python -m spacy_longtail convert` first.")
        )
    declared = _read(path)
    if declared.open:
        if not allow_open:
            raise ValueError(Errors.L419.format(corpus=corpus))
        return CorpusTypes([], [], declared.lang, declared.tokens)
    if not {"labels", "tail"} <= declared.model_fields_set:
        raise _bad(path, "it lacks labels or tail", "Convert the corpus again.")
    return CorpusTypes(**declared.model_dump(exclude={"open"}))


def has_open_types(corpus: Path) -> bool:
    """Return whether a converted corpus has free-text types, one per mention."""
    path = corpus / TYPES
    return path.is_file() and _read(path).open


def write_types(corpus: Path, types: CorpusTypes, is_open: bool = False) -> None:
    """Write types.json.

    types (CorpusTypes): The types.
    is_open (bool): Whether the corpus has free-text types, so that no types are written.
    """
    optional = ("descriptions", "group_by", "other_descriptions")
    content = {key: value for key, value in types._asdict().items() if key not in optional or value}
    if is_open:
        content = {"open": True, "lang": types.lang, "tokens": types.tokens}
    write_json(corpus / TYPES, content)


def read_declared(source: Path) -> tuple[Path, Declared]:
    """Return what corpus.json declares, or types.json if the source is a converted corpus.

    source (Path): A folder, or a file in it.
    RETURNS (Tuple[Path, Declared]): The path, which may not exist, and the declarations.
    """
    folder = source if source.is_dir() else source.parent
    paths = [path for name in (DECLARED, TYPES) if (path := folder / name).is_file()]
    return (paths[0], _read(paths[0])) if paths else (folder / DECLARED, Declared())


def check_declared(path: Path, declared: Declared, is_open: bool, needed: bool = False) -> None:
    """Refuse types that are declared beside free-text ones, or missing where they are needed.

    path (Path): File of the declarations, for the error.
    declared (Declared): The declarations.
    is_open (bool): Whether the corpus has free-text types.
    needed (bool): Whether the format needs declared types.
    RAISES (ValueError): L430.
    """
    names = [
        name
        for name in ("labels", "tail", "descriptions", "other_descriptions")
        if getattr(declared, name)
    ]
    if is_open and names:
        raise _bad(
            path,
            f"it declares {' and '.join(names)}, but the corpus has free-text types",
            "Remove them.",
        )
    if needed and not (is_open or declared.labels):
        raise _bad(path, "marked-up articles need their labels declared there", EXAMPLE)


def _read(path: Path) -> Declared:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        if data and not data.keys() & Declared.model_fields.keys():
            data = {"descriptions": data}  # only that
        declared = Declared.model_validate(data)
    except (ValueError, AttributeError, RecursionError) as error:
        raise _bad(
            path, problem_of(error) if isinstance(error, ValidationError) else error, EXAMPLE
        ) from error
    for name, types in (("labels", declared.labels), ("tail", declared.tail)):
        if repeated := [label for label, n in Counter(types).items() if n > 1]:
            raise _bad(
                path, f"{name} has {', '.join(repeated)} more than once", "Declare each type once."
            )
    strange = sorted({*declared.descriptions, *declared.tail} - set(declared.labels))
    if strange and "labels" in declared.model_fields_set:
        raise _bad(
            path,
            f"tail or descriptions name {', '.join(strange)}, labels does not",
            "Correct their spelling, or declare them in both.",
        )
    return declared


def _bad(path: Path, problem: object, fix: str) -> ValueError:
    return ValueError(Errors.L430.format(path=path, problem=problem, fix=fix))


def write_json(path: Path, data: object) -> None:
    """Write JSON, indented, in UTF-8."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
