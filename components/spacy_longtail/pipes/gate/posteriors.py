"""How many mentions of each type components expect in each sentence, by their own probabilities.

The expectation is the sum over tokens of the probability that a mention begins there: exact for a
CRF and a softmax, after the greedy path so far for a transition system.
"""

from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...corpus.sentences import sentence_lengths, touched_sentences
from ..base import Gate, LongtailPipe, Secondary
from ..neighbours import own_rows
from ..token.tagging import TokenTagger
from ..transition.actions import beginnings, columns_of

Counting: TypeAlias = TokenTagger | EntityRecognizer  # components whose probabilities count mentions
N_FEATURES = 3  # of a parser's state: others look at more than a token and its entity


class Expected(NamedTuple):
    """What one component expects."""

    labels: tuple[str, ...]
    mentions: Floats2d  # (n_sentences, n_types), the sentences of all documents in order


def has_posteriors(pipe: object) -> TypeGuard[Counting]:
    """Whether a component gives each token probabilities to count by."""
    if isinstance(pipe, EntityRecognizer):
        return pipe.model.get_ref("lower").get_dim("nF") == N_FEATURES and pipe.cfg["beam_width"] == 1
    return isinstance(pipe, TokenTagger)


def has_expectations(pipe: object) -> bool:
    """Whether a component gives probabilities to count by."""
    return (isinstance(pipe, Gate) and isinstance(pipe, LongtailPipe)) or has_posteriors(pipe)


def gate_key(pipe: object) -> str | None:
    """The key of a component that reads flagged sentences alone, and is right there alone."""
    return getattr(pipe, "cfg", {}).get("spans_key") if isinstance(pipe, Secondary) else None


def sentence_mentions(pipe: Counting, docs: list[Doc]) -> Floats2d:
    """The expected mentions of each type of the component, in its order.

    docs (List[Doc]): Documents that it has processed, with the rows that its listener then read
        (`own_rows`): the head alone runs again.
    RETURNS (Floats2d): (n_sentences, n_types), the sentences of all documents in order.
    """
    lengths = np.concatenate([sentence_lengths(doc) for doc in docs] or [[]]).astype("int64")
    if not len(lengths):
        return np.zeros((0, len(pipe.labels)))
    if isinstance(pipe, TokenTagger):
        p = pipe.marginals(docs) @ pipe.codec.beginnings()
    else:
        labels = list(pipe.labels)
        ents = [[ent for ent in doc.ents if ent.label_ in labels] for doc in docs]
        p = beginnings(pipe.model, columns_of(pipe.moves), docs, ents, labels)
    return np.add.reduceat(p, np.cumsum(lengths) - lengths, axis=0)


def expected_mentions(nlp: Language, docs: list[Doc]) -> list[Expected]:
    """The expectations of each component that has some.

    A trained gate expects what it opens for: its probability, shared by its types. Behind it a
    secondary's expectation counts as often as the gate opens; behind others, where they flag.
    """
    expected: list[Expected] = []
    opens: dict[str | None, Floats2d] = {}  # by spans_key
    pipe: Any
    for _, pipe in nlp.pipeline:
        if not has_expectations(pipe):
            continue
        labels = tuple(pipe.labels)
        with own_rows(nlp, pipe, docs):
            if isinstance(pipe, Gate) and isinstance(pipe, LongtailPipe):
                p = opens[pipe.cfg["spans_key"]] = pipe.model.ops.to_numpy(pipe.predict(docs))
                mentions = np.repeat(p, len(labels), axis=1) / max(1, len(labels))
            else:
                mentions = sentence_mentions(pipe, docs)
        if (key := gate_key(pipe)) in opens:
            mentions = mentions * opens[key]
        elif key is not None:
            flags = [touched_sentences(doc, doc.spans.get(key, ())) for doc in docs]
            mentions = mentions * np.concatenate([np.zeros(0), *flags])[:, None]
        expected.append(Expected(labels, mentions))
    return expected
