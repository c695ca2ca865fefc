"""How many mentions of each type a trained pipeline expects in each sentence."""

from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...corpus.sentences import touched_sentences
from ..secondary.gated_ner import GatedNER
from ..upstream import own_rows
from .posteriors import has_posteriors, sentence_mentions
from .sentence_gate import SentenceGate


class Expected(NamedTuple):
    """What one component expects."""

    name: str  # of the component
    labels: tuple[str, ...]
    mentions: Floats2d  # (n_sentences, n_types), the sentences of all documents in order


def has_expectations(pipe: object) -> bool:
    """Whether a component gives probabilities to count by."""
    return isinstance(pipe, SentenceGate) or has_posteriors(pipe)


def expected_mentions(nlp: Language, docs: list[Doc]) -> list[Expected]:
    """The expectations of each component that has some.

    A trained gate expects what it opens for: its probability, shared by its types. Behind it, what the
    secondary expects counts as often as the gate opens; behind any other component that flags, in the
    flagged sentences.

    nlp (Language): The pipeline. docs (List[Doc]): Documents that it has processed.
    """
    found: list[Expected] = []
    opens: dict[str, Floats2d] = {}  # by spans_key
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, SentenceGate):
            with own_rows(nlp, pipe, docs):
                p = pipe.model.ops.to_numpy(pipe.predict(docs))
            opens[pipe.cfg["spans_key"]] = p
            shared = np.repeat(p, len(pipe.labels), axis=1) / max(1, len(pipe.labels))
            found.append(Expected(name, pipe.labels, shared))
        elif has_posteriors(pipe):
            with own_rows(nlp, pipe, docs):
                mentions = sentence_mentions(pipe, docs)
            key = pipe.cfg["spans_key"] if isinstance(pipe, GatedNER) else None
            if key is not None:
                mentions = mentions * (opens[key] if key in opens else _flagged(docs, key))
            found.append(Expected(name, tuple(pipe.labels), mentions))
    return found


def _flagged(docs: list[Doc], key: str) -> Floats2d:
    """1 for a sentence that was flagged, else 0. (n_sentences, 1)"""
    flags = [touched_sentences(doc, doc.spans.get(key, ())) for doc in docs]
    return np.concatenate([np.zeros(0), *flags])[:, None]
