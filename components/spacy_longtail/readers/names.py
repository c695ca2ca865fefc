"""Reader of lists of names, from which mention replacement can draw."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import get_words_and_spaces

from ..corpus.names import name_key, read_names, words_by
from ..errors import Errors


def create_names_corpus(path: str | None) -> Callable[[Language], Iterator[Example]]:
    """Create a reader that yields each name of a list as a sentence with one mention.

    `longtail.mention_replacement.v1` draws names from it, so that training sentences are repeated
    with names that no sentence has.

    path (Optional[str]): Lists of names: a file `names.jsonl`, or a folder with TYPE.txt files.
    RETURNS (Callable): The reader, a function of nlp to examples.
    RAISES (ValueError): If there are no lists (L803).
    EXAMPLE:
        >>> from pathlib import Path
        >>> from spacy_longtail.readers import create_names_corpus
        >>> Path("names").mkdir()
        >>> _ = Path("names/HERB.txt").write_text("lemon balm\\nrue")
        >>> corpus = create_names_corpus("names")
        >>> [(eg.reference.text, eg.reference.ents[0].label_) for eg in corpus(nlp)]
        [('lemon balm ', 'HERB'), ('rue ', 'HERB')]
    """

    def read(nlp: Language) -> Iterator[Example]:
        if path is None:
            problem = "the corpus has no lists, and 'path' of longtail.NamesCorpus.v1 is null"
            raise ValueError(Errors.L803.format(path="names.jsonl", place="", problem=problem))
        for label, names in read_names(Path(path), words_by(nlp)).items():
            for words, spaces in _each_once(names, words_by(nlp)):
                starts: list[bool | int | None] = [i == 0 for i in range(len(words))]
                doc = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
                doc.set_ents([Span(doc, 0, len(doc), label)])
                yield Example(Doc(nlp.vocab, words=words, spaces=spaces), doc)

    return read


def _each_once(
    names: Iterable[list[str]], tokenize: Callable[[str], list[str]]
) -> Iterator[tuple[list[str], list[bool]]]:
    """Yield the words of each name, and whether a space follows each of them.

    names (Iterable[List[str]]): Names as `read_names` returns them. One that is split in two ways
        is yielded as the tokenizer splits it, with the spaces of the other way.
    tokenize (Callable[[str], List[str]]): Returns the words of a name.
    """
    ways: dict[str, list[list[str]]] = {}
    for words in names:
        ways.setdefault(name_key(words), []).append(words)
    for own in ways.values():
        texts = {tuple(words): " ".join(words) for words in own}
        for words in own[1:]:
            by_tokenizer = tuple(tokenize(" ".join(words)))
            if by_tokenizer in texts:
                texts[by_tokenizer] = texts.pop(tuple(words))
        for split, text in texts.items():
            words, spaces = get_words_and_spaces(split, text)
            yield words, [*spaces[:-1], True]
