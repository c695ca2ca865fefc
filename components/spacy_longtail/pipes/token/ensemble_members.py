"""Members of an ensemble: what each says of a token, and their mean as one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged

from ...corpus.sentences import sentence_lengths
from ...errors import Errors
from ...heads import SOFT_HEADS, Head, Scores
from ...types import TwoTaskState
from .settings import check_head

LEAST = 1e-30  # what is impossible for all, so that its logarithm is a number
SETTINGS = {"head", "model"}
N_MEMBERS = 2  # at least


class MemberSettings(NamedTuple):
    """A member as its config has it."""

    head: str
    model: Model  # with what its head adds to it


@dataclass(frozen=True)
class Member:
    """What turns the output of a member's model into probabilities.

    head (Head): As trained. columns (Ints1d): (n_tags,), of its tags, in the order of the ensemble's.
    """

    head: Head
    columns: Ints1d

    def probabilities(self, scores: Scores, lengths: Ints1d) -> Floats2d:
        """What the member's own pipe has as its marginals, in the ensemble's order. (n_tokens, n_tags)

        scores: The output of its model. lengths (Ints1d): (n_sentences,), tokens per sentence.
        """
        outside = np.zeros(lengths.sum(), dtype="float32")
        return self.head.marginals(scores, lengths, outside, TwoTaskState())[:, self.columns]


def check_members(members: Mapping[str, object], scheme: str, who: str) -> dict[str, MemberSettings]:
    """The blocks of a factory, in the order of their names: a config keeps no other."""
    if len(members) < N_MEMBERS:
        problem = f"{len(members)} of them, at least {N_MEMBERS} are wanted"
        raise ValueError(Errors.L304.format(who=who, problem=problem))
    return {name: _check_member(name, members[name], scheme, who) for name in sorted(members)}


def _check_member(name: str, block: object, scheme: str, who: str) -> MemberSettings:
    given = block if isinstance(block, Mapping) else {}
    if given.keys() != SETTINGS:
        problem = f"{name!r} with the settings {', '.join(given) or 'none'}"
        raise ValueError(Errors.L304.format(who=who, problem=problem))
    head, model = given["head"], given["model"]
    if not isinstance(model, Model):
        problem = f"{name!r} whose model is {model!r}"
        raise ValueError(Errors.L304.format(who=who, problem=problem))
    own = f"{who}, member {name!r}"
    check_head(head, None, scheme, model, own)
    if head not in SOFT_HEADS:
        problem = f"{name!r} with head = {head!r}, whose outputs are no distribution over tags"
        raise ValueError(Errors.L304.format(who=who, problem=problem))
    return MemberSettings(head, model)


def mean_model(models: Sequence[Model]) -> Model[list[Doc], Ragged]:
    """Documents to the logarithm of the mean of the members' tag probabilities.

    models (Sequence[Model]): The members', one row of outputs per token each.
    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, n_tags), lengths (n_docs,). It predicts once its
        attr "members" has a `Member` for each layer, and is not trained.
    """
    return Model("mean_of_members", forward, layers=list(models), attrs={"members": ()})


def forward(model: Model[list[Doc], Ragged], docs: list[Doc], is_train: bool) -> tuple[Ragged, None]:
    lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
    rows = zip(model.layers, model.attrs["members"], strict=True)
    p = np.mean([own.probabilities(layer.predict(docs), lengths) for layer, own in rows], axis=0)
    n_tokens = model.ops.asarray1i([len(doc) for doc in docs])
    return Ragged(model.ops.asarray2f(np.log(np.maximum(p, LEAST))), n_tokens), None
