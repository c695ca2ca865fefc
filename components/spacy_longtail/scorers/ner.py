"""Entity scores: precision, recall and F1 by type, averaged over a declared label set and others."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from spacy.scorer import PRFScore
from spacy.training import Example

from ..corpus.examples import on_gold_tokens
from ..errors import Errors, Warnings
from ..types import Block
from .tokens import token_results

# what a NER pipe adds to [training.score_weights]: as `ner`, and the macro average shown
NER_SCORE_WEIGHTS = {
    "ents_f": 1.0,
    "ents_p": 0.0,
    "ents_r": 0.0,
    "ents_macro_f": 0.0,
    "ents_per_type": None,
}


class TypeCounts(NamedTuple):
    per_type: dict[str, PRFScore]  # types with a gold or predicted mention
    n_docs: int  # documents with annotation
    n_all: int  # documents


class AverageF(NamedTuple):
    """F1 of several types as one number in [0, 1]; 0 without any type."""

    micro: float
    declared: float  # macro: unweighted mean over the declared types
    gold: float  # macro, over the types with gold mentions
    union: float  # macro, over the types with gold or predicted mentions, as seqeval's
    weighted: float  # mean over the declared types, weighted by gold mentions
    tail: float  # macro, over the rare types


class NerScorer:
    """Strict span scores of one example set, by type and averaged; see `make_ner_scorer`."""

    def __init__(self, labels: Sequence[str] | None, tail: Sequence[str] | None, prefix: str) -> None:
        self.declared = None if labels is None else list(labels)
        self.tail = None if tail is None else list(tail)
        self.prefix = prefix
        if self.declared is not None and self.tail is not None:
            unknown = sorted(set(self.tail) - set(self.declared))
            if unknown:
                known = ", ".join(self.declared)
                raise ValueError(Errors.L301.format(unknown=", ".join(unknown), known=known))

    def __call__(
        self, examples: Iterable[Example], *, labels: Iterable[str] | None = None, **_: object
    ) -> Block:
        """examples (Iterable[Example]): Documents with predictions and gold annotation.
        RETURNS (Block): The scores, all floats in [0, 1] except for the per-type table."""
        examples = list(examples)
        declared = self.declared
        if declared is None:
            declared = [label for label in labels or () if label]
        # the secondary is scored on its own types alone
        only = set(declared) if self.prefix != "ents" else None
        counts = count_mentions(examples, only)
        known = [label for label, score in counts.per_type.items() if support(score)]
        if self.declared is None:  # of the data: a primary may know the frequent types alone
            declared = list(dict.fromkeys([*declared, *known]))
        counted = {label: counts.per_type.get(label, PRFScore()) for label in declared}
        table = {**counted, **counts.per_type}
        self._warn(counts, declared, known)
        average = average_f(counts.per_type, declared, self.tail or ())
        micro = sum(counts.per_type.values(), PRFScore())
        scores: Block = {
            "p": micro.precision,
            "r": micro.recall,
            "f": average.micro,
            "macro_f": average.declared,
            "macro_gold_f": average.gold,
            "macro_union_f": average.union,
            "weighted_f": average.weighted,
            "per_type": {t: {**s.to_dict(), "support": support(s)} for t, s in table.items()},
        }
        if self.tail is not None:
            scores["tail_f"] = average.tail
        if self.prefix == "ents":  # no word has a tag of some types alone
            tokens = token_results(examples)
            scores["o_f"] = tokens.outside.fscore
            scores["word_acc"] = tokens.word_accuracy
            scores["sentence_acc"] = tokens.sentence_accuracy
        return {f"{self.prefix}_{key}": score for key, score in scores.items()}

    def _warn(self, counts: TypeCounts, declared: Collection[str], known: Collection[str]) -> None:
        """known (Collection[str]): The types with gold mentions."""
        if n_bare := counts.n_all - counts.n_docs:
            warnings.warn(Warnings.W003.format(n=n_bare, total=counts.n_all), stacklevel=3)
        if not counts.n_docs or self.prefix != "ents":
            return
        differences = {
            "without a mention in the data, count as F1 = 0": [t for t in declared if t not in known],
            "in the data, are not declared and in no average": [t for t in known if t not in declared],
            "of the tail, are not in the data and count as 0": [
                t for t in self.tail or () if t not in declared
            ],
        }
        for problem, types in differences.items():
            if types:
                text = Warnings.W002.format(types=", ".join(sorted(types)), problem=problem)
                warnings.warn(text, stacklevel=3)


def make_ner_scorer(
    labels: list[str] | None = None,
    tail: list[str] | None = None,
    prefix: str = "ents",
    labeled: Literal[True] = True,
) -> NerScorer:
    """Entity scores with averages over a declared label set: every system is judged on the same types.

    Adds to spaCy's ents_p, ents_r, ents_f and ents_per_type: support, ents_macro_f, ents_weighted_f,
    and ents_tail_f. A type without gold mentions counts 0 in the macro average. ents_macro_gold_f and
    ents_macro_union_f are macro averages over other types: those with gold mentions, and those with gold
    or predicted ones, as seqeval's. Over words, with the prefix "ents": ents_o_f, F1 of O as a class;
    ents_word_acc, the share of words with the right tag; ents_sentence_acc, the share of sentences with
    nothing but right tags.

    labels (Optional[List[str]]): The declared types; null takes those of the pipe and, with the prefix
        "ents", those of the data that is scored.
    tail (Optional[List[str]]): The rare types that ents_tail_f averages; null leaves that key out.
    prefix (str): Of every key. With any other than "ents" only the declared types are looked at.
    labeled (bool): Always true: mentions are compared with their types, as configs of pipelines say.
    RETURNS (Callable): The scorer.
    """
    return NerScorer(labels, tail, prefix)


def count_mentions(examples: Iterable[Example], only: Collection[str] | None = None) -> TypeCounts:
    """True and false positives and false negatives by type.

    only (Optional[Collection[str]]): The types that are looked at; null or none takes all.
    """
    per_type: dict[str, PRFScore] = {}
    n_docs = n_all = 0
    for eg in examples:
        n_all += 1
        if not eg.reference.has_annotation("ENT_IOB"):
            continue
        n_docs += 1
        gold = {(e.label_, e.start, e.end) for e in eg.reference.ents if not only or e.label_ in only}
        predicted = (ent for ent in eg.predicted.ents if not only or ent.label_ in only)
        for ent, start, end in on_gold_tokens(eg, predicted):
            score = per_type.setdefault(ent.label_, PRFScore())
            if (ent.label_, start, end) in gold:
                gold.remove((ent.label_, start, end))
                score.tp += 1
            else:
                score.fp += 1
        for label, _, _ in gold:
            per_type.setdefault(label, PRFScore()).fn += 1
    return TypeCounts(per_type, n_docs, n_all)


def average_f(
    per_type: Mapping[str, PRFScore], declared: Iterable[str], tail: Iterable[str] = ()
) -> AverageF:
    """Averages of F1.

    per_type (Mapping[str, PRFScore]): Counts by type, of the types with a gold or predicted mention.
    declared (Iterable[str]): The types that every system is judged on.
    RETURNS (AverageF): In [0, 1]. A type without gold mentions has F1 = 0.
    """
    f = {label: score.fscore for label, score in per_type.items()}
    declared = list(declared)
    weights = {t: support(per_type[t]) for t in declared if t in per_type}
    n_gold = sum(weights.values())
    return AverageF(
        micro=sum(per_type.values(), PRFScore()).fscore,
        declared=_mean(f.get(t, 0.0) for t in declared),
        gold=_mean(f[t] for t, score in per_type.items() if support(score)),
        union=_mean(f.values()),
        weighted=sum(f[t] * n for t, n in weights.items()) / n_gold if n_gold else 0.0,
        tail=_mean(f.get(t, 0.0) for t in tail),
    )


def support(score: PRFScore) -> int:
    """Gold mentions."""
    return score.tp + score.fn


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
