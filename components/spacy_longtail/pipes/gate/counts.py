"""What a gate takes from the counts of a corpus: its rare types, and the weight of its two classes."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from spacy.training import Example
from spacy.util import logger

from ...corpus.examples import entity_sentences
from ...corpus.rare import RareRule
from ...corpus.sentences import has_boundaries, sentence_lengths
from ...errors import Errors, Warnings
from ...types import Block, Overrides
from ..label_checks import check_known

FOUND: Block = {  # of cfg, beside the settings: reset when the gate is initialised
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


def count_types(examples: Iterable[Example]) -> TypeCounts:
    """Count gold mentions, and sentences by the types in them.

    The sentences are gold, or where no gold boundaries are annotated those of the predicted document.
    """
    counts = TypeCounts(Counter(), Counter())
    for eg in examples:
        is_gold = has_boundaries(eg.reference)
        lengths = sentence_lengths(eg.reference if is_gold else eg.predicted)
        types: list[set[str]] = [set() for _ in lengths]
        for ent, sentences in entity_sentences(eg, gold=is_gold):
            counts.mentions[ent.label_] += 1
            for i in sentences.tolist():
                types[i].add(ent.label_)
        counts.sentences.update(map(frozenset, types))
    return counts


def learn_counts(
    counts: TypeCounts, labels: Collection[str], cfg: Overrides, who: str, name: str
) -> Block:
    """Find or check the rare types, and what the two classes weigh.

    labels (Collection[str]): The rare types; none yet where they are to be found.
    RETURNS (Block): Those keys of FOUND that the counts decide.
    """
    found: Block = {}
    mentions = counts.mentions
    if not labels:
        rule = RareRule(of_all=cfg["auto_share"], at_most=cfg["auto_mentions"])
        labels = rule.types(mentions)
        if not labels:
            limit = rule.limit(mentions)
            shown = ", ".join(f"{label} {n}" for label, n in mentions.most_common())
            raise ValueError(Errors.L253.format(who=who, limit=limit, found=shown or "none"))
        logger.info("%s: rare are types with %s", name, rule)
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
