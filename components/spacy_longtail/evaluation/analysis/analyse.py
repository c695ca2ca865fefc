"""One evaluation taken apart: confused types, kinds of error, scores by length and frequency."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.scorer import PRFScore
from spacy.training import Example

from ...corpus.statistics.columns import Words
from ...corpus.statistics.corpus import buckets as bucket_types
from ...corpus.statistics.tallies import PartTally, read_parts
from ...scorers.ner import average_f, count_mentions, support
from ...scorers.tokens import SentenceResults, token_results
from .mentions import MentionPair, pair_mentions, read_mentions
from .records import (
    Analysis,
    Bucket,
    Confusion,
    ErrorKinds,
    ErrorTable,
    LengthBin,
    Seen,
    SeenShare,
)

OUTSIDE = "O"
WIDTH, N_BINS = 5, 8  # the last has no end. SOURCE: Nemoto et al. 2024, Table 7


class TrainingMentions(NamedTuple):
    mentions: dict[str, int]  # by type
    surfaces: frozenset[tuple[str, str]]  # case-folded text, and type


def read_training(path: Path) -> TrainingMentions:
    """Count the mentions of training data as the corpus statistics do.

    path (Path): A .spacy file, or a folder of them, of which one file at a time is in memory.
    RETURNS (TrainingMentions): Those that cross a sentence boundary are left out.
    """
    words, tally = Words(), PartTally()
    for _, batch, table in read_parts({"train": path}, words):
        tally.add(batch, table, words)
    return TrainingMentions(dict(tally.counts.mentions), frozenset(tally.surfaces))


def analyse(examples: Iterable[Example], training: TrainingMentions, labels: Sequence[str]) -> Analysis:
    """Take the predictions of a pipeline apart. Documents without annotation are left out.

    examples (Iterable[Example]): Documents with predictions and gold annotation.
    training (TrainingMentions): What the pipeline was trained on.
    labels (Sequence[str]): The declared types.
    """
    examples = list(examples)
    by_doc = [pair_mentions(*read_mentions(eg)) for eg in examples]
    pairs = list(chain.from_iterable(by_doc))
    per_type = count_mentions(examples).per_type
    types = [*labels, *sorted(set(per_type) - set(labels))]
    lengths = [len(eg.reference) for eg in examples]
    return Analysis(
        confusion=_confusion(pairs, types),
        errors=_error_table(pairs, types),
        lengths=_length_bins(by_doc, lengths, token_results(examples).sentences),
        buckets=buckets(per_type, training, labels),
        seen=_seen_mentions(pairs, training.surfaces),
    )


def _confusion(pairs: Iterable[MentionPair], labels: Sequence[str]) -> Confusion:
    """How often each gold type is predicted as each type, whatever the boundaries."""
    place = {label: i for i, label in enumerate(labels)}
    counts = [[0] * (len(labels) + 1) for _ in range(len(labels) + 1)]
    for pair in pairs:
        row, column = (-1 if m is None else place[m.label] for m in pair)
        counts[row][column] += 1
    return Confusion(labels=[*labels, OUTSIDE], counts=counts)


def _error_table(pairs: Iterable[MentionPair], labels: Sequence[str]) -> ErrorTable:
    """How many mentions are right, and in what way the others are wrong."""
    counts = Counter(((pair.gold or pair.predicted).label, pair.kind) for pair in pairs)  # type: ignore[union-attr]
    kinds = list(ErrorKinds.model_fields)
    per_type = {label: {kind: counts[label, kind] for kind in kinds} for label in labels}
    total = {kind: sum(own[kind] for own in per_type.values()) for kind in kinds}
    return ErrorTable(**total, per_type={label: ErrorKinds(**own) for label, own in per_type.items()})


def _length_bins(
    by_doc: Iterable[Sequence[MentionPair]], n_tokens: Iterable[int], sentences: SentenceResults
) -> list[LengthBin]:
    """Scores by words of the gold sentence, the shortest first."""
    bins = np.minimum((sentences.length - 1) // WIDTH, N_BINS - 1)  # -1 without words
    starts, places = sentences.start.tolist(), bins.tolist()
    scores = {place: PRFScore() for place in range(-1, N_BINS)}
    for offset, pairs in zip(accumulate(n_tokens, initial=0), by_doc, strict=False):
        for pair in pairs:
            is_right = pair.kind == "correct"
            for mention, counts in (
                (pair.gold, PRFScore(tp=is_right, fn=not is_right)),
                (pair.predicted, PRFScore(fp=not is_right)),
            ):
                if mention is not None:
                    score = scores[places[bisect_right(starts, offset + mention.start) - 1]]
                    score += counts
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

    per_type (Mapping[str, PRFScore]): Counts by type. training (TrainingMentions): Decides the
        bucket.
    labels (Sequence[str]): The declared types, those without training mentions included.
    RETURNS (Dict[str, Bucket]): By name: head, mid and tail.
    """
    found = {}
    for name, types in bucket_types(training.mentions, labels).items():
        counts = {t: per_type[t] for t in types if t in per_type}
        micro = sum(counts.values(), PRFScore())
        scores = {"macro_f": average_f(counts, types).declared, **micro.to_dict()}
        found[name] = Bucket(
            labels=types,
            training_mentions=sum(training.mentions.get(t, 0) for t in types),
            **(scores if types else dict.fromkeys(scores)),
            support=support(micro),
        )
    return found


def _seen_mentions(pairs: Iterable[MentionPair], surfaces: Collection[tuple[str, str]]) -> Seen:
    """Scores of the mentions that training has with the same type, case aside, and of the others."""
    counts: Counter[tuple[bool, bool, bool]] = Counter()  # is seen, is gold, is right
    for pair in pairs:
        for is_gold, mention in ((True, pair.gold), (False, pair.predicted)):
            if mention is not None:
                is_seen = (mention.text, mention.label) in surfaces
                counts[is_seen, is_gold, pair.kind == "correct"] += 1

    def share(is_seen: bool) -> SeenShare:
        right, hits = counts[is_seen, True, True], counts[is_seen, False, True]
        n_gold, n_predicted = right + counts[is_seen, True, False], hits + counts[is_seen, False, False]
        return SeenShare(
            recall=right / n_gold if n_gold else None,
            support=n_gold,
            precision=hits / n_predicted if n_predicted else None,
            predicted=n_predicted,
        )

    return Seen(seen=share(True), unseen=share(False))
