"""What stands around a component: gate and primary of a secondary, encoders, setters of boundaries.

Frozen components are disabled while others are initialised, so the disabled ones count. Components
are looked for as objects: one that two pipelines share has its name of one of them.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import dropwhile, takewhile
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..types import Block
from .base import Gate, Secondary
from .scores.merging import BY_SCORE

BOUNDARIES = {"token.is_sent_start", "doc.sents"}
ROWS = ("doc.tensor", "doc._.trf_data")  # where encoders leave what their listeners read


def name_in(nlp: Language, pipe: object) -> str | None:
    """The name of a component in a pipeline; null where it is not part of it."""
    return next((name for name, other in nlp.components if other is pipe), None)


def components_before(nlp: Language, pipe: object) -> dict[str, Callable[[Doc], Doc]]:
    """The components that stand before one of a pipeline, disabled ones too, by name."""
    return dict(takewhile(lambda row: row[1] is not pipe, nlp.components))


def is_gate(nlp: Language, name: str) -> bool:
    """Whether a component is a gate of this package."""
    return isinstance(nlp.get_pipe(name), Gate)


def _settings(pipe: object) -> Block:
    cfg = getattr(pipe, "cfg", None)
    return cfg if isinstance(cfg, dict) else {}


def _flags(nlp: Language, name: str, pipe: object, key: str) -> bool:
    """Whether a gate, or rules, flag in doc.spans[key]; what names no key may write any."""
    named = {_settings(pipe).get("spans_key"), getattr(pipe, "key", None)} - {None}
    writes = key in named if named else "doc.spans" in nlp.get_pipe_meta(name).assigns
    return writes and not isinstance(pipe, Secondary)


def _opened_by(nlp: Language, pipe: object, key: str, who: str) -> tuple[str, list[str]]:
    """The gates before a component, and their types; those of rules where there is no gate."""
    before = components_before(nlp, pipe).items()
    writers = {name: other for name, other in before if _flags(nlp, name, other, key)}
    if not writers:
        fix = f"Add a longtail_sentence_gate with spans_key = \"{key}\", or fix 'spans_key'."
        needs = f"a gate that writes doc.spans[{key!r}]"
        raise ValueError(Errors.L210.format(who=who, needs=needs, found="none", fix=fix))
    gates = {name: other for name, other in writers.items() if isinstance(other, Gate)}
    for name, other in dropwhile(lambda row: row[0] not in gates, writers.items()):
        if getattr(other, "overwrite", False):
            problem = f"has overwrite = true, and would remove what it flags in doc.spans[{key!r}]"
            raise ValueError(Errors.L250.format(other=name, name=next(iter(gates)), problem=problem))
    gates = gates or writers
    types = [label for other in gates.values() for label in getattr(other, "labels", ())]
    return ", ".join(gates), list(dict.fromkeys(types))


def gate_types(nlp: Language | None, pipe: object, key: str, who: str) -> list[str]:
    """The types of the gate that a secondary, `pipe`, stands behind."""
    gate, types = ("none", []) if nlp is None else _opened_by(nlp, pipe, key, who)
    if not types:
        needs, fix = "a gate with types for labels = 'auto'", "Name the types in 'labels'."
        raise ValueError(Errors.L210.format(who=who, needs=needs, found=gate, fix=fix))
    return types


def check_secondary(nlp: Language, pipe: Any, who: str) -> None:
    """Whether gate and primary of a secondary stand before it; warns of types that do not fit."""
    labels = pipe.labels
    spans_key, merge, key = (pipe.cfg[setting] for setting in ("spans_key", "merge", "scores_key"))
    problems = []
    if spans_key is not None:
        gate, types = _opened_by(nlp, pipe, spans_key, who)
        if closed := [t for t in labels if types and t not in types]:
            problems.append(f"{gate} does not look for {', '.join(closed)}")
    before = components_before(nlp, pipe)
    others = [other for other in before.values() if not isinstance(other, Gate)]
    if merge in BY_SCORE and key not in [_settings(other).get("scores_key") for other in others]:
        raise ValueError(Errors.L207.format(who=who, merge=merge, key=key))
    for name, other in before.items():
        is_ner = "doc.ents" in nlp.get_pipe_meta(name).assigns
        if both := [t for t in labels if is_ner and t in getattr(other, "labels", ())]:
            problems.append(f"{name} before it predicts {', '.join(both)}, too")
    for problem in problems:
        warnings.warn(Warnings.W080.format(who=name_in(nlp, pipe), problem=problem), stacklevel=3)


def boundary_setters(nlp: Language, pipe: object) -> list[Callable[[Doc], Doc]]:
    """The components before `pipe` that set boundaries, and what one of them may listen to.

    A component that is not trained yet is left out: its boundaries would mean nothing.
    """
    trainable = {n for n, other in nlp.components if getattr(other, "is_trainable", False)}
    closed = trainable.difference(nlp.disabled)  # what is frozen is trained
    ready = [n for n in components_before(nlp, pipe) if n not in closed]
    setters = [n for n in ready if BOUNDARIES.intersection(nlp.get_pipe_meta(n).assigns)]
    if not trainable.isdisjoint(setters):
        annotating = nlp.config.interpolate()["training"]["annotating_components"]
        setters = [n for n in ready if n in setters or n in annotating]
    return [nlp.get_pipe(n) for n in setters]


def upstream_of(nlp: Language, pipe: object) -> str | None:
    """The name of the encoder that a component listens to, if it listens to one."""
    name = name_in(nlp, pipe)
    encoders = {n: getattr(other, "listening_components", ()) for n, other in nlp.components}
    return next((n for n, listeners in encoders.items() if name in listeners), None)


@contextmanager
def own_rows(nlp: Language, pipe: object, docs: list[Doc], before: object = None) -> Iterator[None]:
    """Give documents back, for a while, the rows that a component listened to.

    Two encoders of a pipeline write to one place: a component that reads documents again, after
    both, would read the rows of the second. Where they may be, the first encoder runs again.
    """
    assigned = {n: nlp.get_pipe_meta(n).assigns for n in components_before(nlp, before)}
    name = upstream_of(nlp, pipe) or ""
    place = next((rows for rows in ROWS if rows in assigned.get(name, ())), "")
    later = list(dropwhile(lambda other: other != name, assigned))[1:] if place else []
    is_over = any(place in assigned[other] for other in later)
    if not is_over or not any(map(len, docs)):
        yield
        return
    owners: list[Any] = [doc if place == ROWS[0] else doc._ for doc in docs]
    attribute = place.rpartition(".")[2]
    kept = [getattr(owner, attribute) for owner in owners]
    upstream: Any = nlp.get_pipe(name)
    upstream.set_annotations(docs, upstream.model.predict(docs))
    try:
        yield
    finally:
        for owner, rows in zip(owners, kept, strict=True):
            setattr(owner, attribute, rows)
