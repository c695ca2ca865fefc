"""What a gate takes from the counts of a corpus: its rare types, and the weight of its two classes."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from spacy.training import Example
from spacy.util import logger

from ..corpus.examples import has_boundaries, sentence_lengths
from ..errors import Errors, Warnings
from .label_checks import check_known

FOUND: dict[str, Any] = {  # of cfg, beside the settings: reset when the gate is initialised
    "auto_labels": None,  # the types of "auto"
    "auto_weight": None,  # w1 of swapped priors
    "kept_share": 1.0,  # of the sentences without a rare type, how many a balanced gate learns from
    "calibration": None,  # slope and shift of the logits, found on development data
}


class TypeCounts(NamedTuple):
    mentions: Counter[str]
    sentences: Counter[frozenset[str]]  # by the types that stand in them

    def holding(self, labels: Collection[str]) -> int:
        """Sentences with one of the types."""
        return sum(n for types, n in self.sentences.items() if not types.isdisjoint(labels))

    def rare(self, share: float | None, most: int | None) -> tuple[list[str], float]:
        """Types with at most a share of all mentions, or at most so many; and how many these may have.

        RETURNS (Tuple[List[str], float]): The types, most frequent first, and the limit.
        """
        limit = max((share or 0.0) * self.mentions.total(), most or 0)
        return [label for label, n in self.mentions.most_common() if n <= limit], limit


def count_types(examples: Iterable[Example]) -> TypeCounts:
    """Count gold mentions, and sentences by the types in them.

    The sentences are gold, or where no gold boundaries are annotated those of the predicted document.
    """
    counts = TypeCounts(Counter(), Counter())
    for eg in examples:
        is_gold = has_boundaries(eg.reference)
        ends = np.cumsum(sentence_lengths(eg.reference if is_gold else eg.predicted))
        types: list[set[str]] = [set() for _ in ends]
        for ent in eg.reference.ents:
            counts.mentions[ent.label_] += 1
            tokens = [ent.start] if is_gold else eg.alignment.y2x[ent.start : ent.end]
            for i in np.unique(np.searchsorted(ends, tokens, side="right")).tolist():
                types[i].add(ent.label_)
        counts.sentences.update(map(frozenset, types))
    return counts


def learn_counts(
    counts: TypeCounts, labels: Collection[str], cfg: Mapping[str, Any], who: str, name: str
) -> dict[str, Any]:
    """Find or check the rare types, and what the two classes weigh.

    counts (TypeCounts): Of the untouched training data.
    labels (Collection[str]): The rare types; none yet where they are to be found.
    cfg (Mapping[str, Any]): The gate's settings. who (str): Its factory. name (str): Its name.
    RETURNS (Dict[str, Any]): Those keys of FOUND that the counts decide.
    RAISES (ValueError): L203, L205, L253, L259.
    """
    found: dict[str, Any] = {}
    mentions = counts.mentions
    if not labels:
        labels, limit = counts.rare(cfg["auto_share"], cfg["auto_mentions"])
        if not labels:
            shown = ", ".join(f"{label} {n}" for label, n in mentions.most_common())
            raise ValueError(Errors.L253.format(who=who, limit=limit, found=shown or "none"))
        found["auto_labels"] = labels
    n_all, n_weak = counts.sentences.total(), counts.holding(labels)
    if not n_weak:
        raise ValueError(Errors.L205.format(who=who, labels=", ".join(labels)))
    check_known("weak_labels", labels, mentions, who)
    if n_weak == n_all:
        context = {"n": n_all, "who": who, "labels": ", ".join(labels)}
        if cfg["weak_weight"] is None:
            raise ValueError(Errors.L259.format(**context))
        warnings.warn(Warnings.W088.format(**context), stacklevel=3)
    if cfg["data"] == "balanced":
        found["kept_share"] = min(1.0, n_weak / (n_all - n_weak))
        how = f"learns from {100 * found['kept_share']:.1f} % of the others"
    else:
        w1 = cfg["weak_weight"]
        if w1 is None:
            w1 = found["auto_weight"] = 1 - n_weak / n_all
        how = f"weight of these {w1:.4f}, of others {1 - w1:.4f}"
    weak = ", ".join(f"{label} ({mentions[label]})" for label in labels)
    logger.info("%s: %d of %d sentences hold %s; %s", name, n_weak, n_all, weak, how)
    return found
