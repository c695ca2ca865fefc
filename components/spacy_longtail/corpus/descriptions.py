"""What a corpus says of itself: corpus.json in a source, types.json in a converted corpus."""

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import srsly
from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ..errors import Errors
from ..records import Record
from .labels import check_label
from .tokenizers import TOKENS, Tokens

DECLARED = "corpus.json"
TYPES = "types.json"
BOTH = "Declare them in both."
FIXES = {
    "labels": 'Write "labels": ["PER", ...].',
    "tail": 'Write "tail": ["PER", ...].',
    "lang": 'Write "lang": "en".',
    "tokens": f"Use {' or '.join(TOKENS)}.",
    "descriptions": 'Write "descriptions": {"PER": "person", ...}.',
    "open": "Write true where each mention has a type of its own. Else leave it out.",
}


class CorpusTypes(NamedTuple):
    labels: list[str]  # most frequent first, unless declared
    tail: list[str]  # the rare ones
    lang: str = "en"  # of the tokenizer
    tokens: str = "words"  # that it makes, or "characters"
    descriptions: dict[str, str] = {}  # noqa: RUF012  of types, in words; others are their names


def _with_words(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("words", "is empty")
    return text


TypeName = Annotated[str, AfterValidator(check_label)]


class Declared(Record):
    """`CorpusTypes` as files have them, or some of them; `model_fields_set` says which."""

    labels: list[TypeName] = Field(default_factory=list)
    tail: list[TypeName] = Field(default_factory=list)
    lang: str = "en"
    tokens: Tokens = "words"
    descriptions: dict[str, Annotated[str, AfterValidator(_with_words)]] = Field(default_factory=dict)
    open: bool = False  # each mention has a type of its own, and none is declared

    @model_validator(mode="after")
    def _declare_in_both(self) -> "Declared":
        for name, own in (("descriptions", self.descriptions), ("tail", self.tail)):
            strange = sorted(set(own) - set(self.labels))
            if strange and "labels" in self.model_fields_set:
                names = {"name": name, "strange": ", ".join(strange)}
                raise PydanticCustomError("strange", "{name} names {strange}, labels does not", names)
        return self


def read_types(corpus: Path, allow_open: bool = False) -> CorpusTypes:
    """The types of a converted corpus.

    allow_open (bool): Whether it may have open types, which are not declared.
    """
    path = corpus / TYPES
    if not path.is_file():
        fix = "Run `python -m spacy_longtail convert` first."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    found = _read(path)
    if found.open:
        if not allow_open:
            raise ValueError(Errors.L419.format(corpus=corpus))
        return CorpusTypes([], [], found.lang, found.tokens)
    missing = [name for name in ("labels", "tail") if name not in found.model_fields_set]
    if missing:
        raise _bad(path, f"it has no {' and no '.join(missing)}", "Convert the corpus again.")
    return CorpusTypes(**found.model_dump(exclude={"open"}))


def has_open_types(corpus: Path) -> bool:
    """Whether each mention of a converted corpus has a type of its own."""
    path = corpus / TYPES
    return path.is_file() and _read(path).open


def write_types(corpus: Path, types: CorpusTypes, is_open: bool = False) -> None:
    """Write types.json.

    types (CorpusTypes): What it is to say. is_open (bool): Whether it says instead that they are open.
    """
    found = types._asdict()
    if is_open:
        found = {"open": True, "lang": types.lang, "tokens": types.tokens}
    elif not types.descriptions:
        del found["descriptions"]
    write_json(corpus / TYPES, found)


def read_declared(source: Path) -> tuple[Path, Declared]:
    """What corpus.json declares, or types.json where the source is a converted corpus.

    source (Path): A folder, or a file beside which it stands.
    RETURNS (Tuple[Path, Declared]): The path, there or not; what is declared.
    """
    folder = source if source.is_dir() else source.parent
    path = next((folder / n for n in (DECLARED, TYPES) if (folder / n).is_file()), folder / DECLARED)
    return path, _read(path) if path.is_file() else Declared()


def check_open(path: Path, declared: Declared) -> None:
    """Refuse types that are declared beside open ones.

    path (Path): What declares them.
    """
    found = [name for name in ("labels", "tail", "descriptions") if getattr(declared, name)]
    if found:
        problem = f"it declares {' and '.join(found)}, but the types of the corpus are open"
        fix = f"Take {' and '.join(found)} out. Each mention has a type of its own."
        raise _bad(path, problem, fix)


def merged(declared: Declared) -> tuple[Declared, dict[str, str]]:
    """Types of one description as one type, by the first of their names.

    RETURNS (Tuple[Declared, Dict[str, str]]): What is declared then, and the new name of each other one.
    """
    by_text: dict[str, str] = {}
    names = {
        label: by_text.setdefault(" ".join(text.split()).casefold(), label)
        for label, text in declared.descriptions.items()
    }
    lists = {
        key: list(dict.fromkeys(names.get(label, label) for label in getattr(declared, key)))
        for key in ("labels", "tail")
    }
    texts = {label: text for label, text in declared.descriptions.items() if names[label] == label}
    found = declared.model_copy(update={**lists, "descriptions": texts})
    return found, {label: name for label, name in names.items() if label != name}


def _read(path: Path) -> Declared:
    try:
        found = srsly.read_json(path)
    except ValueError as error:
        raise _bad(path, str(error), "Write a JSON object.") from error
    if not isinstance(found, dict):
        raise _bad(path, f"found {str(found)[:60]!r}", "Write a JSON object.")
    if found and not found.keys() & FIXES.keys() and all(isinstance(v, str) for v in found.values()):
        found = {"descriptions": found}  # only that
    try:
        return Declared.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "strange":
            raise _bad(path, first["msg"], BOTH) from error
        if first["type"] == "value_error":  # of a type's name
            problem, _, fix = str(first["ctx"]["error"]).rpartition(". ")
            raise _bad(path, problem, fix) from error
        name = str(first["loc"][0])
        raise _bad(path, f"{name} is {found[name]!r}", FIXES[name]) from error


def _bad(path: Path, problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L430.format(path=path, problem=problem, fix=fix))


def write_json(path: Path, data: object) -> None:
    """Indented, in UTF-8."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
