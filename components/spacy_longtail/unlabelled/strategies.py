"""How sentences are chosen in a simulation of mining, beside by lot."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.types import Floats1d

from ..corpus.sentences import sentence_lengths
from ..pipes.expected import has_expectations
from ..pipes.sentence_gate import SentenceGate
from ..pipes.tagging import TokenTagger
from ..pipes.upstream import own_rows
from .passes import BATCH
from .pool import PLACE
from .scan import RANDOM, Scan, Signs, scan_pool
from .selection import Diversity, choose, ranking_sizes, share_out
from .terms import Likeness

MINE = "mine"


def by_expected_mentions(
    nlp: Language, docs: list[Doc], n: int, texts: Mapping[str, str], seed: int
) -> list[int]:
    """As `mine` chooses, without a random share; where it finds too few, sentences by lot.

    nlp (Language): The pipeline. docs (List[Doc]): Sentences without annotation. n (int): How many.
    texts (Mapping[str, str]): The rare types in words. seed (int): Fixes the lots.
    RETURNS (List[int]): Indices of documents, each once; n at least, if there are as many.
    """
    for i, doc in enumerate(docs):
        doc.user_data[PLACE] = str(i)
    types = list(texts)
    quotas = share_out(n, types, {})
    scan = Scan.of(types, {**ranking_sizes(quotas), RANDOM: n})
    signs = Signs((), None, Likeness(nlp, texts), seed)
    scan_pool(scan, minibatch(nlp.pipe(docs), BATCH), nlp, signs)
    chosen = (proposal.unit for proposal in choose(scan, quotas, 0, Diversity()))
    others = (unit for _, unit in scan.best[RANDOM].ranked())
    units = (*chosen, *others)
    # a pipeline may cut a sentence, and a pool may have it twice
    return list(dict.fromkeys([*(int(unit.document) for unit in units), *range(len(docs))]))


def by_score(nlp: Language, docs: list[Doc], strategy: str) -> list[int]:
    """The highest score first. strategy (str): Of `SCORES`.

    RETURNS (List[int]): Indices of documents.
    """
    score, kind, _ = SCORES[strategy]
    pipe = next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, kind))
    values = []
    for batch in minibatch(nlp.pipe(docs), BATCH):
        with own_rows(nlp, pipe, batch):
            values.append(score(pipe, batch))
    return np.argsort(-np.concatenate(values), kind="stable").tolist()


def what_lacks(nlp: Language, strategy: str) -> str:
    """What a pipeline would need for a strategy, in words; "" if it has all."""
    pipes = [pipe for _, pipe in nlp.pipeline]
    if strategy == MINE and not any(map(has_expectations, pipes)):
        return "a component whose probabilities count mentions"
    if strategy in SCORES and not any(isinstance(pipe, SCORES[strategy].kind) for pipe in pipes):
        return SCORES[strategy].needs
    return ""


def _entropy(tagger: TokenTagger, docs: list[Doc]) -> Floats1d:
    """Mean entropy of the tags' probabilities, in nats."""
    p = np.maximum(tagger.marginals(docs), 1e-12)
    return _means(docs, -(p * np.log(p)).sum(axis=1))


def _doubt(tagger: TokenTagger, docs: list[Doc]) -> Floats1d:
    """Minus the mean log probability of the most probable tags."""
    p = np.maximum(tagger.marginals(docs).max(axis=1), 1e-12)
    return _means(docs, -np.log(p))


def _gate(gate: SentenceGate, docs: list[Doc]) -> Floats1d:
    """The highest probability of a sentence to hold a rare type."""
    p = gate.model.ops.to_numpy(gate.predict(docs)).ravel()
    n = np.array([len(sentence_lengths(doc)) for doc in docs])
    return np.maximum.reduceat(p, np.cumsum(n) - n)


def _means(docs: list[Doc], values: Floats1d) -> Floats1d:
    """The mean over the tokens of each document."""
    n = np.array([len(doc) for doc in docs])
    return np.add.reduceat(values, np.cumsum(n) - n) / n


class Score(NamedTuple):
    of: Callable[[Any, list[Doc]], Floats1d]  # of the component and documents
    kind: type  # of the component, the first such one
    needs: str  # that in words


SCORES = {
    "entropy": Score(_entropy, TokenTagger, "a longtail_token_ner"),
    "least_confidence": Score(_doubt, TokenTagger, "a longtail_token_ner"),
    "gate": Score(_gate, SentenceGate, "a longtail_sentence_gate"),
}
