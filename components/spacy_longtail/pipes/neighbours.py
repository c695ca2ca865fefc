"""Other components that a component depends on: gate, primary, encoder, setters of boundaries.

Frozen components are disabled while others are initialized, so disabled components count as well.
Components are looked up by identity, because one that two pipelines share has only one name.
"""

import warnings
from collections.abc import Callable
from itertools import dropwhile, takewhile
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..types import Block
from .scores.merging import BY_SCORE

BOUNDARIES = {"token.is_sent_start", "doc.sents"}


def name_in(nlp: Language, pipe: object) -> str | None:
    """Return the name of a component in a pipeline; None if it is not part of it."""
    return next((name for name, other in nlp.components if other is pipe), None)


def components_before(nlp: Language, pipe: object) -> dict[str, Callable[[Doc], Doc]]:
    """Return the components before another one by name, including disabled ones."""
    return dict(takewhile(lambda row: row[1] is not pipe, nlp.components))


def is_gate(pipe: object) -> bool:
    """Return whether a component is a gate of this package."""
    return getattr(pipe, "is_gate", False)


def is_secondary(pipe: object) -> bool:
    """Return whether a component reads flagged sentences alone."""
    return getattr(pipe, "is_secondary", False)


def settings_of(pipe: object) -> Block:
    """Return the settings of a component, as far as it keeps them in `cfg`."""
    cfg = getattr(pipe, "cfg", None)
    return cfg if isinstance(cfg, dict) else {}


def _flags(nlp: Language, name: str, pipe: object, key: str) -> bool:
    """Return whether a component flags in doc.spans[key]. One that names no key may write any."""
    named = {settings_of(pipe).get("spans_key"), getattr(pipe, "key", None)} - {None}
    writes = key in named if named else "doc.spans" in nlp.get_pipe_meta(name).assigns
    return writes and not is_secondary(pipe)


def _opened_by(nlp: Language, pipe: object, key: str, who: str) -> tuple[str, list[str]]:
    """Return the gates before a component and their types; those of rules if there is no gate."""
    before = components_before(nlp, pipe).items()
    writers = {name: other for name, other in before if _flags(nlp, name, other, key)}
    if not writers:
        raise ValueError(
            Errors.L210.format(
                who=who,
                needs=f"a gate that writes doc.spans[{key!r}]",
                found="none",
                fix=f"Add a longtail_sentence_gate with spans_key = \"{key}\", or fix 'spans_key'.",
            )
        )
    gates = {name: other for name, other in writers.items() if is_gate(other)}
    for name, other in dropwhile(lambda row: row[0] not in gates, writers.items()):
        if getattr(other, "overwrite", False):
            problem = f"has overwrite = true, and would remove what it flags in doc.spans[{key!r}]"
            raise ValueError(Errors.L250.format(other=name, name=next(iter(gates)), problem=problem))
    gates = gates or writers
    types = [label for other in gates.values() for label in getattr(other, "labels", ())]
    return ", ".join(gates), list(dict.fromkeys(types))


def gate_types(nlp: Language | None, pipe: object, key: str, who: str) -> list[str]:
    """Return the types of the gate before a secondary.

    RAISES (ValueError): If there is no gate with types (L210).
    """
    gate, types = ("none", []) if nlp is None else _opened_by(nlp, pipe, key, who)
    if not types:
        raise ValueError(
            Errors.L210.format(
                who=who,
                needs="a gate with types for labels = 'auto'",
                found=gate,
                fix="Name the types in 'labels'.",
            )
        )
    return types


def check_secondary(nlp: Language, pipe: Any, who: str) -> None:
    """Check that gate and primary are before a secondary, and warn of types that do not match.

    RAISES (ValueError): If there is no gate (L210), a rule would remove what it flags (L250), or no
        primary writes the scores that merging compares (L207).
    """
    labels = pipe.labels
    spans_key, merge, key = (pipe.cfg[setting] for setting in ("spans_key", "merge", "scores_key"))
    problems = []
    if spans_key is not None:
        gate, types = _opened_by(nlp, pipe, spans_key, who)
        if closed := [t for t in labels if types and t not in types]:
            problems.append(f"{gate} does not look for {', '.join(closed)}")
    before = components_before(nlp, pipe)
    others = [other for other in before.values() if not is_gate(other)]
    if merge in BY_SCORE and key not in [settings_of(other).get("scores_key") for other in others]:
        raise ValueError(Errors.L207.format(who=who, merge=merge, key=key))
    for name, other in before.items():
        is_ner = "doc.ents" in nlp.get_pipe_meta(name).assigns
        if both := [t for t in labels if is_ner and t in getattr(other, "labels", ())]:
            problems.append(f"{name} before it predicts {', '.join(both)}, too")
    for problem in problems:
        warnings.warn(Warnings.W080.format(who=name_in(nlp, pipe), problem=problem), stacklevel=3)


def boundary_setters(nlp: Language, pipe: object) -> list[Callable[[Doc], Doc]]:
    """Return the components before `pipe` that set boundaries, and those that they depend on.

    A component that is not trained yet is omitted, because its boundaries would mean nothing.
    """
    trainable = {n for n, other in nlp.components if getattr(other, "is_trainable", False)}
    untrained = trainable.difference(nlp.disabled)  # what is frozen is trained
    ready = [n for n in components_before(nlp, pipe) if n not in untrained]
    setters = [n for n in ready if BOUNDARIES.intersection(nlp.get_pipe_meta(n).assigns)]
    if not trainable.isdisjoint(setters):
        annotating = nlp.config.interpolate()["training"]["annotating_components"]
        setters = [n for n in ready if n in setters or n in annotating]
    return [nlp.get_pipe(n) for n in setters]
