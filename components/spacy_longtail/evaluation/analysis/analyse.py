"""One evaluation taken apart: everything that is known of its mistakes."""

from collections.abc import Iterable, Sequence
from itertools import chain

from spacy.training import Example

from ...scorers.ner import TypeCounts, average_f, count_mentions, support
from ...scorers.tokens import token_results
from .groups import buckets, length_bins
from .mentions import pair_mentions, read_mentions
from .mistakes import boundaries, confusion, error_kinds, matching
from .records import Analysis, Averages
from .seen import TrainingMentions, seen_mentions


def analyse(
    examples: Iterable[Example], training: TrainingMentions, labels: Sequence[str], tail: Sequence[str]
) -> Analysis:
    """Take the predictions of a pipeline apart. A document without annotation has no part in it.

    examples (Iterable[Example]): Documents with predictions and gold annotation.
    training (TrainingMentions): What the pipeline was trained on.
    labels (Sequence[str]): The declared types. tail (Sequence[str]): The rare ones.
    """
    examples = list(examples)
    docs = [read_mentions(eg) for eg in examples]
    pairs = [pair_mentions(doc) for doc in docs]
    flat = list(chain.from_iterable(pairs))
    counts = count_mentions(examples)
    types = [*labels, *sorted(set(counts.per_type) - set(labels))]
    lengths = [len(eg.reference) for eg in examples]
    return Analysis(
        matching=matching(docs, flat),
        confusion=confusion(flat, types),
        errors=error_kinds(flat, types),
        boundaries=boundaries(flat),
        lengths=length_bins(pairs, lengths, token_results(examples).sentences),
        buckets=buckets(counts.per_type, training, labels),
        seen=seen_mentions(flat, training.surfaces, types),
        averages=averages(counts, labels, tail),
    )


def averages(counts: TypeCounts, labels: Sequence[str], tail: Sequence[str]) -> Averages:
    """Averages of F1 by several conventions.

    counts (TypeCounts): By type. labels (Sequence[str]): The declared types.
    tail (Sequence[str]): The rare ones.
    """
    phantoms = sorted(t for t, score in counts.per_type.items() if not support(score))
    found = average_f(counts.per_type, labels, tail)._asdict()
    return Averages(**{**found, "tail": found["tail"] if tail else None}, seqeval_phantoms=phantoms)
