"""Model of reading comprehension: begins and ends of answers, and scores of spans."""

from collections.abc import Callable

from spacy.tokens import Doc
from thinc.api import Gelu, Linear, Model, chain, zero_init
from thinc.types import Floats2d

from ..layers.reading import Asked, Reading, paired_rows, sentence_rows
from ..settings import whole


def MRC(
    tok2vec: Model[list[Doc], list[Floats2d]], hidden_width: int = 256
) -> Model[list[Asked], Reading]:
    """Create a model that reads a query with a sentence and finds begins and ends of answers.

    Begin and end are linear in the token's vector. A span's logit comes from the vectors of its
    first and its last token through two layers, for those spans alone that the pipe asks about.

    tok2vec (Model[List[Doc], List[Floats2d]]): The component's own encoder, not a listener. It has
        to carry the query to every token of the sentence, as a transformer or a BiLSTM does.
    hidden_width (int): Width of the hidden layer of the span scorer.
    RETURNS (Model[List[Asked], Reading]): Vectors and logits of the sentences' tokens. Its ref
        "span_scorer" takes Tuple[Floats2d, Ints2d], vectors and pairs, to Floats2d, (n_pairs, 1).
    SOURCE: Li et al. 2020, arXiv:1910.11476.
    """
    hidden_width = whole("hidden_width", hidden_width, "256 is usual.", 1)
    width = tok2vec.maybe_get_dim("nO")
    rows = sentence_rows(tok2vec)
    boundaries: Model = Linear(nO=2, nI=width, init_W=zero_init)
    hidden: Model = Gelu(nO=hidden_width, nI=width and 2 * width, dropout=0.0)
    output: Model = Linear(nO=1, nI=hidden_width, init_W=zero_init)
    span_scorer: Model = chain(paired_rows(), hidden, output)
    return Model(
        "mrc",
        forward,
        init=init,
        layers=[rows, boundaries, span_scorer],
        refs={"tok2vec": tok2vec, "boundaries": boundaries, "span_scorer": span_scorer},
    )


def init(model: Model, X: list[Asked] | None = None, Y: Reading | None = None) -> None:
    rows, boundaries, span_scorer = model.layers
    rows.initialize(X=X)
    vectors = None if X is None else rows.predict(X)
    boundaries.initialize(X=vectors)
    span_scorer.initialize(X=None if vectors is None else (vectors, model.ops.alloc2i(1, 2)))


def forward(model: Model, X: list[Asked], is_train: bool) -> tuple[Reading, Callable]:
    rows, boundaries, _ = model.layers
    vectors, backprop_rows = rows(X, is_train)
    logits, backprop_boundaries = boundaries(vectors, is_train)

    def backprop(d: Reading) -> list[Doc]:
        return backprop_rows(d.vectors + backprop_boundaries(d.logits))

    return Reading(vectors, logits), backprop
