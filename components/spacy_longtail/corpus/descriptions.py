"""What a corpus says of itself: corpus.json in a source, types.json in a converted corpus."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import srsly

from ..errors import Errors
from .tokenizers import TOKENS

DECLARED = "corpus.json"
TYPES = "types.json"


class CorpusTypes(NamedTuple):
    labels: list[str]  # most frequent first, unless declared
    tail: list[str]  # the rare ones
    lang: str = "en"  # of the tokenizer
    tokens: str = "words"  # that it makes, or "characters"
    descriptions: dict[str, str] = {}  # noqa: RUF012  of types, in words; others are their names


def read_types(corpus: Path) -> CorpusTypes:
    """The types of a converted corpus. RAISES (ValueError): L402, L430."""
    path = corpus / TYPES
    if not path.is_file():
        fix = "Run `python -m spacy_longtail convert` first."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    found = _read(path)
    missing = [name for name in ("labels", "tail") if name not in found]
    if missing:
        raise _bad(path, f"it has no {' and no '.join(missing)}", "Convert the corpus again.")
    return CorpusTypes(**found)


def write_types(corpus: Path, types: CorpusTypes) -> None:
    """corpus (Path): The folder. types (CorpusTypes): What types.json is to say."""
    found = types._asdict()
    if not types.descriptions:
        del found["descriptions"]
    write_json(corpus / TYPES, found)


def read_declared(source: Path) -> tuple[Path, dict[str, Any]]:
    """What corpus.json declares, or types.json where the source is a converted corpus.

    source (Path): A folder, or a file beside which it stands.
    RETURNS (Tuple[Path, Dict[str, Any]]): The path, existing or not; some of labels, tail, lang, tokens.
    RAISES (ValueError): L430.
    """
    folder = source if source.is_dir() else source.parent
    path = next((folder / n for n in (DECLARED, TYPES) if (folder / n).is_file()), folder / DECLARED)
    return path, _read(path) if path.is_file() else {}


def _read(path: Path) -> dict[str, Any]:
    """The keys that this package knows, checked."""
    try:
        found = srsly.read_json(path)
    except ValueError as error:
        raise _bad(path, str(error), "Write a JSON object.") from error
    if not isinstance(found, dict):
        raise _bad(path, f"found {str(found)[:60]!r}", "Write a JSON object.")
    known = {name: found[name] for name in CorpusTypes._fields if name in found}
    for name in ("labels", "tail"):
        types = known.get(name, [])
        if not isinstance(types, list) or not all(isinstance(t, str) and t for t in types):
            raise _bad(path, f"{name} is {types!r}", f'Write "{name}": ["PER", ...].')
    if not isinstance(known.get("lang", ""), str):
        raise _bad(path, f"lang is {known['lang']!r}", 'Write "lang": "en".')
    if known.get("tokens", "words") not in TOKENS:
        raise _bad(path, f"tokens is {known['tokens']!r}", f"Use {' or '.join(TOKENS)}.")
    texts = known.get("descriptions", {})
    if not isinstance(texts, dict) or not all(isinstance(t, str) and t.strip() for t in texts.values()):
        fix = 'Write "descriptions": {"PER": "person", ...}.'
        raise _bad(path, f"descriptions is {texts!r}", fix)
    nameless = sorted(set(texts) - set(known.get("labels", texts)))
    if nameless:
        problem = f"descriptions names {', '.join(nameless)}, labels does not"
        raise _bad(path, problem, "Declare them in both.")
    strange = sorted(set(known.get("tail", [])) - set(known.get("labels", known.get("tail", []))))
    if strange:
        raise _bad(path, f"tail names {', '.join(strange)}, labels does not", "Declare them in both.")
    return known


def _bad(path: Path, problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L430.format(path=path, problem=problem, fix=fix))


def write_json(path: Path, data: Any) -> None:
    """Indented, in UTF-8."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
