"""Layers for reading comprehension: encode sentences together with a query, and pair tokens."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, to_numpy
from thinc.types import Floats2d, Ints1d, Ints2d

from ..errors import Errors
from .torch_layer import shim_of
from .windows import TRANSFORMER, windows_of

MAX_PIECES = 510  # that a transformer of spacy-transformers reads at once
MAX_WORDS = 128  # of a query and its sentence that are read at once
MIN_ROOM = 16  # words or subwords of a sentence beside a query
REACH = 8  # words after a query that have to depend on it
ROUNDING = 1e-6  # maximum difference of equal vectors


class Asked(NamedTuple):
    """Document that consists of a query, a separator and the sentence to search."""

    doc: Doc
    n_query: int  # tokens before the sentence


class Reading(NamedTuple):
    """Output of a model for the tokens of sentences; a gradient on it has the same shape."""

    vectors: Floats2d  # (n_rows, width)
    logits: Floats2d  # (n_rows, 2), an entity begins here, an entity ends here


class Limit(NamedTuple):
    """Context window of an encoder, and how much of it each word of the documents fills."""

    sizes: list[Ints1d]  # of the words of each document, shape (n_words,)
    limit: int  # size of the window
    unit: str  # of both: "subwords" or "words"


def limit_of(encoder: Model[list[Doc], list[Floats2d]], docs: list[Doc]) -> Limit:
    """Return the context window of an encoder, and how much of it each word fills.

    Transformers read a number of subwords; those of spacy-transformers, where they read spans of
    words, at most as many as a span has words. Everything else gets `MAX_WORDS` words, since an
    LSTM forgets what is further away.
    """
    for node in encoder.walk():
        if node.name == TRANSFORMER:
            from .torch_transformer import longest_window

            module = shim_of(node).module
            lengths = [own.lengths for own in module.subword_tokenizer.of(docs)]
            return Limit(lengths, longest_window(module, node.attrs["max_pieces"]), "subwords")
        if "get_spans" in node.attrs:
            tokenizer = cast(Any, node).tokenizer  # of spacy-transformers
            spans = node.attrs["get_spans"]([max(docs, key=len)])[0]
            known = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add()
            window = max(map(len, spans)) if len(spans) > 1 else MAX_PIECES  # a word is a piece, or more
            texts = sorted({token.text for doc in docs for token in doc})
            ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
            n_pieces = {text: max(len(own), 1) for text, own in zip(texts, ids, strict=True)}
            sizes = [np.array([n_pieces[token.text] for token in doc], dtype="int64") for doc in docs]
            return Limit(sizes, min(known, window, MAX_PIECES), "subwords")
    return Limit([np.ones(len(doc), dtype="int64") for doc in docs], MAX_WORDS, "words")


class Part(NamedTuple):
    """Query with the part of a sentence that fits into the context window beside it."""

    doc: Doc
    kept: slice  # rows of words that no other part keeps


def parts_of(encoder: Model[list[Doc], list[Floats2d]], X: list[Asked]) -> list[Part]:
    """Cut long sentences into overlapping parts, each with the query before it.

    Without the query a word's vector would be the same for all types.

    encoder (Model[List[Doc], List[Floats2d]]): The encoder, whose context window limits a part.
    X (List[Asked]): Sentences with their queries.
    RETURNS (List[Part]): Parts in order; the rows that they keep are those of the sentences.
    RAISES (ValueError): If a query leaves no room for a sentence (L823).
    """
    sizes, limit, unit = limit_of(encoder, [asked.doc for asked in X])
    parts = []
    for asked, own in zip(X, sizes, strict=True):
        n = asked.n_query
        if own.sum() <= limit:
            parts.append(Part(asked.doc, slice(n, len(asked.doc))))
            continue
        n_taken = int(own[:n].sum())
        if limit - n_taken < MIN_ROOM:
            query = asked.doc[: n - 1].text
            raise ValueError(
                Errors.L823.format(query=query, n=n_taken, limit=limit, unit=unit, room=MIN_ROOM)
            )
        sentence = np.array([len(asked.doc) - n])
        words, spaces = (column.tolist() for column in asked.doc.to_array(["ORTH", "SPACY"]).T)
        for start, end, first, stop in windows_of(own[n:], sentence, limit - n_taken):
            inside = slice(n + start, n + end)
            doc = Doc(
                asked.doc.vocab, words[:n] + words[inside], [*map(bool, spaces[:n] + spaces[inside])]
            )
            parts.append(Part(doc, slice(n + first - start, n + stop - start)))
    return parts


def sentence_rows(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Asked], Floats2d]:
    """Run an encoder on queries with sentences, and keep the rows of the sentences.

    Long sentences are read in parts, each with the query before it.

    RETURNS (Model[List[Asked], Floats2d]): (n_rows, width), one sentence after another.
    """
    return Model(
        "sentence_rows",
        rows_forward,
        init=rows_init,
        layers=[tok2vec],
        dims={"nO": tok2vec.maybe_get_dim("nO")},
    )


def rows_init(model: Model, X: list[Asked] | None = None, Y: Floats2d | None = None) -> None:
    docs = None if X is None else [asked.doc for asked in X]
    model.layers[0].initialize(X=docs)
    if docs and model.maybe_get_dim("nO") is None:  # some encoders never set it
        model.set_dim("nO", model.layers[0].predict(docs)[0].shape[1])
    if X:
        check_query_is_carried(model.layers[0], X[0])


def check_query_is_carried(encoder: Model[list[Doc], list[Floats2d]], asked: Asked) -> None:
    """Refuse an encoder whose vectors do not depend on a query `REACH` words before.

    RAISES (ValueError): L822.
    """
    words = [token.text for token in asked.doc]
    after = (words[asked.n_query :] * REACH)[:REACH]
    others = [word for word in words if word != words[0]] or ["?"]
    rows = [
        encoder.predict([Doc(asked.doc.vocab, words=[query, *after])])[0]
        for query in (words[0], others[0])
    ]
    first, last = (np.abs(to_numpy(rows[0][i] - rows[1][i])).max() for i in (0, -1))
    if first > ROUNDING >= last:  # words that the encoder does not know have equal vectors anyway
        raise ValueError(Errors.L822.format(who="longtail.MRC.v1", n=REACH))


def rows_forward(model: Model, X: list[Asked], is_train: bool) -> tuple[Floats2d, Callable]:
    parts = parts_of(model.layers[0], X)
    vectors, backprop = model.layers[0]([part.doc for part in parts], is_train)
    rows = model.ops.xp.concatenate([v[part.kept] for v, part in zip(vectors, parts, strict=True)])

    def backward(d_rows: Floats2d) -> list[Doc]:
        d_vectors = [model.ops.alloc2f(len(part.doc), d_rows.shape[1]) for part in parts]
        ends = np.cumsum([part.kept.stop - part.kept.start for part in parts]).tolist()
        for part, d_own, start, end in zip(parts, d_vectors, [0, *ends], ends, strict=False):
            d_own[part.kept] = d_rows[start:end]
        return backprop(d_vectors)

    return rows, backward


def paired_rows() -> Model[tuple[Floats2d, Ints2d], Floats2d]:
    """Create a layer that joins two rows: (n_rows, width), (n_pairs, 2) to (n_pairs, 2 width)."""
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
