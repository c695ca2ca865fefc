"""Checks of types that a setting declares against what the data and `init labels` say."""

from collections.abc import Collection

from ..corpus.labels import check_label
from ..errors import Errors

AUTO = "auto"  # in place of a list of types: found when the pipeline is initialised


def check_types(setting: str, labels: Collection[str] | str, who: str) -> list[str]:
    """The types that a setting names."""
    types = {t.strip() for t in labels}
    if isinstance(labels, str) or not types or "" in types or len(types) < len(labels):
        rule = "a list of at least one type, each named once and none blank"
        raise ValueError(Errors.L001.format(name=setting, rule=rule, value=labels, fix=""))
    return [check_label(label, f" of '{setting}' in {who}") for label in labels]


def check_labels(given: Collection[str] | None, labels: Collection[str], who: str) -> None:
    """Refuse labels of `init labels` that are not the pipe's own."""
    if given is not None and sorted(given) != sorted(labels):
        raise ValueError(Errors.L212.format(who=who, found=list(given), own=list(labels)))


def check_known(setting: str, declared: Collection[str], known: Collection[str], who: str) -> None:
    """Refuse declared types that the data does not have."""
    if unknown := ", ".join(sorted(set(declared) - set(known))):
        shown = {"setting": setting, "who": who, "unknown": unknown, "known": ", ".join(sorted(known))}
        raise ValueError(Errors.L203.format(**shown))
