"""Checks of types that a setting declares against what the data and `init labels` say."""

import warnings
from collections.abc import Collection, Iterable

from spacy.language import Language
from spacy.training import Example

from ..corpus.examples import is_annotated
from ..corpus.labels import check_label, declared_types
from ..errors import Errors, Warnings

AUTO = "auto"  # instead of a list of types, which is then found at initialization


def refuse_new_type(who: str, labels: Collection[str], label: str, source: str) -> int:
    """Refuse to add a type to a component whose types are declared or found in the data.

    who (str): Name of the component.
    labels (Collection[str]): Its types.
    label (str): The type to add.
    source (str): Where its types come from.
    RETURNS (int): 0 if the component has the type already.
    RAISES (ValueError): If it has not (L206).
    """
    if label not in labels:
        raise ValueError(Errors.L206.format(who=who, label=label, source=source))
    return 0


def check_types(setting: str, labels: Collection[str] | str, who: str) -> list[str]:
    """Return the types that a setting names, if they are valid.

    setting (str): Name of the setting, for messages.
    labels (Collection[str]): Its value.
    who (str): Name of the component, for messages.
    RAISES (ValueError): If it is no list, or has a blank type or one twice (L001), or a type that
        cannot be a label (L550).
    """
    types = {t.strip() for t in labels}
    if isinstance(labels, str) or not types or "" in types or len(types) < len(labels):
        raise ValueError(
            Errors.L001.format(
                name=setting,
                rule="a list of at least one type, each named once and none blank",
                value=labels,
                fix="",
            )
        )
    return [check_label(label, f" of '{setting}' in {who}") for label in labels]


def check_labels(given: Collection[str] | None, labels: Collection[str], who: str) -> None:
    """Refuse a list of `init labels` that differs from the component's types (L212)."""
    if given is not None and sorted(given) != sorted(labels):
        raise ValueError(Errors.L212.format(who=who, found=list(given), own=list(labels)))


def check_known(setting: str, declared: Collection[str], known: Collection[str], who: str) -> None:
    """Refuse declared types that the data does not have (L203)."""
    if unknown := ", ".join(sorted(set(declared) - set(known))):
        raise ValueError(
            Errors.L203.format(setting=setting, who=who, unknown=unknown, known=", ".join(sorted(known)))
        )


def warn_without_mention(
    nlp: Language | None,
    mentioned: Collection[str],
    include: Collection[str] | None,
    who: str,
    is_described: bool,
) -> list[str]:
    """Warn of declared types that the training data has no mention of, and return them.

    nlp (Optional[Language]): The pipeline, whose config declares types.
    mentioned (Collection[str]): The types that the data has.
    include (Optional[Collection[str]]): The types that the component learns; null is all.
    who (str): Name of the component, which keeps these types.
    is_described (bool): Whether the component finds types by their descriptions.
    """
    learnt = [t for t in declared_types(nlp) if include is None or t in include]
    lacking = [label for label in learnt if label not in mentioned]
    if lacking:
        how = "finds them by their descriptions alone" if is_described else "cannot find them"
        types = ", ".join(sorted(lacking))
        warnings.warn(Warnings.W180.format(who=who, types=types, how=how), stacklevel=3)
    return lacking


def check_annotated(examples: Iterable[Example], labels: Collection[str], who: str) -> None:
    """Refuse documents that were not annotated with all types, which cannot be masked (L002).

    examples (Iterable[Example]): A batch.
    labels (Collection[str]): Types that the component learns.
    who (str): Name of the component, for messages.
    """
    if not all(is_annotated(eg.reference, labels) for eg in examples):
        raise ValueError(
            Errors.L002.format(
                who=who,
                loss="this corpus",
                reason="documents declare their annotated types, and it cannot mask other types",
                fix="Use longtail_token_ner with head = 'softmax' or 'crf'.",
            )
        )
