"""Linear layer whose weights are computed from the descriptions of types."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from thinc.api import Model, get_array_module, glorot_uniform_init
from thinc.types import Floats2d, Ints1d

NAME = "described_linear"
SCALE = 8.0  # of the vectors, which have unit length: else words learn slower than the residual
NO_TYPE = -1  # in `type_of`: the output of O
SHARED = ("P", "Q", "D")  # params of all outputs; the others have a row for each output


def described_linear(
    width: int, residual: bool, nO: int | None = None, nI: int | None = None
) -> Model[Floats2d, Floats2d]:
    """Create a layer for logits z[t, k] = <P_k h, Q_k d_t> / sqrt(width) + <W[t, k], h> + b[t, k].

    h is a token's vector, d_t that of a type's description, k the prefix of a tag (B, I, ...). The
    residual W and b of a type start at 0: with few mentions words decide, with many the type's own
    weights. O has no words, W[O] and b[O] alone.

    width (int): Width of the space in which tokens and descriptions are compared.
    residual (bool): Whether types have weights of their own; false trains only the shared ones.
    nO, nI (Optional[int]): Number of tags, and width of the token vectors; null is set later.
    RETURNS (Model[Floats2d, Floats2d]): The layer, with the params W (n_tags, nI), b (n_tags,), P
        (n_prefixes, width, nI), Q (n_prefixes, width, nD) and D (n_types, nD), which is not
        trained. Before it is initialized, `lay_out` says which tag is of which type.
    SOURCE: Ma et al. 2022; the residual is ours (docs/methods.md, "Label descriptions").
    """
    no_tags = np.zeros(0, dtype="int64")
    return Model(
        NAME,
        Forward(),
        init=init,
        params=dict.fromkeys(("W", "b", "P", "Q", "D")),
        dims={"nO": nO, "nI": nI, "nD": None, "nM": width},
        attrs={"residual": residual, "type_of": no_tags, "prefix_of": no_tags},
    )


def is_described(layer: Model) -> bool:
    """Return whether a layer computes weights from descriptions."""
    return layer.name == NAME


def lay_out(layer: Model, type_of: Ints1d, prefix_of: Ints1d) -> None:
    """Set the type and the prefix of each output.

    type_of (Ints1d): Index of the type, NO_TYPE for O, shape (n_tags,).
    prefix_of (Ints1d): Index of the prefix, any for O, shape (n_tags,).
    """
    type_of, prefix_of = (np.asarray(values, dtype="int64") for values in (type_of, prefix_of))
    layer.attrs.update(type_of=type_of, prefix_of=prefix_of)


def set_descriptions(layer: Model, vectors: Floats2d) -> None:
    """Give the types their vectors, (n_types, nD), each of unit length."""
    layer.set_dim("nD", vectors.shape[1], force=not layer.has_param("Q"))
    layer.set_param("D", layer.ops.asarray2f(vectors))


def init(layer: Model, X: Floats2d | None = None, Y: object = None) -> None:
    if X is not None and layer.has_dim("nI") is None:
        layer.set_dim("nI", X.shape[1])
    if None in (layer.maybe_get_dim("nI"), layer.maybe_get_dim("nO")) or not layer.has_param("D"):
        return
    n_out, n_in, width = (layer.get_dim(name) for name in ("nO", "nI", "nM"))
    n_prefixes = int(layer.attrs["prefix_of"].max()) + 1
    layer.set_param("W", layer.ops.alloc2f(n_out, n_in))
    layer.set_param("b", layer.ops.alloc1f(n_out))
    for name, columns in (("P", n_in), ("Q", layer.get_dim("nD"))):
        if not layer.has_param(name):  # else those of a pretrained head
            rows = [glorot_uniform_init(layer.ops, (width, columns)) for _ in range(n_prefixes)]
            layer.set_param(name, layer.ops.xp.stack(rows))


def _tags_of_types(layer: Model) -> tuple[Ints1d, tuple[Ints1d, Ints1d]]:
    """Return the tags of types, all but O, and the prefix and the type of each of them."""
    tags = np.flatnonzero(layer.attrs["type_of"] != NO_TYPE)
    return tags, (layer.attrs["prefix_of"][tags], layer.attrs["type_of"][tags])


def _scale(layer: Model) -> float:
    """Return the factor on products of projected tokens and descriptions."""
    return SCALE / layer.get_dim("nM") ** 0.5


class TypeWeights(NamedTuple):
    """Weights that the tags of types get from the descriptions of these types."""

    tags: Ints1d  # (n,), all but O
    weights: Floats2d  # (n, nI)


def _from_words(layer: Model) -> TypeWeights:
    """Return the weights that descriptions give to the tags of types."""
    P, Q, D = (layer.get_param(name) for name in SHARED)
    tags, places = _tags_of_types(layer)
    products = (Q @ D.T).transpose(0, 2, 1) @ P  # many times faster than einsum
    return TypeWeights(tags, _scale(layer) * products[places])


class Forward:
    """The forward pass of a layer, which remembers the weights that descriptions gave it last.

    A prediction computes them again if any number that they depend on has changed, in place or not.
    """

    def __init__(self) -> None:
        self._last: tuple[list[np.ndarray], TypeWeights] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"_last": None}

    def __call__(self, layer: Model, X: Floats2d, is_train: bool) -> tuple[Floats2d, Callable]:
        """Return the logits, (n_tokens, nO), and the callback of their gradient."""
        is_kept = not is_train and isinstance(X, np.ndarray)
        return forward(layer, X, self._remembered(layer) if is_kept else _from_words(layer))

    def _remembered(self, layer: Model) -> TypeWeights:
        params = [layer.get_param(name) for name in SHARED]
        now = [*params, layer.attrs["type_of"], layer.attrs["prefix_of"]]
        last = self._last  # another thread may replace it meanwhile
        if last is not None and all(map(np.array_equal, last[0], now)):
            return last[1]
        computed = _from_words(layer)
        self._last = [array.copy() for array in now], computed
        return computed


def forward(layer: Model, X: Floats2d, from_words: TypeWeights) -> tuple[Floats2d, Callable]:
    W, b, P, Q, D = (layer.get_param(name) for name in ("W", "b", *SHARED))
    weights = W.copy()
    weights[from_words.tags] += from_words.weights

    def backprop(dY: Floats2d) -> Floats2d:
        tags, places = _tags_of_types(layer)
        d_weights, d_b = layer.ops.gemm(dY, X, trans1=True), dY.sum(axis=0)
        d_words = get_array_module(X).zeros((len(P), len(D), P.shape[2]), dtype=W.dtype)
        d_words[places] = _scale(layer) * d_weights[tags]
        layer.inc_grad("P", Q @ D.T @ d_words)
        layer.inc_grad("Q", P @ d_words.transpose(0, 2, 1) @ D)
        if not layer.attrs["residual"]:
            d_weights[tags] = d_b[tags] = 0.0
        layer.inc_grad("W", d_weights)
        layer.inc_grad("b", d_b)
        return layer.ops.gemm(dY, weights)

    return layer.ops.affine(X, weights, b), backprop
