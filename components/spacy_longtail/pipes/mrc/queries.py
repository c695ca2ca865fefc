"""Queries of `longtail_mrc_ner`: checked, and put to every sentence."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.types import Ints1d
from typing_extensions import TypedDict

from ...corpus.labels import check_label
from ...corpus.type_words import problem_in_config
from ...errors import Errors
from ...layers.reading import Asked
from ...sentences import all_bounds


class CutQuery(TypedDict):
    """The tokens of a query. They are saved, as another pipeline may cut texts in other ways."""

    words: list[str]
    spaces: list[bool]  # whether a space follows each


def cut_query(query: str, tokenizer: Callable[[str], Doc]) -> CutQuery:
    """Return the tokens of a query as the tokenizer of a pipeline cuts it."""
    doc = tokenizer(query)
    spaces = [bool(token.whitespace_) for token in doc]
    return {"words": [token.text for token in doc], "spaces": spaces}


def check_queries(queries: dict[str, str], who: str) -> dict[str, str]:
    """Refuse types without a query, texts that no config can hold (L230), and bad names (L550)."""
    is_text = all(text.strip() and "\n" not in text for text in [*queries, *queries.values()])
    if not queries or not is_text or problem_in_config(queries):
        raise ValueError(Errors.L230.format(who=who, found=queries))
    return {check_label(label, f" of 'queries' in {who}"): query for label, query in queries.items()}


class Questions(NamedTuple):
    """Documents to read at once. A row is a token of a sentence, once for each query put to it."""

    asked: list[Asked]
    question: Ints1d  # (n_rows,), index into `asked`
    token: Ints1d  # (n_rows,), index among the tokens of all documents
    type: Ints1d  # (n_rows,), index of the query


def ask(docs: list[Doc], queries: Sequence[CutQuery], separator: str, size: int) -> Iterator[Questions]:
    """Put every query to every sentence, sentence after sentence and query after query.

    docs (List[Doc]): Documents.
    queries (Sequence[CutQuery]): Tokens of the queries.
    separator (str): Token between query and sentence.
    size (int): Number of queries with sentences in a batch.
    YIELDS (Questions): Batches in order.
    """
    prefixes = [([*q["words"], separator], [*q["spaces"][:-1], True, True]) for q in queries]
    for batch in minibatch(product(_sentences(docs), enumerate(prefixes)), size):
        asked = [
            Asked(Doc(vocab, before + words, spaces_before + spaces), len(before))
            for (vocab, words, spaces, _), (_, (before, spaces_before)) in batch
        ]
        lengths = np.array([len(words) for (_, words, _, _), _ in batch])
        question = np.repeat(np.arange(len(batch)), lengths)
        shift = np.array([first for (*_, first), _ in batch]) - (np.cumsum(lengths) - lengths)
        types = np.array([type_i for _, (type_i, _) in batch])
        yield Questions(asked, question, np.arange(len(question)) + shift[question], types[question])


def _sentences(docs: list[Doc]) -> Iterator[tuple[Vocab, list[int], list[bool], int]]:
    """Yield vocab, words and spaces of each sentence, and its offset among all tokens."""
    n_before = 0
    for doc in docs:
        words, spaces = (column.tolist() for column in doc.to_array(["ORTH", "SPACY"]).T)
        for start, end in all_bounds(doc):
            yield doc.vocab, words[start:end], [*map(bool, spaces[start:end])], n_before + start
        n_before += len(doc)
