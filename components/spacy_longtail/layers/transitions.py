"""The transition scores of a CRF, beside the tag logits of a model."""

from collections.abc import Callable
from typing import NamedTuple

from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Ragged

from ..chains.packing import Transitions


class Lattice(NamedTuple):
    """The scores of all tag paths; a gradient on them has the same shape."""

    logits: Ragged  # data (n_tokens, n_tags), lengths (n_docs,)
    transitions: Transitions


def with_transitions(classifier: Model[list[Doc], Ragged]) -> Model[list[Doc], Lattice]:
    """Add learnt transition scores to a model that computes tag logits of documents.

    classifier (Model[List[Doc], Ragged]): The model that computes the logits.
    RETURNS (Model[List[Doc], Lattice]): The model with the classifier's refs and a ref
        "transitions".
    """
    scores = transition_scores()
    return Model(
        "with_transitions",
        forward,
        init=init,
        layers=[classifier, scores],
        refs={
            "tok2vec": classifier.maybe_get_ref("tok2vec"),
            "output_layer": classifier.maybe_get_ref("output_layer"),
            "transitions": scores,
        },
    )


def transition_scores(n_tags: int | None = None) -> Model:
    """Create a layer without input: start (n_tags,), trans (n_tags, n_tags), end (n_tags,)."""
    return Model(
        "transition_scores",
        _no_input,
        dims={"nO": n_tags},
        params=dict.fromkeys(Transitions._fields),
    )


def _no_input(model: Model, X: None, is_train: bool) -> tuple[Transitions, Callable]:
    def backprop(d: Transitions) -> None:
        for name, gradient in zip(Transitions._fields, d, strict=True):
            model.inc_grad(name, gradient)

    return Transitions(*(model.get_param(name) for name in Transitions._fields)), backprop


def init(model: Model, X: list[Doc] | None = None, Y: Ragged | None = None) -> None:
    classifier, scores = model.layers
    classifier.initialize(X=X)
    n_tags = classifier.get_ref("output_layer").get_dim("nO")
    scores.set_dim("nO", n_tags, force=True)
    for name in Transitions._fields:
        shape = (n_tags, n_tags) if name == "trans" else (n_tags,)
        scores.set_param(name, model.ops.alloc(shape))


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Lattice, Callable]:
    classifier, scores = model.layers
    logits, backprop_logits = classifier(docs, is_train)
    transitions, backprop_transitions = scores(None, is_train)

    def backprop(d: Lattice) -> list[Doc]:
        backprop_transitions(d.transitions)
        return backprop_logits(d.logits)

    return Lattice(logits, transitions), backprop
