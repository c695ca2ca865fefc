"""What a gate takes from the counts of a corpus: its rare types, and the weight of its two classes."""

from collections import Counter
from collections.abc import Collection, Iterable

from spacy.training import Example
from spacy.util import logger

from ...corpus.examples import entity_sentences
from ...corpus.rare import RareRule
from ...corpus.sentences import has_boundaries, sentence_lengths
from ...errors import Errors
from ...types import Block, Overrides
from ..label_checks import check_known

FOUND: Block = {  # of cfg, beside the settings: reset when the gate is initialised
    "auto_labels": None,  # the types of "auto"
    "weak_weight": None,  # w1: of sentences with a rare type; others weigh 1 - w1
    "kept_share": 1.0,  # of the sentences without a rare type, how many a balanced gate learns from
    "calibration": None,  # slope and shift of the logits, found on development data
}


def learn_counts(
    examples: Iterable[Example], labels: Collection[str], cfg: Overrides, who: str
) -> Block:
    """Find or check the rare types, and what the two classes weigh.

    examples (Iterable[Example]): Untouched training data. The sentences are gold, or those of the
        predicted document where no gold boundaries are annotated.
    labels (Collection[str]): The rare types; none where "auto" has to find them.
    RETURNS (Block): Those keys of FOUND that the counts decide.
    """
    mentions: Counter[str] = Counter()
    sentences: Counter[frozenset[str]] = Counter()  # by the types that stand in them
    for eg in examples:
        is_gold = has_boundaries(eg.reference)
        lengths = sentence_lengths(eg.reference if is_gold else eg.predicted)
        types: list[set[str]] = [set() for _ in lengths]
        for ent, places in entity_sentences(eg, gold=is_gold):
            mentions[ent.label_] += 1
            for i in places.tolist():
                types[i].add(ent.label_)
        sentences.update(map(frozenset, types))
    learnt: Block = {}
    if not labels:
        rule = RareRule(of_all=cfg["auto_share"])
        labels = learnt["auto_labels"] = rule.types(mentions)
        if not labels:
            shown = ", ".join(f"{label} {n}" for label, n in mentions.most_common())
            problem = f'no type of "auto" has {rule}, found {shown or "none"}'
            raise ValueError(Errors.L205.format(who=who, problem=problem))
    n_all = sentences.total()
    n_weak = sum(n for types, n in sentences.items() if not types.isdisjoint(labels))
    if n_weak in (0, n_all):
        problem = f"{n_weak} of {n_all} sentences hold a type of {', '.join(labels)}"
        raise ValueError(Errors.L205.format(who=who, problem=problem))
    check_known("weak_labels", labels, mentions, who)
    if cfg["data"] == "balanced":
        learnt["kept_share"] = min(1.0, n_weak / (n_all - n_weak))
    else:
        learnt["weak_weight"] = 1 - n_weak / n_all
    weak = ", ".join(f"{label} ({mentions[label]})" for label in labels)
    logger.info("%s: %d of %d sentences hold %s", who, n_weak, n_all, weak)
    return learnt
