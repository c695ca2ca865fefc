"""What the statistics of a corpus mean for training on it: short findings, each with what to try."""

from collections.abc import Callable, Iterator

from . import corpus_rules, type_rules
from .records import Finding, Statistics

Rule = Callable[[Statistics], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    corpus_rules.no_entity,
    corpus_rules.absent_part,
    type_rules.undeclared_type,
    type_rules.absent_type,
    corpus_rules.conflict,
    corpus_rules.leakage,
    type_rules.few_mentions,
    type_rules.not_measurable,
    type_rules.unseen,
    type_rules.contested,
    corpus_rules.low_resource,
    corpus_rules.sparse,
    corpus_rules.dense,
    corpus_rules.repetition,
    corpus_rules.no_context,
    corpus_rules.unbounded,
)


def diagnose(found: Statistics) -> list[Finding]:
    """All findings, the most serious first.

    RETURNS (List[Finding]): One for each rule that applies, or for each part where parts differ.
    """
    return [finding for rule in RULES for finding in rule(found)]
