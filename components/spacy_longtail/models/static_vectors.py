"""The shallow model's features: pretrained word vectors, each word by itself."""

from collections.abc import Callable

from spacy.ml.models import MultiHashEmbed
from spacy.ml.staticvectors import StaticVectors as VectorTable
from spacy.tokens import Doc
from thinc.api import Model, chain, ragged2list
from thinc.types import Floats2d

from ..layers.vectors import check_vectors
from ..settings import whole

WHO = "longtail.StaticVectors.v1"


def StaticVectors(width: int = 300, hash_rows: int = 0) -> Model[list[Doc], list[Floats2d]]:
    """The pipeline's word vectors, projected; no word sees its neighbours.

    With longtail.TokenClassifier.v1 this is the papers' shallow model: a linear layer over pretrained
    vectors. The vectors themselves are not trained. Words without a vector are zeros.

    width (int): Width of the output. The projection is linear; from the vectors' own width on it loses
        nothing.
    hash_rows (int): Rows of trained hash embeddings of norm, prefix, suffix and shape (half of it for
        the last three), mixed with the vectors by a maxout layer as spaCy does: something to know words
        without a vector by. 0 is none; spaCy's usual size is 2000.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, width).
    SOURCE: Wang & Wang 2022, section 4.4.
    """
    width = whole("width", width, "The vectors' own width loses nothing.", 1)
    rows = whole("hash_rows", hash_rows, "0 is none, 2000 is spaCy's usual size.")
    if rows:
        attrs = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
        sizes = [rows, *[(rows + 1) // 2] * 3]
        layer = MultiHashEmbed(width=width, attrs=attrs, rows=sizes, include_static_vectors=True)
    else:
        layer = chain(VectorTable(nO=width), ragged2list())
    return Model("static_vectors", forward, init=init, layers=[layer], dims={"nO": width})


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    if docs:  # a component that is taken from a pipeline is not initialized
        check_vectors(model, docs[0].vocab, WHO)
    return model.layers[0](docs, is_train)


def init(model: Model, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
    if X:
        check_vectors(model, X[0].vocab, WHO)
    model.layers[0].initialize(X=X)
