"""How many mentions of each type a component expects in each sentence, by its own probabilities.

The expectation is the sum over tokens of the probability that a mention begins there: exact for a CRF
and a softmax, after the greedy path so far for a transition system.
"""

from typing import TypeAlias, TypeGuard

import numpy as np
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...corpus.sentences import sentence_lengths
from ..token.tagging import TokenTagger
from ..transition.actions import beginnings, columns_of

Counting: TypeAlias = TokenTagger | EntityRecognizer  # components whose probabilities count mentions
N_FEATURES = 3  # of a parser's state: others look at more than a token and its entity


def has_posteriors(pipe: object) -> TypeGuard[Counting]:
    """Whether a component gives each token probabilities to count by."""
    if isinstance(pipe, EntityRecognizer):
        return pipe.model.get_ref("lower").get_dim("nF") == N_FEATURES and pipe.cfg["beam_width"] == 1
    return isinstance(pipe, TokenTagger)


def sentence_mentions(pipe: Counting, docs: list[Doc]) -> Floats2d:
    """The expected mentions of each type of the component, in its order.

    docs (List[Doc]): Documents that it has processed, with the rows that its listener then read
        (`own_rows`): the head alone runs again.
    RETURNS (Floats2d): (n_sentences, n_types), the sentences of all documents in order.
    """
    lengths = np.concatenate([sentence_lengths(doc) for doc in docs] or [[]]).astype("int64")
    if not len(lengths):
        return np.zeros((0, len(pipe.labels)))
    return np.add.reduceat(_beginnings(pipe, docs), np.cumsum(lengths) - lengths, axis=0)


def _beginnings(pipe: Counting, docs: list[Doc]) -> Floats2d:
    """The probability that a mention of each type of the pipe begins at each token."""
    if isinstance(pipe, TokenTagger):
        return pipe.marginals(docs) @ pipe.codec.beginnings()
    labels = list(pipe.labels)
    own = [[ent for ent in doc.ents if ent.label_ in labels] for doc in docs]
    return beginnings(pipe.model, columns_of(pipe.moves), docs, own, labels)
