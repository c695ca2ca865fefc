"""What stands before a component: the gate and the primary of a secondary NER, what sets boundaries.

Frozen components are disabled while others are initialised, so the disabled ones count. A component is
looked for as an object: one that two pipelines share has its name of one of them.
"""

import warnings
from collections.abc import Callable, Collection
from itertools import dropwhile, takewhile

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, Warnings
from ..types import Block
from .scores.merging import BY_SCORE, Merging

OVERLAP = {  # what happens to an entity of both recognisers, by merge rule
    "span": "where their entities overlap, the one of the higher score stays",
    "token": "each token goes to the more probable tag of the two",
    "replace": "in flagged sentences the secondary's entities take the place of the primary's",
    "fill": "the primary's entities stay, right or wrong, and the secondary's are added beside them",
}

SECONDARIES = {"longtail_gated_ner", "longtail_gated_pipe"}  # which read a gate's key
SPANS = "doc.spans"
BOUNDARIES = {"token.is_sent_start", "doc.sents"}


GATES = ("longtail_sentence_gate", "longtail_posterior_gate")  # factories


def name_in(nlp: Language, pipe: object) -> str | None:
    """The name of a component in a pipeline; null where it is not part of it."""
    return next((name for name, own in nlp.components if own is pipe), None)


def components_before(nlp: Language, pipe: object) -> dict[str, Callable[[Doc], Doc]]:
    """The components that stand before one of a pipeline, disabled ones too, by name."""
    return dict(takewhile(lambda row: row[1] is not pipe, nlp.components))


def is_gate(nlp: Language, name: str) -> bool:
    """Whether a component is a gate of this package."""
    return any(gate in nlp.get_pipe_meta(name).factory for gate in GATES)


def find_gates(nlp: Language, pipe: object, key: str) -> list[str]:
    """The components before `pipe` that write doc.spans[key]: gates, or rules such as a span ruler.

    A component that assigns doc.spans and names no key is believed to write this one.
    """
    found = [
        n
        for n, own in nlp.components
        if nlp.get_pipe_meta(n).factory not in SECONDARIES
        and (key in _keys(own) or _may_write(nlp, n, own))
    ]
    return _before(nlp, pipe, found, key)


def _keys(pipe: object) -> list[object]:
    """The keys in doc.spans that a component names."""
    named = (_settings(pipe).get("spans_key"), getattr(pipe, "key", None))
    return [key for key in named if key is not None]


def _may_write(nlp: Language, name: str, pipe: object) -> bool:
    """Whether a component writes spans, nobody knows where: phrases of one's own, for example."""
    return SPANS in nlp.get_pipe_meta(name).assigns and not _keys(pipe)


def check_own_gates(nlp: Language, who: str) -> None:
    """Whether what reads flagged sentences alone has its gate with it in the pipeline of a secondary.

    nlp (Language): That pipeline. who (str): The component around it.
    """
    for name, pipe in nlp.pipeline:
        key = _settings(pipe).get("spans_key")
        if nlp.get_pipe_meta(name).factory not in SECONDARIES or key is None:
            continue
        if not set(find_gates(nlp, pipe, key)).intersection(nlp.pipe_names):
            raise ValueError(Errors.L575.format(who=who, what=repr(name), key=key))


def _opened_by(nlp: Language, pipe: object, key: str, who: str) -> tuple[str, list[str]]:
    """The gates' names, and the types of all of them, if they know any.

    Rules open for what is no type, too, so that theirs count where there is no gate.
    """
    writers = find_gates(nlp, pipe, key)
    if not writers:
        raise ValueError(Errors.L210.format(who=who, key=key))
    gates = [n for n in writers if is_gate(nlp, n)]
    for gate in gates:
        check_kept(nlp, nlp.get_pipe(gate), key)
    if gates:
        _warn_of_others(nlp, gates[0], writers, key)
    gates = gates or writers
    types = [label for n in gates for label in getattr(nlp.get_pipe(n), "labels", ())]
    return ", ".join(gates), list(dict.fromkeys(types))


def check_kept(nlp: Language, gate: object, key: str) -> None:
    """Whether doc.spans[key] still holds what a gate flags after the rules behind it."""
    behind = dropwhile(lambda row: row[1] is not gate, nlp.components)
    for other, pipe in behind:
        if getattr(pipe, "key", None) == key and getattr(pipe, "overwrite", False):
            name = name_in(nlp, gate)
            raise ValueError(Errors.L284.format(rules=other, name=name, key=key))


def _warn_of_others(nlp: Language, gate: str, writers: list[str], key: str) -> None:
    """Say what components that only may write the key could do behind a gate."""
    for other in writers[writers.index(gate) :]:
        if _may_write(nlp, other, nlp.get_pipe(other)):
            message = Warnings.W064.format(rules=other, name=gate, key=key)
            warnings.warn(message, stacklevel=4)


def gate_types(nlp: Language | None, pipe: object, key: str, who: str) -> list[str]:
    """The types of the gate that a secondary, `pipe`, stands behind."""
    found = "no pipeline to look for one in"
    if nlp is not None:
        gate, types = _opened_by(nlp, pipe, key, who)
        if types:
            return types
        found = f"{gate!r} without any"
    raise ValueError(Errors.L258.format(who=who, found=found))


def check_secondary(
    nlp: Language,
    pipe: object,
    labels: Collection[str],
    spans_key: str | None,
    settings: Merging,
    who: str,
) -> None:
    """Whether gate and primary of a secondary are there, before it; warns of types that do not fit.

    spans_key (Optional[str]): Key in doc.spans that the gate writes; null is no gate.
    """
    if spans_key is not None:
        gate, opened_by = _opened_by(nlp, pipe, spans_key, who)
        if closed := [t for t in labels if opened_by and t not in opened_by]:
            message = Warnings.W080.format(who=name_in(nlp, pipe), types=", ".join(closed), gate=gate)
            warnings.warn(message, stacklevel=3)
    merge, key = settings.merge, settings.scores_key
    if merge in BY_SCORE and find_primary(nlp, pipe, key) is None:
        raise ValueError(Errors.L207.format(who=who, merge=merge, key=key))
    _warn_of_shared_types(nlp, pipe, labels, merge)


def find_primary(nlp: Language, pipe: object, key: str | None) -> str | None:
    """The component before `pipe` that writes entity scores to doc.spans[key]."""
    found = [
        n
        for n, own in nlp.components
        if key and _settings(own).get("scores_key") == key and not is_gate(nlp, n)  # which reads them
    ]
    return next(reversed(_before(nlp, pipe, found, key)), None)


def boundary_setters(nlp: Language, pipe: object) -> list[Callable[[Doc], Doc]]:
    """The components before `pipe` that set sentence boundaries, and what one of them may listen to.

    A component that is not trained yet is left out: its boundaries would mean nothing.
    """
    trainable = {n for n, own in nlp.components if getattr(own, "is_trainable", False)}
    ready = [
        n for n in components_before(nlp, pipe) if n not in trainable or n in nlp.disabled
    ]  # frozen: trained
    found = [n for n in ready if BOUNDARIES.intersection(nlp.get_pipe_meta(n).assigns)]
    if not trainable.isdisjoint(found):
        annotating = nlp.config.interpolate()["training"]["annotating_components"]
        found = [n for n in ready if n in found or n in annotating]
    return [nlp.get_pipe(n) for n in found]


def _before(nlp: Language, pipe: object, found: list[str], key: str | None) -> list[str]:
    names, own = components_before(nlp, pipe), name_in(nlp, pipe)
    others = [n for n in found if n != own]
    before = [n for n in others if n in names]
    if others and not before:
        raise ValueError(Errors.L250.format(other=others[0], key=key, name=own))
    return before


def _settings(pipe: object) -> Block:
    found = getattr(pipe, "cfg", None)
    return found if isinstance(found, dict) else {}


def _warn_of_shared_types(nlp: Language, pipe: object, types: Collection[str], merge: str) -> None:
    """Say what happens where a NER before `pipe` predicts the rare types as well."""
    for other, own in components_before(nlp, pipe).items():
        is_ner = "doc.ents" in nlp.get_pipe_meta(other).assigns
        both = [t for t in types if is_ner and t in getattr(own, "labels", ())]
        if both:
            shown = {
                "who": name_in(nlp, pipe),
                "primary": other,
                "types": ", ".join(both),
                "effect": OVERLAP[merge],
            }
            warnings.warn(Warnings.W081.format(**shown), stacklevel=3)
