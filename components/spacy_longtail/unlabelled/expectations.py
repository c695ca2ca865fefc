"""How many mentions of each type the components of a pipeline expect in each sentence.

The expectation is the sum over tokens of the probability that a mention begins there: exact for a
CRF and a softmax, after the greedy path so far for a transition system.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.types import Floats2d

from ..pipes.base import Secondary
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.neighbours import ask_for_probabilities, has_action_probabilities
from ..pipes.scores.probabilities import begin_probabilities
from ..pipes.token.tagging import TokenTagger
from ..sentences import sentence_lengths, sums_by_sentence, touched_sentences

KEY = "expected_mentions"  # in Doc.user_data: by component, its "labels" and "mentions"
RECORDER = "longtail_expected_mentions"  # factory of the components that `mine` adds to a pipeline


class Expected(NamedTuple):
    """What one component expects."""

    labels: tuple[str, ...]
    mentions: Floats2d  # (n_sentences, n_types), the sentences of all documents in order


def has_expectations(pipe: object) -> bool:
    """Return whether a component gives probabilities by which mentions can be counted."""
    if isinstance(pipe, EntityRecognizer):
        return has_action_probabilities(pipe)
    return isinstance(pipe, TokenTagger | SentenceGate)


def record_expectations(nlp: Language) -> None:
    """Let a pipeline write to each document what its components expect there.

    nlp (Language): The pipeline; changed in place. It is for predictions alone afterwards.
    """
    gates: dict[str, str] = {}  # the trained gate that flags sentences under each key of doc.spans
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, SentenceGate):
            gates[pipe.cfg["spans_key"]] = name
        if has_expectations(pipe):
            ask_for_probabilities(nlp, name)
            key = pipe.cfg["spans_key"] if isinstance(pipe, Secondary) else None
            config = {"pipe_name": name, "gate": gates.get(key or "")}
            nlp.add_pipe(RECORDER, name=f"{RECORDER}_of_{name}", after=name, config=config)


def expected_mentions(docs: Sequence[Doc]) -> list[Expected]:
    """Return what each component expects in documents that such a pipeline has read."""
    records = [doc.user_data[KEY] for doc in docs]
    expected = []
    for name, record in records[0].items() if records else ():
        mentions = np.concatenate([other[name]["mentions"] for other in records])
        expected.append(Expected(tuple(record["labels"]), mentions))
    return expected


class Recorder:
    """A component directly behind one that expects mentions: writes these to Doc.user_data.

    There it reads the same vectors. Later encoders of the pipeline would replace them.
    """

    def __init__(self, pipe: Any, of: str, gate: str | None) -> None:
        """Store the component, its name, and that of the trained gate before a secondary."""
        self.counted, self.of, self.gate = pipe, of, gate

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Record what the component expects in each of the documents."""
        for docs in minibatch(stream, size=batch_size):
            ends = np.cumsum([len(sentence_lengths(doc)) for doc in docs])
            for doc, mentions in zip(docs, np.split(self._mentions(docs), ends[:-1]), strict=True):
                own = {"labels": list(self.counted.labels), "mentions": mentions}
                doc.user_data[KEY] = {**doc.user_data.get(KEY, {}), self.of: own}
                yield doc

    def _mentions(self, docs: list[Doc]) -> Floats2d:
        """Return the expected mentions, shape (n_sentences, n_types).

        A trained gate expects what it opens for: its probability, shared by its types. Behind it a
        secondary's expectation counts as often as the gate opens; behind others, where they flag.
        """
        labels = list(self.counted.labels)
        pipe: Any = self.counted
        if isinstance(pipe, SentenceGate):
            p = pipe.model.ops.to_numpy(pipe.predict(docs))
            return np.repeat(p, len(labels), axis=1) / max(1, len(labels))
        if not isinstance(self.counted, Secondary):
            rows = [begin_probabilities(doc, self.of, labels, self.of) for doc in docs]
            return sums_by_sentence(docs, np.concatenate(rows))
        mentions = sums_by_sentence(docs, pipe.marginals(docs) @ pipe.codec.beginnings())
        if self.gate is not None:
            opens = [doc.user_data[KEY][self.gate]["mentions"].sum(axis=1) for doc in docs]
            return mentions * np.concatenate(opens)[:, None]
        if (key := pipe.cfg["spans_key"]) is not None:
            flags = [touched_sentences(doc, doc.spans.get(key, ())) for doc in docs]
            return mentions * np.concatenate(flags)[:, None]
        return mentions


@Language.factory(RECORDER, default_config={"gate": None})
def make_recorder(nlp: Language, name: str, pipe_name: str, gate: str | None) -> Recorder:
    """Build the component behind `pipe_name` of the same pipeline."""
    return Recorder(nlp.get_pipe(pipe_name), pipe_name, gate)
