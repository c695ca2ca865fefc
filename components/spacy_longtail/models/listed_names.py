"""Encoder that also sees which lists of names a token occurs in."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, deserialize_attr, serialize_attr
from thinc.types import Floats2d

from ..corpus.names import Names, matcher_of, read_names, words_by
from ..corpus.tokenizers import blank
from ..errors import Errors
from ..settings import finite

SCALE = 16.0  # of the features, so that their weights learn as fast as the head does


class NameMatcher:
    """Names by type, which are found in documents. It is saved with its model.

    names (Names): The words of each name by type.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        # one tuple, because several threads may use one matcher
        self._cached: tuple[Vocab, PhraseMatcher, dict[int, int]] | None = None

    def __call__(self, doc: Doc) -> list[tuple[int, int, int]]:
        """Return the matches in a document: number of the type, first token, end."""
        cached = self._cached
        if cached is None or cached[0] is not doc.vocab:
            strings: Any = doc.vocab.strings  # spaCy's stub lacks allow_transient
            # the end of a memory zone must not remove the types
            keys = [strings.add(label, allow_transient=False) for label in self.names]
            type_of = {key: i for i, key in enumerate(keys)}
            self._cached = cached = doc.vocab, matcher_of(doc.vocab, self.names), type_of
        _, matcher, type_of = cached
        return [(type_of[key], start, end) for key, start, end in matcher(doc)]

    def __getstate__(self) -> dict[str, object]:
        return {"names": self.names, "_cached": None}


serialize_attr.register(NameMatcher, lambda _, matcher, *where: srsly.msgpack_dumps(matcher.names))
deserialize_attr.register(NameMatcher, lambda _, data, *where: NameMatcher(srsly.msgpack_loads(data)))


def ListedNames(
    tok2vec: Model[list[Doc], list[Floats2d]], names: str | None = None, dropout: float = 0.3
) -> Model[list[Doc], list[Floats2d]]:
    """Add to an encoder's vectors what lists of names say of each token.

    Each type of the lists has two learnt vectors, for the first word of a listed name and for the
    others. They are added to the vectors of the tokens that the list contains, so training decides
    how far each list can be relied on: a list with wrong or ambiguous names does less harm than in
    an `entity_ruler`. In training, a match is left out at random, so that the component also learns
    to find names that are in no list. The lists are read at initialisation and saved with the
    pipeline.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, such as a listener.
    names (Optional[str]): Lists of names: a file `names.jsonl`, or a folder with TYPE.txt files.
        Names that are texts, as in a folder, are split by the tokenizer of the language. If the
        pipeline has another tokenizer, use a file with a list of tokens for each name, as
        `convert` writes it.
    dropout (float): Probability in [0, 1) that a match is left out in training.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, of the encoder's width.
    RAISES (ValueError): At initialisation, if there are no lists (L803), or if names are texts and
        the language has no tokenizer (L428).
    EXAMPLE:
        >>> from pathlib import Path
        >>> from spacy.ml.models import build_hash_embed_cnn_tok2vec
        >>> from spacy_longtail.models import ListedNames
        >>> Path("names").mkdir()
        >>> _ = Path("names/HERB.txt").write_text("lemon balm\\nrue")
        >>> tok2vec = build_hash_embed_cnn_tok2vec(
        ...     width=96,
        ...     depth=4,
        ...     embed_size=2000,
        ...     window_size=1,
        ...     maxout_pieces=3,
        ...     subword_features=True,
        ...     pretrained_vectors=None,
        ... )
        >>> model = ListedNames(tok2vec, names="names")
        >>> docs = [nlp("She planted rue.")]
        >>> model.initialize(X=docs).predict(docs)[0].shape
        (4, 96)
    """
    chance = finite(
        "dropout", dropout, "a number from 0 to 0.99", "0.3 is the default.", low=0.0, high=0.99
    )
    return Model(
        "listed_names",
        forward,
        init=init,
        layers=[tok2vec],
        dims={"nO": tok2vec.maybe_get_dim("nO"), "nF": None},
        params={"W": None},
        attrs={"path": names, "dropout": chance, "matcher": NameMatcher({})},
    )


def init(
    model: Model[list[Doc], list[Floats2d]], X: list[Doc] | None = None, Y: list[Floats2d] | None = None
) -> None:
    """Initialize the encoder, read the lists, and start their vectors at zero."""
    tok2vec = model.layers[0]
    tok2vec.initialize(X=X, Y=Y)
    path = model.attrs["path"]
    if path is None:
        problem = "the corpus has no lists, and 'names' of longtail.ListedNames.v1 is null"
        raise ValueError(Errors.L803.format(path="names.jsonl", place="", problem=problem))
    vocab = X[0].vocab if X else Vocab()
    model.attrs["matcher"] = NameMatcher(read_names(Path(path), _words_in(vocab.lang or "xx")))
    model.set_dim("nO", tok2vec.get_dim("nO"), force=True)
    model.set_dim("nF", 2 * len(model.attrs["matcher"].names), force=True)
    model.set_param("W", model.ops.alloc2f(model.get_dim("nF"), model.get_dim("nO")))


def _words_in(lang: str) -> Callable[[str], list[str]]:
    """Return a function that splits a name into words as the tokenizer of a language does.

    The tokenizer is loaded with the first name, because it may need a package that is not
    installed, while all names of a converted corpus are lists of words.
    """
    nlp = cache(partial(blank, lang, "words"))
    return lambda text: words_by(nlp())(text)


def forward(
    model: Model[list[Doc], list[Floats2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    vectors, backprop = model.layers[0](docs, is_train)
    features = _features(model, docs, is_train)
    added = model.ops.unflatten(
        features @ model.get_param("W"), model.ops.asarray1i(list(map(len, docs)))
    )

    def backward(d_vectors: list[Floats2d]) -> list[Doc]:
        model.inc_grad("W", features.T @ model.ops.flatten(d_vectors))
        return backprop(d_vectors)

    return [own + more for own, more in zip(vectors, added, strict=True)], backward


def _features(model: Model, docs: list[Doc], is_train: bool) -> Floats2d:
    """Return the matches of each token, (n_tokens, 2 * n_types): first words, then others."""
    matcher, chance = model.attrs["matcher"], model.attrs["dropout"]
    features = np.zeros((sum(map(len, docs)), model.get_dim("nF")), dtype="float32")
    begin = 0
    for doc in docs:
        for column, start, end in matcher(doc):
            if not is_train or np.random.random() >= chance:
                features[begin + start, 2 * column] = SCALE
                features[begin + start + 1 : begin + end, 2 * column + 1] = SCALE
        begin += len(doc)
    return model.ops.asarray2f(features)
