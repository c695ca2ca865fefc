"""Synonyms from a file, or from WordNet through nltk."""

import importlib
import json
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors, Warnings

if TYPE_CHECKING:  # nltk is an extra
    from nltk.corpus.reader import WordNetCorpusReader

FORM = 'Write word TAB synonym TAB synonym lines, or JSON as {"word": ["synonym", ...]}.'


def read_thesaurus(path: Path) -> dict[str, list[str]]:
    """Lower-cased words to their distinct synonyms.

    path (Path): A UTF-8 file, .json or word TAB synonym TAB synonym.
    RAISES (ValueError): L116, L401 with the line, L402.
    """
    entries = _json_entries if path.suffix.lower() == ".json" else _line_entries
    found: dict[str, dict[str, None]] = {}
    n_long = n_entries = 0
    for word, synonyms in entries(path, _text(path)):
        n_entries += 1
        if len(word.split()) > 1:
            n_long += 1
            continue
        known = found.setdefault(word.lower(), {})
        known.update(dict.fromkeys(s for s in synonyms if s.lower() != word.lower()))
    thesaurus = {word: list(synonyms) for word, synonyms in found.items() if synonyms}
    if not thesaurus:
        raise _unfit(path, "it has no synonym of a single word")
    if n_long:
        warnings.warn(Warnings.W020.format(path=path, n=n_long, total=n_entries), stacklevel=4)
    return thesaurus


def _text(path: Path) -> str:
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Name a thesaurus file."))
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unfit(path, f"it is not UTF-8 ({error})") from error


def _unfit(path: Path, problem: str) -> ValueError:
    return ValueError(Errors.L116.format(path=path, problem=problem, fix=FORM))


def _cleaned(synonyms: Iterable[str]) -> list[str]:
    return [cleaned for synonym in synonyms if (cleaned := " ".join(synonym.split()))]


def _line_entries(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    for i, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        word, *synonyms = line.split("\t")
        if not word.strip() or not _cleaned(synonyms):
            problem = f"expected a word and its synonyms, found {line[:60]!r}"
            raise ValueError(Errors.L401.format(path=path, line=i, problem=problem, fix=FORM))
        yield word.strip(), _cleaned(synonyms)


def _json_entries(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    try:
        entries: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            Errors.L401.format(path=path, line=error.lineno, problem=error.msg, fix=FORM)
        ) from error
    if not isinstance(entries, dict):
        raise _unfit(path, f"expected an object, found {type(entries).__name__}")
    for word, synonyms in entries.items():
        if not isinstance(synonyms, list) or not all(isinstance(s, str) for s in synonyms):
            problem = f"expected a list of strings for {word!r}, found {str(synonyms)[:60]}"
            raise _unfit(path, problem)
        yield word.strip(), _cleaned(synonyms)


def check_wordnet() -> None:
    """RAISES (ValueError): L117 if nltk or its WordNet data is missing."""
    try:
        _wordnet().synsets("word")
    except ImportError as error:
        raise ValueError(Errors.L117.format(found="no nltk")) from error
    except LookupError as error:
        raise ValueError(Errors.L117.format(found="nltk without the data")) from error


@cache
def wordnet_synonyms(word: str) -> list[str]:
    """The other lemmas of every sense of a word, most frequent sense first."""
    names = (name for synset in _wordnet().synsets(word) for name in synset.lemma_names())
    lemmas = dict.fromkeys(name.replace("_", " ") for name in names)
    return [lemma for lemma in lemmas if lemma.lower() != word]


def _wordnet() -> "WordNetCorpusReader":
    return importlib.import_module("nltk.corpus").wordnet
