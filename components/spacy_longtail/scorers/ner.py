"""Entity scores: precision, recall and F1 by type, and averages over a declared label set."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Literal

from spacy.scorer import PRFScore
from spacy.tokens import Span
from spacy.training import Example

from ..corpus.examples import on_gold_tokens
from ..errors import Errors, Warnings
from ..types import Block
from .tokens import token_results

# default [training.score_weights] of a NER pipe: those of `ner`, and the macro average shown
NER_SCORE_WEIGHTS: Block = {
    "ents_f": 1.0,
    "ents_p": 0.0,
    "ents_r": 0.0,
    "ents_macro_f": 0.0,
    "ents_per_type": None,
}


def make_ner_scorer(
    labels: list[str] | None = None,
    tail: list[str] | None = None,
    prefix: str = "ents",
    labeled: Literal[True] = True,
) -> Callable[..., Block]:
    """Create a scorer of entities with averages over declared types, the same for every system.

    It adds to spaCy's ents_p, ents_r, ents_f and ents_per_type: the number of gold mentions of each
    type (support), ents_macro_f, ents_weighted_f and ents_tail_f. A type without gold mentions
    counts 0 in the macro average. ents_macro_gold_f averages over types with gold mentions, and
    ents_macro_union_f over types with gold or predicted mentions, as seqeval does. With the prefix
    "ents" there are scores of words as well: ents_o_f, F1 of O as a class; ents_word_acc, the share
    of words with the right tag; ents_sentence_acc, the share of sentences without a wrong tag.

    labels (Optional[List[str]]): Declared types; null takes the types of the pipe and, with the
        prefix "ents", of the scored data.
    tail (Optional[List[str]]): Rare types, which ents_tail_f averages; null omits that score.
    prefix (str): Prefix of every key. With another one than "ents" only declared types are scored.
    labeled (bool): Always true: mentions are compared with their types. Configs of pipelines have
        this setting.
    RETURNS (Callable): Scorer, a function of examples to scores, all in [0, 1] but for the table.
    RAISES (ValueError): If a rare type is not declared (L301).
    EXAMPLE:
        >>> from spacy_longtail.scorers import make_ner_scorer
        >>> scores = make_ner_scorer(labels=["EVE", "GEO", "ART"], tail=["EVE"])(examples)
        >>> round(scores["ents_macro_f"], 3), scores["ents_tail_f"]
        (0.667, 1.0)
    """
    if labels is not None and (unknown := sorted(set(tail or ()) - set(labels))):
        raise ValueError(Errors.L301.format(unknown=", ".join(unknown), known=", ".join(labels)))
    return partial(score_entities, declared=labels, tail=tail, prefix=prefix)


def score_entities(
    examples: Iterable[Example],
    *,
    declared: list[str] | None,
    tail: list[str] | None,
    prefix: str,
    labels: Collection[str] | None = None,
    **_: object,
) -> Block:
    """Compute strict span scores; see `make_ner_scorer`.

    examples (Iterable[Example]): Gold and predicted documents.
    declared (Optional[List[str]]): Setting `labels` of the scorer.
    tail (Optional[List[str]]): Rare types.
    prefix (str): Prefix of every key.
    labels (Optional[Collection[str]]): Types of the pipe, which passes them under this name.
    RETURNS (Block): The scores, all floats in [0, 1] except for the per-type table.
    """
    examples = list(examples)
    is_all = prefix == "ents"  # the secondary is scored on its own types alone
    counts = count_mentions(examples, None if is_all else _averaged_types(declared, labels))
    gold_types = [label for label, score in counts.items() if support(score)]
    types = _averaged_types(declared, labels, gold_types)
    n_bare = sum(not eg.reference.has_annotation("ENT_IOB") for eg in examples)
    if n_bare:
        warnings.warn(Warnings.W003.format(n=n_bare, total=len(examples)), stacklevel=2)
    if is_all and n_bare < len(examples):
        _warn(types, gold_types, tail or ())
    micro, f = sum(counts.values(), PRFScore()), {t: score.fscore for t, score in counts.items()}
    n_gold = {t: support(counts[t]) for t in types if t in counts}
    weighted = sum(f[t] * n for t, n in n_gold.items())
    table = {**dict.fromkeys(types, PRFScore()), **counts}
    scores: Block = {
        "p": micro.precision,
        "r": micro.recall,
        "f": micro.fscore,
        "macro_f": macro_f(counts, types),
        "macro_gold_f": macro_f(counts, gold_types),
        "macro_union_f": macro_f(counts, f),
        "weighted_f": weighted / sum(n_gold.values()) if weighted else 0.0,
        "per_type": {t: {**s.to_dict(), "support": support(s)} for t, s in table.items()},
    }
    if tail is not None:
        scores["tail_f"] = macro_f(counts, tail)
    if is_all:  # no word has a tag of some types alone
        tokens = token_results(examples)
        scores |= {"o_f": tokens.outside.fscore, "word_acc": tokens.word_accuracy}
        scores["sentence_acc"] = tokens.sentence_accuracy
    return {f"{prefix}_{key}": score for key, score in scores.items()}


def _averaged_types(
    declared: list[str] | None, pipe_types: Collection[str] | None, gold_types: Collection[str] = ()
) -> list[str]:
    """Return the types that the averages are over.

    declared (Optional[List[str]]): Declared types, which leave the others out.
    pipe_types (Optional[Collection[str]]): Types of the pipe.
    gold_types (Collection[str]): Types with gold mentions. They are added to those of the pipe,
        because a primary may know the frequent types alone.
    """
    if declared is not None:
        return declared
    known = [label for label in pipe_types or () if label]
    return list(dict.fromkeys([*known, *gold_types]))


def _warn(types: Collection[str], gold_types: Collection[str], tail: Collection[str]) -> None:
    """Warn of types that the averages lack.

    types (Collection[str]): Types that the averages are over.
    gold_types (Collection[str]): Types with gold mentions.
    tail (Collection[str]): Rare types.
    """
    differences = {
        "without a mention in the data, count as F1 = 0": set(types).difference(gold_types),
        "in the data, are not declared and in no average": set(gold_types).difference(types),
        "of the tail, are not in the data and count as 0": set(tail).difference(types),
    }
    for problem, differing in differences.items():
        if differing:
            shown = ", ".join(sorted(differing))
            warnings.warn(Warnings.W002.format(types=shown, problem=problem), stacklevel=3)


def count_mentions(
    examples: Iterable[Example], only: Collection[str] | None = None
) -> dict[str, PRFScore]:
    """Count true positives, false positives and false negatives of each type with a mention.

    examples (Iterable[Example]): Gold and predicted documents.
    only (Optional[Collection[str]]): Types that are counted; null counts all types.
    RETURNS (Dict[str, PRFScore]): Counts by type.
    """

    def is_counted(ent: Span) -> bool:
        return only is None or ent.label_ in only

    counts: dict[str, PRFScore] = {}
    for eg in examples:
        if not eg.reference.has_annotation("ENT_IOB"):
            continue
        gold = {(ent.label_, ent.start, ent.end) for ent in eg.reference.ents if is_counted(ent)}
        predicted = filter(is_counted, eg.predicted.ents)
        for ent, start, end in on_gold_tokens(eg, predicted):
            score = counts.setdefault(ent.label_, PRFScore())
            if (ent.label_, start, end) in gold:
                gold.remove((ent.label_, start, end))
                score.tp += 1
            else:
                score.fp += 1
        for label, _, _ in gold:
            counts.setdefault(label, PRFScore()).fn += 1
    return counts


def macro_f(counts: Mapping[str, PRFScore], types: Collection[str]) -> float:
    """Return the unweighted mean F1 of some types in [0, 1]; F1 is 0 for one without mentions."""
    distinct = dict.fromkeys(types)  # not a set: the order of a sum changes its last digit
    return sum(counts[t].fscore for t in distinct if t in counts) / len(distinct) if types else 0.0


def support(score: PRFScore) -> int:
    """Return the number of gold mentions."""
    return score.tp + score.fn
