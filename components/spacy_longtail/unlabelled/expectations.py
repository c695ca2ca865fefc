"""Record how many mentions of each type a pipeline expects to begin at each token.

The expectation of a sentence is the sum over its tokens of the probability that a mention begins
there. It is exact for a CRF and a softmax. For a transition system, it is conditional on the greedy
path so far.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.types import Floats2d

from ..pipes.gate.primary import ask_for_probabilities
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.neighbours import is_secondary
from ..pipes.scores.probabilities import begin_probabilities
from ..pipes.token.tagging import TokenTagger
from ..pipes.transition.actions import has_action_probabilities
from ..sentences import sentence_lengths, sums_by_sentence, touched_sentences

# key in Doc.user_data: by component, its "labels" and "mentions", of shape (n_tokens, n_types)
KEY = "expected_mentions"
RECORDER = "longtail_expected_mentions"  # factory of components that `mine` adds


def has_expectations(pipe: object) -> bool:
    """Return whether a component gives probabilities by which mentions can be counted."""
    if isinstance(pipe, EntityRecognizer):
        return has_action_probabilities(pipe)
    return isinstance(pipe, TokenTagger | SentenceGate)


def record_expectations(nlp: Language) -> None:
    """Let a pipeline write the expectations of its components to each document.

    nlp (Language): The pipeline; changed in place. Afterwards, use it for predictions only.
    """
    gates: dict[str, str] = {}  # by key of doc.spans, the trained gate that flags sentences
    components: list[tuple[str, Any]] = nlp.pipeline
    for name, pipe in components:
        if isinstance(pipe, SentenceGate):
            gates[pipe.cfg["spans_key"]] = name
        if has_expectations(pipe):
            ask_for_probabilities(nlp, name)
            key = pipe.cfg["spans_key"] if is_secondary(pipe) else None
            config = {"pipe_name": name, "gate": gates.get(key or "")}
            nlp.add_pipe(RECORDER, name=f"{RECORDER}_of_{name}", after=name, config=config)


class Recorder:
    """Component that writes the expectations of the preceding component to Doc.user_data.

    It directly follows that component, because later encoders of the pipeline would replace the
    vectors that the component used.

    pipe (Any): The component.
    pipe_name (str): Its name.
    gate (Optional[str]): Name of the trained gate if the component is a secondary.
    """

    def __init__(self, pipe: Any, pipe_name: str, gate: str | None) -> None:
        self.counted, self.pipe_name, self.gate = pipe, pipe_name, gate

    def __call__(self, doc: Doc) -> Doc:
        """Record the expectations for a document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Record the expectations for each document of a stream."""
        for docs in minibatch(stream, size=batch_size):
            ends = np.cumsum([len(doc) for doc in docs])
            for doc, mentions in zip(docs, np.split(self._mentions(docs), ends[:-1]), strict=True):
                own = {"labels": list(self.counted.labels), "mentions": mentions}
                doc.user_data[KEY] = {**doc.user_data.get(KEY, {}), self.pipe_name: own}
                yield doc

    def _mentions(self, docs: list[Doc]) -> Floats2d:
        """Return how many mentions of each type are expected to begin at each token.

        The rows are summed by sentence after the last component, because a later one may change the
        sentence boundaries. The expectation of a trained gate is its probability, shared equally by
        its types, at the first token of the sentence. The expectation of a secondary is multiplied
        by the probability of its gate if the gate is trained; otherwise it counts in flagged
        sentences only.

        RETURNS (Floats2d): Shape (n_tokens, n_types).
        """
        labels = list(self.counted.labels)
        pipe: Any = self.counted
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        if isinstance(pipe, SentenceGate):
            p = pipe.model.ops.to_numpy(pipe.predict(docs))
            rows = np.zeros((lengths.sum(), len(labels)), dtype="float32")
            rows[np.cumsum(lengths) - lengths] = p / max(1, len(labels))
            return rows
        if not is_secondary(self.counted):
            rows = [begin_probabilities(doc, self.pipe_name, labels, self.pipe_name) for doc in docs]
            return np.concatenate(rows)
        mentions = pipe.tokens.marginals(docs) @ pipe.tokens.codec.beginnings()
        key = pipe.cfg["spans_key"]
        if self.gate is not None:
            of_gate = np.concatenate([doc.user_data[KEY][self.gate]["mentions"] for doc in docs])
            opens = sums_by_sentence(docs, of_gate).sum(axis=1)
        elif key is not None:
            opens = np.concatenate([touched_sentences(doc, doc.spans.get(key, ())) for doc in docs])
        else:
            return mentions
        return mentions * np.repeat(opens, lengths)[:, None]


@Language.factory(RECORDER, default_config={"gate": None})
def make_recorder(nlp: Language, name: str, pipe_name: str, gate: str | None) -> Recorder:
    """Build the component that follows `pipe_name` in the same pipeline."""
    return Recorder(nlp.get_pipe(pipe_name), pipe_name, gate)
