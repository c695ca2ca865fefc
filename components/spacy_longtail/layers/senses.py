"""What WordNet says that a word is: the paths of nouns in its tree, by their most frequent sense."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spacy.strings import get_string_id

from ..errors import Errors
from .path_table import MOST_BITS, PathTable, path_table

if TYPE_CHECKING:  # nltk is not required
    from nltk.data import PathPointer

WORDNET = "wordnet"  # stands for the one that nltk downloads
LANGUAGE = "en"  # its
FILES = ("index.noun", "data.noun")
IRREGULAR = "noun.exc"  # plurals, where there is such a file
CLASS_BITS = 6  # 26 classes of nouns: event, phenomenon, artifact, person and others
DEPTH = 6  # of the ancestor, below "entity": atmospheric phenomenon, social event, body of water
SHORTEST = 3  # WordNet's "a", "in" and "at" are letters, inches and a currency
UP = ("@", "@i")  # pointers to what a noun is a kind, or an instance, of


class Noun(NamedTuple):
    """What a noun of one sense is: a synset."""

    name: str
    of_class: int  # a number of WordNet's file of lexicographers
    above: str | None  # what it is a kind of


@cache  # it takes a second
def read_senses(source: str) -> PathTable:
    """The classes of nouns: six bits of the class, then bits of an ancestor in the tree.

    Of each word, and of its plurals, the most frequent sense counts.

    source (str): "wordnet" for nltk's data, or a folder with WordNet's index.noun and data.noun.
    RETURNS (PathTable): At least one word.
    RAISES (ValueError): L262, L263, L269, L402.
    """
    words, nouns = read_nouns(source)
    paths = {sense: _path(sense, nouns) for sense in set(words.values())}
    return path_table({get_string_id(word): paths[sense] for word, sense in words.items()})


def read_nouns(source: str) -> tuple[dict[str, str], dict[str, Noun]]:
    """The single words of a WordNet, plurals too, with their most frequent sense, and what it is.

    source (str): As for `read_senses`.
    RETURNS (Tuple[Dict[str, str], Dict[str, Noun]]): Senses by word in lower case, nouns by sense.
    RAISES (ValueError): L262, L263, L269, L402.
    """
    files = _files(source)
    nouns = _nouns(files["data.noun"])
    senses = _first_senses(files["index.noun"], nouns)
    return {**_plurals(senses, files.get(IRREGULAR, "")), **senses}, nouns


def _nouns(text: str) -> dict[str, Noun]:
    """The synsets of data.noun by their number."""
    found: dict[str, Noun] = {}
    for line, columns in _lines(text):
        try:
            pointers = columns[5 + 2 * int(columns[3], 16) :]
            above = (
                number for sign, number in zip(pointers[::4], pointers[1::4], strict=False) if sign in UP
            )
            found[columns[0]] = Noun(columns[4], int(columns[1]), next(above, None))
        except (ValueError, IndexError) as error:
            raise _unfit("data.noun", line, columns) from error
    return found


def _first_senses(text: str, nouns: Mapping[str, Noun]) -> dict[str, str]:
    """The most frequent synset of each single word in index.noun."""
    found: dict[str, str] = {}
    for line, columns in _lines(text):
        word = columns[0].lower()
        if "_" in word or len(word) < SHORTEST or not word[0].isalpha():
            continue
        try:
            sense = columns[-int(columns[2])]
            nouns[sense]
        except (ValueError, IndexError, KeyError) as error:
            raise _unfit("index.noun", line, columns) from error
        found[word] = sense
    if not found:
        raise _unfit("index.noun", 1, [])
    return found


def _path(sense: str, nouns: Mapping[str, Noun]) -> int:
    """Of a synset: its class, and its ancestor's name, hashed."""
    line = [sense]
    while (above := nouns[line[-1]].above) is not None and above in nouns and above not in line:
        line.append(above)
    ancestor = nouns[line[max(0, len(line) - 1 - DEPTH)]]
    rest = get_string_id(ancestor.name) % (1 << MOST_BITS - CLASS_BITS)
    return nouns[sense].of_class % (1 << CLASS_BITS) | rest << CLASS_BITS


def _plurals(senses: Mapping[str, str], irregular: str) -> dict[str, str]:
    """The plurals of words; the irregular ones of noun.exc win."""
    found = {plural: sense for word, sense in senses.items() for plural in _regular(word)}
    pairs = (line.split()[:2] for line in irregular.splitlines() if len(line.split()) > 1)
    return {**found, **{plural: senses[word] for plural, word in pairs if word in senses}}


def _regular(word: str) -> list[str]:
    if word.endswith(("s", "x", "ch", "sh")):
        return [f"{word}es"]
    if word.endswith("y") and word[-2] not in "aeiou":
        return [f"{word[:-1]}ies"]
    return [f"{word}s", f"{word[:-3]}men"] if word.endswith("man") else [f"{word}s"]


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Numbers and columns of lines; the licence is indented, and glosses are cut."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("  "):
            yield number, line.partition("|")[0].split()


def _unfit(name: str, line: int, columns: Sequence[str]) -> ValueError:
    found = " ".join(columns)[:60] or "nothing"
    return ValueError(Errors.L262.format(name=name, line=line, found=found))


def _files(source: str) -> dict[str, str]:
    """The text of WordNet's files by name."""
    return _of_nltk() if source == WORDNET else _of_folder(Path(source))


def _of_folder(folder: Path) -> dict[str, str]:
    for name in FILES:
        if not (folder / name).is_file():
            fix = f"Name a folder with WordNet's {' and '.join(FILES)}, or 'wordnet' for nltk's."
            raise ValueError(Errors.L402.format(path=folder / name, fix=fix))
    found = {}
    for path in (folder / name for name in (*FILES, IRREGULAR) if (folder / name).is_file()):
        try:
            found[path.name] = path.read_text(encoding="utf8")
        except UnicodeDecodeError as error:
            raise ValueError(Errors.L269.format(path=path, problem=error)) from error
    return found


def has_wordnet(lang: str) -> bool:
    """Whether nltk's WordNet is there, and is of a language."""
    try:
        return lang == LANGUAGE and bool(_nltk_folder())
    except ValueError:
        return False


def _of_nltk() -> dict[str, str]:
    folder = _nltk_folder()
    return {name: folder.join(name).open("utf8").read() for name in (*FILES, IRREGULAR)}


def _nltk_folder() -> "PathPointer":
    try:
        import nltk
    except ImportError as error:
        raise ValueError(Errors.L263.format(found="no nltk")) from error
    for place in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):  # the second as it is downloaded
        with suppress(LookupError):
            return nltk.data.find(place)
    raise ValueError(Errors.L263.format(found="nltk without the data"))
