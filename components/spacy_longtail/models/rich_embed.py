"""Words embedded by their attributes, static vectors and subwords."""

from collections.abc import Callable
from functools import cache
from types import ModuleType

import numpy as np
from spacy.attrs import IDS
from spacy.ml import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import HashEmbed, Maxout, Model, chain, concatenate, list2ragged, ragged2list, with_array
from thinc.layers.chain import forward as chained
from thinc.layers.chain import init as init_chained
from thinc.types import Floats2d, Ints1d, Ints2d, Ragged

from ..errors import Errors
from ..layers.listeners import check_vectors
from ..layers.subwords import subword_vectors
from ..settings import whole

WHO = "longtail.RichEmbed.v1"
FIRST_SEED = 8  # of the hash tables: one more each, as spaCy's


def RichEmbed(
    width: int = 96,
    attrs: list[str] = ["NORM", "PREFIX", "SUFFIX", "SHAPE"],  # noqa: B006 - confection copies it
    rows: list[int] = [2000, 1000, 1000, 1000],  # noqa: B006
    include_static_vectors: bool = False,
    subwords: str | None = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Create an embedding layer like spaCy's MultiHashEmbed, with subword vectors as well.

    Everything is embedded in `width` columns, joined, and mixed by a maxout layer. Subword vectors
    are read at initialisation and saved with the pipeline, which needs no file or download then.

    width (int): Width of the output and of each embedding.
    attrs (List[str]): Attributes of words, hashed: NORM, PREFIX, SUFFIX, SHAPE, others of spaCy's.
    rows (List[int]): Rows of the hash table of each attribute.
    include_static_vectors (bool): Whether to use the pipeline's own word vectors, too.
    subwords (Optional[str]): Vectors of subwords, whose mean is a word's vector, so that no word is
        unknown: those of an encoder such as "en_longtail_cnn", or of its folder. They are not
        trained, their projection is. Null for none.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, width).
    SOURCE: docs/methods.md, "Words and subwords".
    """
    width = whole("width", width, "96 is usual.", 1)
    if len(rows) != len(attrs):
        raise ValueError(
            Errors.L001.format(
                name="rows",
                rule="one number for each of 'attrs'",
                value=rows,
                fix=f"Give {len(attrs)} numbers.",
            )
        )
    if not attrs and not include_static_vectors and subwords is None:
        raise ValueError(Errors.L824)
    if unknown := [name for name in attrs if name not in IDS]:
        raise ValueError(
            Errors.L001.format(
                name="attrs",
                rule="names of spaCy's token attributes",
                value=unknown,
                fix="NORM, PREFIX, SUFFIX and SHAPE are usual.",
            )
        )
    sizes = [whole("rows", n, "1000 to 5000 is usual.", 1) for n in rows]
    parts: list[Model[list[Doc], Ragged]] = []
    if attrs:
        features: Model[list[Doc], Ragged] = chain(FeatureExtractor(attrs), list2ragged())
        tables = (
            HashEmbed(width, n, column=i, seed=FIRST_SEED + i, dropout=0.0) for i, n in enumerate(sizes)
        )
        parts.append(chain(features, with_array(concatenate(*tables))))
    if include_static_vectors:
        parts.append(StaticVectors(width, dropout=0.0))
    if subwords is not None:
        parts.append(subword_vectors(subwords, width))
    n_others = include_static_vectors + (subwords is not None)
    joined: Model[list[Doc], Ragged] = concatenate(*parts)  # a single part stays as it is
    mix: Model = Maxout(width, width * (len(attrs) + n_others), nP=3, dropout=0.0, normalize=True)
    return Model(
        "rich_embed",
        forward,
        init=init,
        layers=[joined, with_array(mix), ragged2list()],
        dims={"nO": width},
        attrs={
            "needs_vectors": include_static_vectors,
            "n_parts": len(parts),
            "n_hashed": len(parts) - n_others,
        },
    )


def forward(
    model: Model[list[Doc], list[Floats2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    if not any(len(doc) for doc in docs):  # of these thinc would join arrays without columns
        return [model.ops.alloc2f(0, model.get_dim("nO")) for _ in docs], lambda d_rows: []
    if model.attrs["needs_vectors"]:  # a component that is taken from a pipeline is not initialized
        check_vectors(model, docs[0].vocab, WHO)
    # in training words that are equal are dropped out apart, so each has its own row
    return chained(model, docs, is_train) if is_train else (_predict(model, docs), lambda d_rows: [])


def _predict(model: Model[list[Doc], list[Floats2d]], docs: list[Doc]) -> list[Floats2d]:
    """Return the output of `chained`, but embed and mix each distinct word only once."""
    ops, (joined, mix, to_list) = model.ops, model.layers
    parts = joined.layers if model.attrs["n_parts"] > 1 else [joined]
    hashed, others = parts[: model.attrs["n_hashed"]], parts[model.attrs["n_hashed"] :]
    keys = [part.layers[0].predict(docs).dataXd for part in hashed]
    if others:  # these know a word by more than its attributes
        orths = np.concatenate([doc.to_array("ORTH") for doc in docs])
        keys.append(ops.asarray(orths.astype("uint64")[:, None]))
    first, word_of = _distinct(ops.xp, ops.xp.hstack([columns.astype("uint64") for columns in keys]))
    lengths = ops.asarray1i([len(first)])
    pairs = zip(hashed, keys, strict=False)
    rows = [part.layers[1].predict(Ragged(columns[first], lengths)).dataXd for part, columns in pairs]
    rows += [part.predict(docs).dataXd[first] for part in others]
    mixed = mix.predict(Ragged(ops.xp.hstack(rows), lengths)).dataXd
    return to_list.predict(Ragged(mixed[word_of], ops.asarray1i([len(doc) for doc in docs])))


def _distinct(xp: ModuleType, keys: Ints2d) -> tuple[Ints1d, Ints1d]:
    """Return the first index of each distinct row of keys, and the distinct row of each row."""
    sums = (keys * xp.asarray(_factors(keys.shape[1]))).sum(axis=1, dtype="uint64")  # modulo 2 ** 64
    _, first, word_of = xp.unique(sums, return_index=True, return_inverse=True)
    if (keys[first][word_of] != keys).any():  # two rows with one sum
        every = xp.arange(len(keys))
        return every, every
    return first, word_of


@cache
def _factors(n_columns: int) -> np.ndarray:
    """Return a random odd factor for each column of keys, drawn once per width."""
    return np.random.default_rng(0).integers(1, 2**63, n_columns, dtype="uint64") * 2 + 1


def init(
    model: Model[list[Doc], list[Floats2d]], X: list[Doc] | None = None, Y: list[Floats2d] | None = None
) -> None:
    if X and model.attrs["needs_vectors"]:
        check_vectors(model, X[0].vocab, WHO)
    init_chained(model, X, Y)
