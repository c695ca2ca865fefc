"""Lists of names by type, such as catalogues, registers or price lists."""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..output.console import progress
from .labels import check_label

NAMES = "names.jsonl"  # in a converted corpus
LISTS = "names"  # folder of TYPE.txt beside the parts of a source
MIN_CHARACTERS = 2  # a name of one letter would match far too often
BATCH = 10_000  # number of names that are added to a matcher at once
WORD_KEYS = ("LOWER", "TEXT", "ORTH")  # of a token pattern

Names = dict[str, list[list[str]]]  # the words of each name, by type


def read_names(path: Path, tokenize: Callable[[str], Iterable[str]]) -> Names:
    """Read lists of names.

    path (Path): A folder with a file TYPE.txt for each type, one name per line, or a JSONL file of
        patterns as spaCy's `entity_ruler` writes them: {"label": "HERB", "pattern": "lemon balm"}.
        A pattern may also be a list of tokens, each with LOWER, TEXT or ORTH alone.
    tokenize (Callable[[str], Iterable[str]]): Returns the words of a name.
    RETURNS (Names): The words of each name by type, in the order of the file, each once. A text may
        be split in two ways. Names that differ in case alone are one name, and names of one
        character are skipped.
    RAISES (ValueError): If the file cannot be read (L803).
    """
    names: dict[str, dict[tuple[str, ...], list[str]]] = {}
    too_short = list[str]()
    for place, label, pattern in progress(_entries(path), "names"):
        ways = _words_of(pattern, tokenize)
        if not ways:
            problem = f"its pattern has more than words: {json.dumps(pattern, ensure_ascii=False)}"
            raise ValueError(Errors.L803.format(path=path, place=place, problem=problem))
        for words in ways:
            if sum(map(len, words)) >= MIN_CHARACTERS:
                names.setdefault(label, {}).setdefault(_key(words), words)
        if sum(map(len, ways[0])) < MIN_CHARACTERS:
            too_short.append(f"{label}{place}")
    if not names:
        raise ValueError(Errors.L803.format(path=path, place="", problem="it holds no name"))
    if too_short:
        warnings.warn(
            Warnings.W209.format(path=path, n=len(too_short), first=too_short[0]), stacklevel=2
        )
    return {label: list(distinct.values()) for label, distinct in names.items()}


def write_names(path: Path, names: Names) -> None:
    """Write lists of names as patterns that spaCy's `entity_ruler` also reads.

    path (Path): The file.
    names (Names): The words of each name by type.
    """
    with path.open("w", encoding="utf8") as file:
        for label, of_type in names.items():
            for words in of_type:
                pattern = [{"TEXT": word} for word in words]
                file.write(json.dumps({"label": label, "pattern": pattern}, ensure_ascii=False) + "\n")


def words_by(nlp: Language) -> Callable[[str], list[str]]:
    """Return a function that splits a name into words as a pipeline's tokenizer does."""
    return lambda text: [token.text for token in nlp.make_doc(text) if not token.is_space]


def matcher_of(
    vocab: Vocab, names: Mapping[str, Iterable[Sequence[str]]], attr: str = "LOWER"
) -> PhraseMatcher:
    """Return a matcher of names by type.

    vocab (Vocab): Vocabulary of the documents.
    names (Mapping[str, Iterable[Sequence[str]]]): The words of each name by type.
    attr (str): Attribute that words are compared by: "LOWER" ignores case, "ORTH" does not.
    """
    matcher = PhraseMatcher(vocab, attr=attr)
    for label, of_type in names.items():
        for batch in minibatch(of_type, BATCH):  # a million documents would fill the memory
            matcher.add(label, [Doc(vocab, words=list(words)) for words in batch])
    return matcher


def convert_names(source: Path, folder: Path, nlp: Language) -> Names:
    """Write the lists of names of a corpus into its converted folder, if it has any.

    source (Path): Folder of the corpus, or its file. The lists beside it are `names.jsonl`, or a
        folder `names`.
    folder (Path): The folder to write names.jsonl into.
    nlp (Language): Pipeline with the tokenizer of the corpus.
    RETURNS (Names): The names; none if there are no lists.
    RAISES (ValueError): If they cannot be read (L803).
    """
    path = _find_lists(source if source.is_dir() else source.parent)
    if path is None:
        return {}
    names = read_names(path, words_by(nlp))
    write_names(folder / NAMES, names)
    return names


def _find_lists(folder: Path) -> Path | None:
    """Return the lists of names in a folder, if there are any. A plain file `names` is none."""
    patterns, lists = folder / NAMES, folder / LISTS
    if patterns.is_file():
        return patterns
    if any(lists.glob("*.txt")):
        return lists
    return None


class ListCounts(NamedTuple):
    """How the names of one list occur in annotated documents."""

    names: int  # number of names in the list
    shared: int  # names that the list of another type has as well
    as_type: int = 0  # occurrences that are annotated with the type of the list
    as_other: int = 0  # occurrences that overlap another mention, or one with other boundaries
    unannotated: int = 0  # occurrences outside of mentions


def count_names(names: Names, docs: Iterable[Doc]) -> dict[str, ListCounts]:
    """Count how often listed names occur in documents, and how they are annotated there.

    names (Names): The words of each name by type.
    docs (Iterable[Doc]): Annotated documents of one vocabulary.
    RETURNS (Dict[str, ListCounts]): Counts by type. Occurrences may overlap.
    """
    lists_of = Counter(_key(words) for of_type in names.values() for words in of_type)
    found = Counter[tuple[str, str]]()  # by type, and field of ListCounts
    matcher: PhraseMatcher | None = None
    for doc in docs:
        matcher = matcher or matcher_of(doc.vocab, names)
        ents = {(ent.start, ent.end): ent.label_ for ent in doc.ents}
        types = doc.to_array("ENT_TYPE")
        for span in matcher(doc, as_spans=True):
            is_exact = ents.get((span.start, span.end)) == span.label_
            other = "as_other" if types[span.start : span.end].any() else "unannotated"
            found[span.label_, "as_type" if is_exact else other] += 1
    return {
        label: ListCounts(
            names=len(of_type),
            shared=sum(lists_of[_key(words)] > 1 for words in of_type),
            as_type=found[label, "as_type"],
            as_other=found[label, "as_other"],
            unannotated=found[label, "unannotated"],
        )
        for label, of_type in names.items()
    }


def _key(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(str.lower, words))


def _entries(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the place, type and pattern of each entry. The place begins with a comma."""
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            label = _label_of(file.stem, path, f", {file.name}")
            for i, line in enumerate(_lines(file), start=1):
                yield f", {file.name}, line {i}", label, line
        return
    for i, line in enumerate(_lines(path), start=1):
        place = f", line {i}"
        try:
            entry = json.loads(line)
            label, pattern = entry["label"], entry["pattern"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = 'it is no pattern such as {"label": "HERB", "pattern": "lemon balm"}'
            raise ValueError(Errors.L803.format(path=path, place=place, problem=problem)) from error
        yield place, _label_of(label, path, place), pattern


def _label_of(label: Any, path: Path, place: str) -> str:
    """Return the name of a type, or raise L803 if it cannot be one."""
    try:
        return check_label(label)
    except ValueError as error:
        raise ValueError(Errors.L803.format(path=path, place=place, problem=error)) from error


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that are not blank, without white space at their ends."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from filter(None, map(str.strip, file))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(Errors.L803.format(path=path, place="", problem=error)) from error


def _words_of(pattern: Any, tokenize: Callable[[str], Iterable[str]]) -> list[list[str]]:
    """Return the words of a pattern in each way of splitting it, or nothing if it has operators.

    A text is split by the tokenizer and at white space, because a corpus in columns has its own
    tokens, such as "55+".
    """
    if isinstance(pattern, str):
        return [list(tokenize(pattern)), pattern.split()]
    if not isinstance(pattern, list):
        return []
    words = [next(iter(token.values())) for token in pattern if _is_word(token)]
    return [words] if len(words) == len(pattern) else []


def _is_word(token: Any) -> bool:
    if not isinstance(token, dict) or len(token) != 1:
        return False
    ((key, word),) = token.items()
    return key.upper() in WORD_KEYS and isinstance(word, str)
