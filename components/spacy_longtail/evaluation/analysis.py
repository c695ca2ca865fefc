"""Analysis of predictions: confused types, kinds of error, scores by length, changed entities."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from spacy.scorer import PRFScore
from spacy.training import Example

from ..corpus.converted import TrainingCounts
from ..corpus.examples import on_gold_tokens
from ..corpus.statistics.counting import buckets as bucket_types
from ..scorers.ner import count_mentions, macro_f, support
from ..scorers.tokens import TokenResults, token_results
from .pairs import Mention, MentionPair, pair_mentions
from .records import Document, Evaluation

OUTSIDE = "O"
KINDS = ("correct", "type", "boundary", "type_and_boundary", "missed", "spurious")
WIDTH, N_BINS = 5, 8  # the last has no end. SOURCE: Nemoto et al. 2024, Table 7

Analysis = dict[str, Any]  # JSON


def analyse(
    examples: Iterable[Example],
    labels: Sequence[str],
    tail: Collection[str],
    training: TrainingCounts,
) -> Analysis:
    """Analyse the predictions of a pipeline. Documents without annotation are ignored.

    examples (Iterable[Example]): Documents with predictions and gold annotation.
    labels (Sequence[str]): The declared types.
    tail (Collection[str]): The rare types.
    training (TrainingCounts): Mentions of the training part, by type and by text.
    RETURNS (Analysis): confusion (labels, counts), errors (number of mentions of each of KINDS,
        also per_type), lengths (scores by sentence length in words), buckets (scores of head, mid
        and tail types by training mentions) and seen (scores of mentions that occur in training,
        and of the others). Scores are in [0, 1], and null for 0/0.
    """
    examples = list(examples)
    by_doc = [pair_mentions(*_mentions(eg)) for eg in examples]
    pairs = list(chain.from_iterable(by_doc))
    per_type = count_mentions(examples)
    types = [*labels, *sorted(set(per_type) - set(labels))]
    return {
        "confusion": _confusion(pairs, types),
        "errors": _errors(pairs, types),
        "lengths": _length_bins(by_doc, [len(eg.reference) for eg in examples], token_results(examples)),
        "buckets": _buckets(per_type, training.mentions, labels, tail),
        "seen": _seen(pairs, training.surfaces),
    }


def _mentions(eg: Example) -> tuple[list[Mention], list[Mention]]:
    """Return gold mentions and those predictions that the scorer judges, both in gold tokens."""
    gold = [Mention(e.start, e.end, e.label_, e.text.casefold()) for e in eg.reference.ents]
    return gold, [
        Mention(start, end, e.label_, e.text.casefold())
        for e, start, end in on_gold_tokens(eg, eg.predicted.ents)
    ]


def _confusion(pairs: Iterable[MentionPair], labels: Sequence[str]) -> Analysis:
    """Count how often each gold type (row) is predicted as each type (column)."""
    place = {label: i for i, label in enumerate(labels)}
    counts = [[0] * (len(labels) + 1) for _ in range(len(labels) + 1)]
    for pair in pairs:
        row, column = (-1 if m is None else place[m.label] for m in pair)
        counts[row][column] += 1
    return {"labels": [*labels, OUTSIDE], "counts": counts}


def _errors(pairs: Iterable[MentionPair], labels: Sequence[str]) -> Analysis:
    """Count the mentions of each kind of error, in total and by type."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        if mention := pair.gold or pair.predicted:
            counts[mention.label, pair.kind] += 1
    per_type = {label: {kind: counts[label, kind] for kind in KINDS} for label in labels}
    return {
        **{kind: sum(counts[kind] for counts in per_type.values()) for kind in KINDS},
        "per_type": per_type,
    }


def _length_bins(
    by_doc: Iterable[Sequence[MentionPair]], n_tokens: Iterable[int], sentences: TokenResults
) -> list[Analysis]:
    """Return sentence accuracy and micro F1 by sentence length, the shortest first.

    A mention counts for the sentence in which it begins.
    """
    bins = np.minimum((sentences.lengths - 1) // WIDTH, N_BINS - 1)  # -1 without words
    starts, places = sentences.starts.tolist(), bins.tolist()
    scores = {place: PRFScore() for place in range(-1, N_BINS)}
    for offset, pairs in zip(accumulate(n_tokens, initial=0), by_doc, strict=False):
        for pair in pairs:
            is_right = pair.kind == "correct"
            both = (PRFScore(tp=is_right, fn=not is_right), PRFScore(fp=not is_right))
            for mention, counts in zip(pair, both, strict=True):
                if mention is not None:
                    score = scores[places[bisect_right(starts, offset + mention.start) - 1]]
                    score += counts
    rows = []
    for i in range(N_BINS):
        n, score = int(np.count_nonzero(bins == i)), scores[i]
        name = f"{i * WIDTH + 1}-{(i + 1) * WIDTH}" if i < N_BINS - 1 else f"{i * WIDTH + 1}+"
        accuracy = int(sentences.are_right[bins == i].sum()) / n if n else None
        rows.append(
            {
                "bin": name,
                "sentences": n,
                "accuracy": accuracy,
                "f": score.fscore if len(score) else None,
            }
        )
    return rows


def _buckets(
    per_type: Mapping[str, PRFScore],
    mentions: Mapping[str, int],
    labels: Sequence[str],
    tail: Collection[str],
) -> Analysis:
    """Return the scores of each bucket of types, null for a bucket without types."""
    rows = {}
    for name, types in bucket_types(mentions, labels, tail).items():
        counts = {t: per_type[t] for t in types if t in per_type}
        micro = sum(counts.values(), PRFScore())
        scores = {"macro_f": macro_f(counts, types), **micro.to_dict()}
        rows[name] = {
            "labels": types,
            "training_mentions": sum(mentions.get(t, 0) for t in types),
            **(scores if types else dict.fromkeys(scores)),
            "support": support(micro),
        }
    return rows


def _seen(pairs: Sequence[MentionPair], surfaces: Collection[tuple[str, str]]) -> Analysis:
    """Return the scores of mentions seen in training with the same type, and of unseen ones.

    Texts are compared without regard to case.
    """

    def is_seen(mention: Mention) -> bool:
        return (mention.text, mention.label) in surfaces

    rows = {}
    for name, wanted in (("seen", True), ("unseen", False)):
        # whether each gold mention was found, and whether each prediction is right
        gold = [p.kind == "correct" for p in pairs if p.gold and is_seen(p.gold) is wanted]
        predicted = [
            p.kind == "correct" for p in pairs if p.predicted and is_seen(p.predicted) is wanted
        ]
        rows[name] = {
            "recall": sum(gold) / len(gold) if gold else None,
            "support": len(gold),
            "precision": sum(predicted) / len(predicted) if predicted else None,
            "predicted": len(predicted),
        }
    return rows


def entity_changes(before: Evaluation, after: Evaluation) -> dict[str, dict[str, int]]:
    """Compare the entities that two pipelines found in the same documents.

    before (Evaluation): Evaluation of the earlier pipeline.
    after (Evaluation): Evaluation of the new pipeline.
    RETURNS (Dict[str, Dict[str, int]]): Numbers of entities by type, in descending order of those
        before: before, after, kept (found by both with the same boundaries and type) and lost.
    """
    counts = {name: Counter[str]() for name in ("before", "after", "kept", "lost")}
    for was, now in zip(map(_places, before.documents), map(_places, after.documents), strict=True):
        for name, places in zip(counts, (was, now, was & now, was - now), strict=True):
            counts[name].update(label for *_, label in places)
    types = sorted({*counts["before"], *counts["after"]}, key=lambda t: (-counts["before"][t], t))
    return {t: {name: counter[t] for name, counter in counts.items()} for t in types}


def _places(doc: Document) -> set[tuple[int, int, str]]:
    return {(start, end, label) for start, end, label, _ in doc.predicted}
