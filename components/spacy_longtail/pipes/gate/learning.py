"""Training data of a gate: class weights from a corpus, sentences with and without rare types."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, compress

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger
from thinc.types import Floats1d

from ...corpus.examples import annotated_sentences, entity_sentences, flagged_sentences
from ...corpus.rare import rare_types
from ...errors import Errors, Warnings
from ...sentences import has_boundaries, sentence_lengths, sums_by_sentence
from ...types import ANNOTATED_TYPES, Block, Overrides
from ..label_checks import check_known
from ..neighbours import boundary_setters

FOUND: Block = {  # of cfg, beside the settings: reset when the gate is initialised
    "auto_labels": None,  # the types of "auto"
    "weak_weight": None,  # w1: of sentences with a rare type; others weigh 1 - w1
    "kept_share": 1.0,  # of the sentences without a rare type, how many a balanced gate learns from
    "calibration": None,  # slope and shift of the logits, found on development data
}


def learn_counts(
    examples: Iterable[Example],
    labels: Collection[str],
    declared: Collection[str],
    cfg: Overrides,
    who: str,
) -> Block:
    """Find or check the rare types, and compute the weights of the two classes.

    examples (Iterable[Example]): Untouched training data. The sentences are gold, or those of the
        predicted document where no gold boundaries are annotated. Sentences without annotation are
        not counted.
    labels (Collection[str]): The rare types; empty for "auto".
    declared (Collection[str]): The types that the config declares: they may lack mentions.
    cfg (Mapping[str, Any]): Settings of the gate.
    who (str): Name of the gate, for messages.
    RETURNS (Block): Those keys of FOUND that the counts decide.
    """
    mentions: Counter[str] = Counter()
    # by the types of their entities, and by the types that their document was annotated with
    sentences: Counter[tuple[frozenset[str], frozenset[str] | None]] = Counter()
    for eg in examples:
        is_gold = has_boundaries(eg.reference)
        lengths = sentence_lengths(eg.reference if is_gold else eg.predicted)
        types: list[set[str]] = [set() for _ in lengths]
        for ent, places in entity_sentences(eg, gold=is_gold):
            mentions[ent.label_] += 1
            for i in places.tolist():
                types[i].add(ent.label_)
        flags = np.array([*map(bool, types)], dtype=bool)
        known = annotated_sentences(eg, flags, (), gold=is_gold)
        annotated = eg.reference.user_data.get(ANNOTATED_TYPES)
        there = None if annotated is None else frozenset([*annotated, *chain(*types)])
        sentences.update((frozenset(some), there) for some in compress(types, known))
    learnt: Block = {}
    if not labels:
        share = cfg["auto_share"]
        labels = learnt["auto_labels"] = rare_types(mentions, share * mentions.total())
        if not labels:
            shown = ", ".join(f"{label} {n}" for label, n in mentions.most_common())
            problem = f"no type has at most {share:.2g} of all mentions, found {shown or 'none'}"
            raise ValueError(Errors.L205.format(who=who, problem=problem))
    n_rare = n_all = 0
    for (own, there), n in sentences.items():
        is_rare = not own.isdisjoint(labels)
        n_rare += n * is_rare
        n_all += n * (is_rare or there is None or there.issuperset(labels))
    if n_rare in (0, n_all):
        raise ValueError(
            Errors.L205.format(
                who=who, problem=f"{n_rare} of {n_all} sentences contain a type of {', '.join(labels)}"
            )
        )
    check_known("rare_labels", labels, {*mentions, *declared}, who)
    if cfg["data"] == "balanced":
        learnt["kept_share"] = min(1.0, n_rare / (n_all - n_rare))
    else:
        learnt["weak_weight"] = 1 - n_rare / n_all
    rare = ", ".join(f"{label} ({mentions[label]})" for label in labels)
    logger.info("%s: %d of %d sentences hold %s", who, n_rare, n_all, rare)
    return learnt


def with_boundaries(
    examples: Iterable[Example], nlp: Language | None, pipe: object
) -> Iterator[Example]:
    """Yield examples whose predicted documents have the sentence boundaries of the training.

    Examples with gold boundaries, or whose documents have boundaries already, stay as they are.
    """
    setters = [] if nlp is None else boundary_setters(nlp, pipe)
    for eg in examples:
        if setters and not (has_boundaries(eg.reference) or has_boundaries(eg.predicted)):
            doc = eg.predicted.copy()
            for setter in setters:
                doc = setter(doc)
            eg = Example(doc, eg.reference)
        yield eg


def warn_of_whole_documents(examples: Iterable[Example], sets_boundaries: bool, who: str) -> None:
    """Warn if a component trains on documents without boundaries that will or should have some.

    examples (Iterable[Example]): Training examples.
    sets_boundaries (bool): Whether a component before it sets boundaries.
    who (str): Name of the component.
    """
    bare = [eg for eg in examples if not has_boundaries(eg.predicted)]
    if bare and sets_boundaries:
        where = "but will predict sentence by sentence"
    elif any(len(sentence_lengths(eg.reference)) > 1 for eg in bare):
        where = "though the gold documents have several"
    else:
        return
    warnings.warn(Warnings.W107.format(who=who, where=where), stacklevel=4)


def sentence_targets(
    examples: Iterable[Example], labels: Collection[str], kept_share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each predicted sentence has a gold rare type, and whether to train on it.

    kept_share (float): Fraction of the sentences without a rare type to train on.
    RETURNS (Tuple[ndarray, ndarray]): (n_sentences, 1) each.
    """
    truth, known = [], []
    for eg in examples:
        truth.append(flagged_sentences(eg, labels))
        known.append(annotated_sentences(eg, truth[-1], labels))
        if kept_share < 1:
            known[-1] &= truth[-1] | (_draws(eg.predicted) < kept_share)
    return np.concatenate(truth)[:, None], np.concatenate(known)[:, None]


def _draws(doc: Doc) -> Floats1d:
    """Return a number in [0, 1) for each sentence, which is a hash of its words."""
    sums = sums_by_sentence([doc], doc.to_array("ORTH").astype("uint64"))
    return (sums >> np.uint64(11)).astype("float64") / 2.0**53
