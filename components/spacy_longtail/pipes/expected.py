"""How many mentions of each type a trained pipeline expects in each sentence.

The expectation is the sum over tokens of the probability that a mention begins there: exact for a CRF
and a softmax, after the greedy path so far for a transition system.
"""

from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..corpus.examples import sentence_lengths
from .actions import Actions, beginnings
from .gated_ner import GatedNER
from .sentence_gate import SentenceGate
from .tagging import TokenTagger

N_FEATURES = 3  # of a parser's state: others look at more than a token and its entity


class Expected(NamedTuple):
    """What one component expects."""

    name: str  # of the component
    labels: tuple[str, ...]
    mentions: Floats2d  # (n_sentences, n_types), the sentences of all documents in order


def has_expectations(pipe: object) -> bool:
    """Whether a component gives probabilities to count by."""
    if isinstance(pipe, EntityRecognizer):
        return pipe.model.get_ref("lower").get_dim("nF") == N_FEATURES and pipe.cfg["beam_width"] == 1
    return isinstance(pipe, (TokenTagger, SentenceGate))


def expected_mentions(nlp: Language, docs: list[Doc]) -> list[Expected]:
    """The expectations of each component that has some.

    A gate expects what it opens for: its probability, shared by its types. Behind it, what the secondary
    expects counts as often as the gate opens.

    nlp (Language): The pipeline. docs (List[Doc]): Documents that it has processed.
    """
    ends = np.cumsum(np.concatenate([sentence_lengths(doc) for doc in docs] or [[]]).astype("int64"))
    starts = ends - np.diff(ends, prepend=0)
    found: list[Expected] = []
    opens: dict[str, Floats2d] = {}  # by spans_key
    for name, pipe in nlp.pipeline:
        if not has_expectations(pipe):
            continue
        if isinstance(pipe, SentenceGate):
            p = pipe.model.ops.to_numpy(pipe.predict(docs))
            opens[pipe.cfg["spans_key"]] = p
            found.append(Expected(name, pipe.labels, np.repeat(p, len(pipe.labels), axis=1)))
            found[-1].mentions[:] /= max(1, len(pipe.labels))
            continue
        labels = tuple(pipe.labels)
        mentions = np.zeros((0, len(labels)))
        if len(starts):
            mentions = np.add.reduceat(_beginnings(pipe, docs), starts, axis=0)
        if isinstance(pipe, GatedNER) and pipe.cfg["spans_key"] in opens:
            mentions = mentions * opens[pipe.cfg["spans_key"]]
        found.append(Expected(name, labels, mentions))
    return found


def _beginnings(pipe: TokenTagger | EntityRecognizer, docs: list[Doc]) -> Floats2d:
    """The probability that a mention of each type of the pipe begins at each token."""
    if isinstance(pipe, TokenTagger):
        return pipe.marginals(docs) @ pipe.codec.beginnings()
    labels = list(pipe.labels)
    own = [[ent for ent in doc.ents if ent.label_ in labels] for doc in docs]
    return beginnings(pipe.model, Actions().columns(pipe.moves), docs, own, labels)
