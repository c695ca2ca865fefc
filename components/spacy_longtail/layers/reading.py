"""Reading comprehension: queries put to sentences, a sentence's rows, vectors of token pairs."""

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ints2d

from ..corpus.sentences import sentence_lengths
from ..corpus.type_words import problem_in_config
from ..errors import Errors


def check_queries(queries: dict[str, str], who: str) -> dict[str, str]:
    """Refuse types without a query, and what a config cannot hold."""
    is_text = all(text.strip() and "\n" not in text for text in [*queries, *queries.values()])
    if not queries or not is_text or problem_in_config(queries):
        raise ValueError(Errors.L230.format(who=who, found=queries))
    return dict(queries)


class Asked(NamedTuple):
    """A document to read: a query, a separator, and the sentence that is asked."""

    doc: Doc
    n_query: int  # tokens before the sentence


class Questions(NamedTuple):
    """Documents to read at once. A row is a token of a sentence, once for each query put to it."""

    asked: list[Asked]
    question: Ints1d  # (n_rows,), index into `asked`
    token: Ints1d  # (n_rows,), index among the tokens of all documents
    type: Ints1d  # (n_rows,), index of the query


def ask(
    docs: list[Doc], queries: list[str], separator: str, tokenizer: Callable[[str], Doc], size: int
) -> Iterator[Questions]:
    """Put every query to every sentence: sentence after sentence, query after query.

    queries (List[str]): In words; the pipeline's tokenizer cuts them as it cuts any text.
    """
    prefixes = []
    for query in queries:
        doc = tokenizer(query.strip())
        spaces = [bool(token.whitespace_) for token in doc[:-1]]
        prefixes.append(([*(token.text for token in doc), separator], [*spaces, True, True]))
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
    """Vocab, words and spaces of each, and where it begins among the tokens of all documents."""
    n_before = 0
    for doc in docs:
        words, spaces = (column.tolist() for column in doc.to_array(["ORTH", "SPACY"]).T)
        ends = np.cumsum(sentence_lengths(doc)).tolist()
        for start, end in pairwise([0, *ends]):
            yield doc.vocab, words[start:end], [*map(bool, spaces[start:end])], n_before + start
        n_before += len(doc)


class Reading(NamedTuple):
    """What a model makes of the tokens of sentences; a gradient on it has the same shape."""

    vectors: Floats2d  # (n_rows, width)
    logits: Floats2d  # (n_rows, 2), an entity begins here, an entity ends here


def sentence_rows(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Asked], Floats2d]:
    """Run an encoder on queries with sentences, and keep the rows of the sentences.

    RETURNS (Model[List[Asked], Floats2d]): (n_rows, width), one sentence after another.
    """
    dims = {"nO": tok2vec.maybe_get_dim("nO")}
    return Model("sentence_rows", rows_forward, init=rows_init, layers=[tok2vec], dims=dims)


def rows_init(model: Model, X: list[Asked] | None = None, Y: Floats2d | None = None) -> None:
    docs = None if X is None else [asked.doc for asked in X]
    model.layers[0].initialize(X=docs)
    if docs and model.maybe_get_dim("nO") is None:  # some encoders never set it
        model.set_dim("nO", model.layers[0].predict(docs)[0].shape[1])


def rows_forward(model: Model, X: list[Asked], is_train: bool) -> tuple[Floats2d, Callable]:
    vectors, backprop = model.layers[0]([asked.doc for asked in X], is_train)
    rows = model.ops.xp.concatenate([v[asked.n_query :] for v, asked in zip(vectors, X, strict=True)])

    def backward(d_rows: Floats2d) -> list[Doc]:
        d_vectors = [model.ops.alloc2f(len(asked.doc), d_rows.shape[1]) for asked in X]
        ends = np.cumsum([len(asked.doc) - asked.n_query for asked in X]).tolist()
        for asked, d_own, start, end in zip(X, d_vectors, [0, *ends], ends, strict=False):
            d_own[asked.n_query :] = d_rows[start:end]
        return backprop(d_vectors)

    return rows, backward


def paired_rows() -> Model[tuple[Floats2d, Ints2d], Floats2d]:
    """Rows at pairs of places: (n_rows, width) and (n_pairs, 2) to (n_pairs, 2 width)."""
    return Model("paired_rows", pairs_forward)


def pairs_forward(model: Model, X: tuple[Floats2d, Ints2d], is_train: bool) -> tuple[Floats2d, Callable]:
    rows, pairs = X
    n_rows, width = rows.shape

    def backward(d_pairs: Floats2d) -> Floats2d:
        d_rows = model.ops.alloc2f(n_rows, width)
        for i in (0, 1):
            model.ops.xp.add.at(d_rows, pairs[:, i], d_pairs[:, i * width : (i + 1) * width])
        return d_rows

    return model.ops.xp.hstack([rows[pairs[:, 0]], rows[pairs[:, 1]]]), backward
