"""An encoder that is used as it is."""

from collections.abc import Callable

from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors
from ..layers import listener_in


def FrozenEncoder(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Doc], list[Floats2d]]:
    """A pretrained encoder without training: no gradient, no dropout, no weight decay reaches it.

    tok2vec (Model[List[Doc], List[Floats2d]]): The component's own encoder, such as
        spacy-transformers.Tok2VecTransformer.v3. It is initialized and saved as usual.
    RETURNS (Model[List[Doc], List[Floats2d]]): The encoder's rows.
    SOURCE: The frozen BERT with a feed-forward layer of Nguyen, Nguyen & Rao 2020.
    """
    if found := listener_in(tok2vec):
        problem = f"{found} listens to a shared encoder, which would no longer be trained"
        fix = "Name an encoder of its own, or put the shared component into frozen_components."
        raise ValueError(Errors.L241.format(who="longtail.FrozenEncoder.v1", problem=problem, fix=fix))
    dims = {"nO": tok2vec.maybe_get_dim("nO")}
    return Model("frozen_encoder", forward, init=init, layers=[tok2vec], dims=dims)


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    return model.layers[0].predict(docs), lambda d_rows: []


def init(model: Model, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
    model.layers[0].initialize(X=X)
    if model.layers[0].has_dim("nO"):
        model.set_dim("nO", model.layers[0].get_dim("nO"))
