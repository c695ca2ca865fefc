"""Scores of groups: sentences by length, types by training mentions."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import numpy as np
from spacy.scorer import PRFScore

from ...corpus.statistics.corpus import buckets as bucket_types
from ...scorers.ner import average_f, support
from ...scorers.tokens import SentenceResults
from .mentions import Pair
from .records import Bucket, LengthBin
from .seen import TrainingMentions

WIDTH, N_BINS = 5, 8  # the last has no end. SOURCE: Nemoto et al. 2024, Table 7


def length_bins(
    pairs: Iterable[Sequence[Pair]], n_tokens: Iterable[int], sentences: SentenceResults
) -> list[LengthBin]:
    """Scores by words of the gold sentence.

    pairs (Iterable[Sequence[Pair]]): Of each document. n_tokens (Iterable[int]): Its gold tokens.
    sentences (SentenceResults): Of the same documents, in order. Those without words are left out.
    RETURNS (List[LengthBin]): The shortest sentences first.
    """
    bins = np.minimum((sentences.length - 1) // WIDTH, N_BINS - 1)  # -1 without words
    starts, places = sentences.start.tolist(), bins.tolist()
    scores = {place: PRFScore() for place in range(-1, N_BINS)}
    for offset, own in zip(accumulate(n_tokens, initial=0), pairs, strict=False):
        for gold, predicted, is_right in ((p.gold, p.predicted, p.kind == "correct") for p in own):
            if gold is not None:
                score = scores[places[bisect_right(starts, offset + gold.start) - 1]]
                score += PRFScore(tp=is_right, fn=not is_right)
            if predicted is not None and not is_right:
                scores[places[bisect_right(starts, offset + predicted.start) - 1]].fp += 1
    found = []
    for i in range(N_BINS):
        n, score = int(np.count_nonzero(bins == i)), scores[i]
        name = f"{i * WIDTH + 1}-{(i + 1) * WIDTH}" if i < N_BINS - 1 else f"{i * WIDTH + 1}+"
        accuracy = int(sentences.right[bins == i].sum()) / n if n else None
        f = score.fscore if len(score) else None
        found.append(LengthBin(bin=name, sentences=n, accuracy=accuracy, f=f))
    return found


def buckets(
    per_type: Mapping[str, PRFScore], training: TrainingMentions, labels: Sequence[str]
) -> dict[str, Bucket]:
    """Scores of the types that training has many, some and few mentions of.

    per_type (Mapping[str, PRFScore]): Counts by type. training (TrainingMentions): Decides the bucket.
    labels (Sequence[str]): The declared types, those without training mentions included.
    RETURNS (Dict[str, Bucket]): By name: head, mid and tail.
    """
    found = {}
    for name, own in bucket_types(training.mentions, labels).items():
        counts = {t: per_type[t] for t in own if t in per_type}
        micro = sum(counts.values(), PRFScore())
        scores = {"macro_f": average_f(counts, own).declared, **micro.to_dict()}
        found[name] = Bucket(
            labels=own,
            training_mentions=sum(training.mentions.get(t, 0) for t in own),
            **(scores if own else dict.fromkeys(scores)),
            support=support(micro),
        )
    return found
