"""The actions of a greedy transition-based NER: their columns, class weights and probabilities."""

from collections.abc import Mapping
from itertools import islice

import numpy as np
from spacy.pipeline import EntityRecognizer
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span
from spacy.training import remove_bilu_prefix
from thinc.api import Model, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d

from ..scores.spans import ScoredSpan

N_FEATURES = 3  # of the state of a parser that looks at no other token


def reads_one_token(model: Model) -> bool:
    """Return whether a parser looks at a token and the begin of its entity alone.

    Only then do the actions have probabilities of their own: with further features they depend on
    the actions before.

    model (Model): A spacy.TransitionBasedParser.v2.
    """
    return bool(model.get_ref("lower").get_dim("nF") == N_FEATURES)


def has_action_probabilities(pipe: EntityRecognizer) -> bool:
    """Return whether a parser looks at a token and its entity alone, and takes no beam."""
    return reads_one_token(pipe.model) and pipe.cfg["beam_width"] == 1


def columns_of(moves: TransitionSystem) -> dict[str, int]:
    """Return the column of each action, such as "O" or "B-PER"."""
    return {moves.get_class_name(i): i for i in range(moves.n_moves)}


def action_weights(columns: Mapping[str, int], by_class: Mapping[str, float]) -> Floats1d:
    """Return the class weight of each action, shape (n_moves,).

    columns (Mapping[str, int]): Column of each action, as of `columns_of`.
    by_class (Mapping[str, float]): Class weights of types and of O.
    """
    names = (remove_bilu_prefix(name) if "-" in name else name for name in columns)
    return np.asarray([by_class.get(name, 1.0) for name in names], dtype="float32")


def split_least_cost(scores: Floats2d, d_scores: Floats2d) -> tuple[Floats2d, Floats1d]:
    """Return the probabilities within the actions of least cost, and the log of their sum.

    scores (Floats2d): Scores of actions, shape (n_states, n_moves).
    d_scores (Floats2d): spaCy's gradient, in the same shape: the probabilities of actions minus
        the first result.
    RETURNS (Tuple[Floats2d, Floats1d]): Shapes (n_states, n_moves) and (n_states,).
    SOURCE: docs/methods.md, "Transition-based NER".
    """
    z = scores - scores.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1)
    q = e / total[:, None] - d_scores
    best = np.arange(len(q)), q.argmax(axis=1)
    return q, np.minimum(z[best] - np.log(total * q[best]), 0.0)


def mask_unlearnt(model: Model) -> None:
    """Mask actions whose weights are all zero: those of types that were added after training.

    spaCy masks them when a type is added, but does not save that, so that a loaded pipe would
    predict the type.
    """
    has_upper = model.attrs["has_upper"]
    layer = model.get_ref("upper" if has_upper else "lower")
    if not layer.has_param("W"):
        return
    weights = layer.get_param("W").any(axis=1 if has_upper else (0, 2, 3))
    biases = layer.get_param("b").reshape(len(weights), -1).any(axis=1)
    learnt = to_numpy(weights | biases)
    if learnt.any():  # otherwise the model is untrained
        model.attrs["unseen_classes"].update(np.flatnonzero(~learnt).tolist())


def scored_entities(
    model: Model, columns: Mapping[str, int], docs: list[Doc], ents: list[list[Span]]
) -> list[list[ScoredSpan]]:
    """Return the entities of each document, scored by the mean probability of their actions.

    model (Model): A spacy.TransitionBasedParser.v2 with 3 state features. Its encoder runs again.
    columns (Mapping[str, int]): Column of each action, as of `columns_of`.
    docs (List[Doc]): Documents.
    ents (List[List[Span]]): Entities of each document that the model predicted.
    """
    moves: list[int] = []  # action of each token of an entity
    token: list[int] = []  # index of the token in the batch
    first: list[int] = []  # index of the first token of its entity
    offset = 0
    for doc, spans in zip(docs, ents, strict=True):
        for ent in spans:
            prefixes = "U" if len(ent) == 1 else "B" + "I" * (len(ent) - 2) + "L"
            moves.extend(columns[f"{p}-{ent.label_}"] for p in prefixes)
            token.extend(range(offset + ent.start, offset + ent.end))
            first.extend([offset + ent.start] * len(ent))
        offset += len(doc)
    if not moves:
        return [[] for _ in docs]
    scores = _probabilities(model, docs, np.asarray(token), np.asarray(first))
    p = iter(scores[np.arange(len(moves)), moves].astype("float64").tolist())
    by_doc = [[(e, tuple(islice(p, len(e)))) for e in spans] for spans in ents]
    return [[ScoredSpan(e.start, e.end, e.label_, np.mean(s).item(), s) for e, s in r] for r in by_doc]


def beginnings(model: Model, columns: Mapping[str, int], docs: list[Doc], labels: list[str]) -> Floats2d:
    """Return the probability that an entity of each type begins at each token.

    It is 0 at a token at which an entity of doc.ents of one of these types continues.

    model, columns: As for `scored_entities`.
    docs (List[Doc]): Documents that the NER has processed.
    labels (List[str]): Types of the NER.
    RETURNS (Floats2d): Shape (n_tokens, n_types), the tokens of all documents in order.
    """
    iob, types = np.concatenate([doc.to_array(["ENT_IOB", "ENT_TYPE"]) for doc in docs]).T
    inside = (iob == 1) & np.isin(types, np.asarray([*map(get_string_id, labels)], dtype="uint64"))
    token = np.flatnonzero(~inside)
    begins = np.zeros((len(inside), len(labels)))
    if len(token):
        p = _probabilities(model, docs, token, token)
        for i, label in enumerate(labels):
            begins[token, i] = p[:, [columns[f"{prefix}-{label}"] for prefix in "BU"]].sum(axis=1)
    return begins


def _probabilities(model: Model, docs: list[Doc], token: Ints1d, first: Ints1d) -> Floats2d:
    """Return the probability of each action at some tokens, shape (n, n_moves).

    token (Ints1d): Indices of the tokens in the batch, shape (n,).
    first (Ints1d): Index of the first token of its entity, or of the token itself, shape (n,).
    """
    inside = token > first
    # spaCy's state features: the token and, inside an entity, its first and previous token
    ids = [token, np.where(inside, first, -1), np.where(inside, token - 1, -1)]
    features = np.ascontiguousarray(np.stack(ids, axis=1), dtype="int32")
    step = model.predict(docs)
    scores = step.state2vec.predict(features)
    if step.attrs["has_upper"]:
        scores = step.vec2scores.predict(scores)
    scores = np.asarray(scores).reshape(len(features), -1)
    scores[:, step._class_mask == 0] = -np.inf  # masked, as spaCy does
    step.clear_memory()
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)
