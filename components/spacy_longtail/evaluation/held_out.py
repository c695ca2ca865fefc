"""What a token NER says of documents that it was not trained on, decoded again under any offsets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import get_array_module
from thinc.types import Floats1d, Ints1d, Ints2d, Ragged

from ..corpus.examples import trim_whitespace
from ..corpus.sentences import sentence_lengths
from ..heads import Scores
from ..layers import Lattice
from ..pipes.entity_tags import gold_tags
from ..pipes.token_ner import TokenNER

BATCH = 64  # documents read at once


@dataclass
class HeldOut:
    """A model's scores of the documents of one fold.

    pipe (TokenNER): The model. scores: Its outputs for all documents. lengths (Ints1d): (n_sentences,),
    tokens of each. space, annotated (Ints1d): (n_tokens,), whether a token is whitespace, and annotated.
    gold (Ints1d): (n_entities,), codes of the annotated entities. n_gold (Ints1d): (n_labels,),
    annotated mentions; those that do not align with tokens have no code. order (Ints1d): (n_labels,),
    the place in the pipe's labels of each of those that offsets and counts are of. tokens (Ints1d):
    (n_labels + 1,), annotated ones of each of these, and of none.
    """

    pipe: TokenNER
    scores: Scores
    lengths: Ints1d
    space: Ints1d
    annotated: Ints1d
    gold: Ints1d
    n_gold: Ints1d
    order: Ints1d
    tokens: Ints1d
    known: dict[tuple[float, ...], Ints2d] = field(default_factory=dict)

    @classmethod
    def of(cls, pipe: TokenNER, examples: Sequence[Example], labels: Sequence[str]) -> "HeldOut":
        """Read the documents of a fold.

        pipe (TokenNER): Trained on other documents.
        examples (Sequence[Example]): Annotated documents, as the components before it leave them.
        labels (Sequence[str]): The pipe's labels, in the order of offsets and counts.
        """
        read = [eg for eg in examples if len(eg.predicted)]
        batches = minibatch([eg.predicted for eg in read], BATCH)
        scores = [pipe.model.predict(docs) for docs in batches]
        docs = [eg.predicted for eg in read]
        gold = gold_tags(read, pipe.cfg["types"], pipe.codec, "O", pipe.name)
        column = {label: min(i, len(pipe.labels) - 1) for i, label in enumerate(pipe.cfg["types"])}
        ents = [ent for eg in read for ent in eg.reference.ents if ent.label_ in column]
        columns, sizes = [column[ent.label_] for ent in ents], [len(ent) for ent in ents]
        n_known = sum(np.count_nonzero(eg.reference.to_array("ENT_IOB")) for eg in read)
        order = np.asarray([pipe.labels.index(label) for label in labels])
        inside = np.bincount(columns, sizes, len(pipe.labels))[order].astype("int64")
        return cls(
            pipe,
            reduce(_joined, scores),
            np.concatenate([sentence_lengths(doc) for doc in docs]),
            np.concatenate([doc.to_array(["IS_SPACE"]) for doc in docs]).ravel() > 0,
            gold.mask > 0,
            _codes(*pipe.codec.spans(gold.tags)),
            np.bincount(columns, minlength=len(pipe.labels)),
            order,
            np.append(inside, n_known - inside.sum()),
        )

    def counts(self, offsets: Floats1d) -> Ints2d:
        """Right, predicted and gold mentions of each type. offsets (Floats1d): (n_labels,).

        RETURNS (Ints2d): (n_labels, 3).
        """
        key = tuple(offsets.tolist())
        if key not in self.known:
            self.known[key] = self._counted(offsets)
        return self.known[key]

    def _counted(self, offsets: Floats1d) -> Ints2d:
        outside = np.zeros(len(self.space), dtype="float32")
        own = np.zeros(len(self.order))
        own[self.order] = offsets
        settings = self.pipe.decoding._replace(offsets=own if own.any() else None)
        tags = self.pipe.head.decode(self.scores, self.lengths, outside, False, settings).tags
        start, end, label = self.pipe.codec.spans(tags)
        start, end = trim_whitespace(start, end, self.space)
        kept = (start < end) & self.annotated[start]
        start, end, label = (column[kept] for column in (start, end, label))
        right = np.isin(_codes(start, end, label), self.gold)
        n = len(self.n_gold)
        found = (np.bincount(label[right], minlength=n), np.bincount(label, minlength=n), self.n_gold)
        return np.stack(found, axis=1)[self.order]


def _codes(start: Ints1d, end: Ints1d, label: Ints1d) -> Ints1d:
    """A number for each span, the same for the same span and type."""
    most = np.int64(1) << 20  # tokens of an entity, and types
    return (start.astype("int64") * most + (end - start)) * most + label


def _joined(one: Any, other: Any) -> Any:
    """The outputs of two batches as those of one."""
    if isinstance(one, Lattice):
        return one._replace(logits=_joined(one.logits, other.logits))
    xp = get_array_module(one.dataXd)
    lengths = xp.concatenate([one.lengths, other.lengths])
    return Ragged(xp.concatenate([one.dataXd, other.dataXd]), lengths)
