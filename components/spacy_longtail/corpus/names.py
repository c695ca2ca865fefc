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
from ..sentences import plain_text
from .examples import is_annotated
from .formats.text import lines
from .labels import check_label

NAMES = "names.jsonl"  # in a converted corpus
LISTS = "names"  # folder of TYPE.txt beside the parts of a source
LIST_SUFFIX = ".txt"  # of a file in that folder, in any case
MIN_CHARACTERS = 2  # a name of one letter would match far too often
MAX_CHARACTERS = 1000  # a longer name is a text, or its line breaks are lost
UTF8 = "utf8"
BATCH = 10_000  # number of names that are added to a matcher at once
WORD_KEYS = ("LOWER", "TEXT", "ORTH")  # of a token pattern

Names = dict[str, list[list[str]]]  # the words of each name, by type


def read_names(path: Path, tokenize: Callable[[str], Iterable[str]], encoding: str = UTF8) -> Names:
    """Read lists of names.

    path (Path): A folder with a file TYPE.txt for each type, one name per line, or a JSONL file of
        patterns as spaCy's `entity_ruler` writes them: {"label": "HERB", "pattern": "lemon balm"}.
        A pattern may also be a list of tokens, each with LOWER, TEXT or ORTH alone.
    tokenize (Callable[[str], Iterable[str]]): Returns the words of a name.
    encoding (str): Encoding of those files TYPE.txt that are not UTF-8, by Python's name. JSONL is
        always UTF-8.
    RETURNS (Names): The words of each name by type, in the order of the file, each once. A text may
        be split in two ways. Names that differ in case alone are one name. Names of one character
        and names without a letter or digit are skipped.
    RAISES (ValueError): If an entry is no name (L803) or a file cannot be decoded (L401).
    """
    names: dict[str, dict[tuple[str, ...], list[str]]] = {}
    skipped = list[str]()
    for place, label, pattern in progress(_entries(path, encoding), "names"):
        if problem := _problem_of(pattern):
            raise ValueError(Errors.L803.format(path=path, place=place, problem=problem))
        for words in _words_of(pattern, tokenize):
            text = "".join(words)
            if len(text) >= MIN_CHARACTERS and any(map(str.isalnum, text)):
                names.setdefault(label, {}).setdefault(_key(words), words)
            elif not skipped or skipped[-1] != f"{label}{place}":
                skipped.append(f"{label}{place}")
    if not names:
        problem = "it holds no name"
        if skipped:
            problem = "it has only names of one character or of punctuation, which are skipped"
        raise ValueError(Errors.L803.format(path=path, place="", problem=problem))
    if skipped:
        warnings.warn(Warnings.W209.format(path=path, n=len(skipped), first=skipped[0]), stacklevel=2)
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
        listed = progress(of_type, f"names of {label}")
        for batch in minibatch(listed, BATCH):  # a million documents would fill the memory
            matcher.add(label, [Doc(vocab, words=list(words)) for words in batch])
    return matcher


def convert_names(source: Path, folder: Path, nlp: Language, encoding: str = UTF8) -> Names:
    """Write the lists of names of a corpus into its converted folder, if it has any.

    A warning (LW213) lists the files in the folder from which no name was read.

    source (Path): Folder of the corpus, or its file. The lists beside it are `names.jsonl`, or a
        folder `names`.
    folder (Path): The folder to write names.jsonl into.
    nlp (Language): Pipeline with the tokenizer of the corpus.
    encoding (str): Encoding of those files TYPE.txt that are not UTF-8, by Python's name.
    RETURNS (Names): The names; none if there are no lists.
    RAISES (ValueError): If they cannot be read (L803, L401), or if there are both forms (L803).
    """
    beside = source if source.is_dir() else source.parent
    patterns, lists = beside / NAMES, beside / LISTS
    names: Names = {}
    has_patterns = patterns.is_file() and patterns != source  # a corpus may have this name as well
    has_lists = bool(_list_files(lists))
    if has_patterns and has_lists:
        problem = f"{patterns} exists as well, and only one of them can be read. Move all names into one"
        raise ValueError(Errors.L803.format(path=lists, place="", problem=problem))
    if has_patterns or has_lists:
        names = read_names(lists if has_lists else patterns, words_by(nlp), encoding)
        write_names(folder / NAMES, names)
    used = {file for file in _list_files(lists) if file.stem in names}
    others = [file.name for file in _content(lists) if file not in used]
    if others:
        warnings.warn(Warnings.W213.format(path=lists, names=", ".join(others)), stacklevel=2)
    return names


def _content(lists: Path) -> list[Path]:
    """List the content of a folder of lists, without hidden files. The folder may be missing."""
    return sorted(path for path in lists.glob("*") if not path.name.startswith("."))


def _list_files(lists: Path) -> list[Path]:
    """List the files TYPE.txt of a folder, which may be missing."""
    return [p for p in _content(lists) if p.is_file() and p.suffix.lower() == LIST_SUFFIX]


def number_of_names(of_type: Iterable[Iterable[str]]) -> int:
    """Count the names of a list. A name that is split into words in two ways counts once."""
    return len({name_key(words) for words in of_type})


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
    RETURNS (Dict[str, ListCounts]): Counts by type. Occurrences may overlap. Those whose annotation
        is missing are not counted.
    """
    texts = {label: {name_key(words) for words in of_type} for label, of_type in names.items()}
    lists_of = Counter(text for own in texts.values() for text in own)
    found = Counter[tuple[str, str]]()  # by type, and field of ListCounts
    matcher: PhraseMatcher | None = None
    for doc in docs:
        matcher = matcher or matcher_of(doc.vocab, names)
        ents = {(ent.start, ent.end): ent.label_ for ent in doc.ents}
        types, is_missing = doc.to_array("ENT_TYPE"), doc.to_array("ENT_IOB") == 0
        unread = {label for label in names if not is_annotated(doc, [label])}
        for span in matcher(doc, as_spans=True):
            tokens = slice(span.start, span.end)
            if ents.get((span.start, span.end)) == span.label_:
                found[span.label_, "as_type"] += 1
            elif types[tokens].any():
                found[span.label_, "as_other"] += 1
            elif span.label_ not in unread and not is_missing[tokens].any():
                found[span.label_, "unannotated"] += 1
    return {
        label: ListCounts(
            names=len(own),
            shared=sum(lists_of[text] > 1 for text in own),
            as_type=found[label, "as_type"],
            as_other=found[label, "as_other"],
            unannotated=found[label, "unannotated"],
        )
        for label, own in texts.items()
    }


def name_key(words: Iterable[str]) -> str:
    """Return a name in lower case without white space, however it is split into words."""
    return plain_text("".join(words))


def _key(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(str.lower, words))


def _entries(path: Path, encoding: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the place, type and pattern of each entry. The place begins with a comma."""
    if path.is_dir():
        for file in _list_files(path):
            label = _label_of(file.stem, path, f", {file.name}")
            for i, line in _numbered(file, UTF8 if _is_utf8(file) else encoding):
                yield f", {file.name}, line {i}", label, line
        return
    for i, line in _numbered(path, UTF8):
        place = f", line {i}"
        try:
            entry = json.loads(line)
            label, pattern = entry["label"], entry["pattern"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = "it is no JSON object with a label and a pattern"
            raise ValueError(Errors.L803.format(path=path, place=place, problem=problem)) from error
        yield place, _label_of(label, path, place), pattern


def _is_utf8(path: Path) -> bool:
    """Return whether a file is UTF-8 and not ASCII alone, as bytes of UTF-16 may be."""
    content = path.read_bytes()
    try:
        content.decode(UTF8)
    except UnicodeDecodeError:
        return False
    return not content.isascii()


def _numbered(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank."""
    for place, line in lines(path, encoding, fix="Save the list as UTF-8."):
        if text := line.strip():
            yield place.line, text


def _label_of(label: Any, path: Path, place: str) -> str:
    """Return the name of a type, or raise L803 if it cannot be one."""
    try:
        return check_label(label)
    except ValueError as error:
        problem = str(error).rstrip(".")
        raise ValueError(Errors.L803.format(path=path, place=place, problem=problem)) from error


def _problem_of(pattern: Any) -> str:
    """Return the reason why a pattern cannot be used as a name, or "" if it can."""
    if not pattern:
        return "its pattern is empty"
    try:
        json.dumps(pattern, ensure_ascii=False).encode(UTF8)
    except UnicodeEncodeError:
        return "it has half of a surrogate pair, which is no character"
    if isinstance(pattern, str):
        if len(pattern) > MAX_CHARACTERS:
            return f"it has {len(pattern):,} characters, and a name has at most {MAX_CHARACTERS:,}"
        return "" if "\t" not in pattern else "it contains a tab: write only the name on each line"
    if not isinstance(pattern, list) or not all(map(_is_word, pattern)):
        shown = json.dumps(pattern, ensure_ascii=False)
        return f"its pattern is neither a text nor a list of words with TEXT, ORTH or LOWER: {shown}"
    if not all(map(str.strip, _words_in(pattern))):  # some languages have a token "EE. UU."
        return f"a word of its pattern is empty: {_words_in(pattern)}"
    return ""


def _words_of(pattern: Any, tokenize: Callable[[str], Iterable[str]]) -> list[list[str]]:
    """Split a name into words in each possible way.

    A text is split by the tokenizer and at white space, because a corpus in columns has its own
    tokens, such as "55+".
    """
    if isinstance(pattern, str):
        return [list(tokenize(pattern)), pattern.split()]
    return [_words_in(pattern)]


def _words_in(pattern: list[dict[str, str]]) -> list[str]:
    """Return the words of a pattern that is a list of tokens."""
    return [word for token in pattern for word in token.values()]


def _is_word(token: Any) -> bool:
    if not isinstance(token, dict) or len(token) != 1:
        return False
    ((key, word),) = token.items()
    return key.upper() in WORD_KEYS and isinstance(word, str)
