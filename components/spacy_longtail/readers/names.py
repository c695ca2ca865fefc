"""Reader of lists of names, from which mention replacement can draw."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpus.names import read_names, words_by
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
            for words in names:
                doc = Doc(nlp.vocab, words=words, sent_starts=[i == 0 for i in range(len(words))])
                doc.set_ents([Span(doc, 0, len(doc), label)])
                yield Example(Doc(nlp.vocab, words=words), doc)

    return read
