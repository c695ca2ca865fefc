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
GATES = {"longtail_sentence_gate", "longtail_posterior_gate"}
BOUNDARIES = {"token.is_sent_start", "doc.sents"}


def name_in(nlp: Language, pipe: object) -> str | None:
    """The name of a component in a pipeline; null where it is not part of it."""
    return next((name for name, own in nlp.components if own is pipe), None)


def components_before(nlp: Language, pipe: object) -> dict[str, Callable[[Doc], Doc]]:
    """The components that stand before one of a pipeline, disabled ones too, by name."""
    return dict(takewhile(lambda row: row[1] is not pipe, nlp.components))


def is_gate(nlp: Language, name: str) -> bool:
    """Whether a component is a gate of this package."""
    return nlp.get_pipe_meta(name).factory in GATES


def _settings(pipe: object) -> Block:
    cfg = getattr(pipe, "cfg", None)
    return cfg if isinstance(cfg, dict) else {}


def _writes(nlp: Language, name: str, pipe: object, key: str) -> bool:
    """Whether a component flags in doc.spans[key]: a gate, or rules such as a span ruler.

    A component that assigns doc.spans and names no key is believed to write this one.
    """
    meta = nlp.get_pipe_meta(name)
    named = {_settings(pipe).get("spans_key"), getattr(pipe, "key", None)} - {None}
    writes = key in named if named else "doc.spans" in meta.assigns
    return writes and meta.factory not in SECONDARIES


def _before(nlp: Language, pipe: object, writers: list[str], key: str | None) -> list[str]:
    """Those writers of doc.spans[key] that stand before a component."""
    before, name = components_before(nlp, pipe), name_in(nlp, pipe)
    others = [n for n in writers if n != name]
    if others and before.keys().isdisjoint(others):
        problem = f"writes doc.spans[{key!r}] after {name!r} has read it"
        raise ValueError(Errors.L250.format(other=others[0], name=name, problem=problem))
    return [n for n in others if n in before]


def _opened_by(nlp: Language, pipe: object, key: str, who: str) -> tuple[str, list[str]]:
    """The names of the gates before a component, and the types of all of them, if they know any.

    Rules open for what is no type, too, so that theirs count where there is no gate.
    """
    writers = _before(nlp, pipe, [n for n, p in nlp.components if _writes(nlp, n, p, key)], key)
    if not writers:
        fix = f"Add a longtail_sentence_gate with spans_key = \"{key}\", or fix 'spans_key'."
        needs = f"a gate that writes doc.spans[{key!r}]"
        raise ValueError(Errors.L210.format(who=who, needs=needs, found="none", fix=fix))
    gates = [n for n in writers if is_gate(nlp, n)]
    for gate in gates:
        check_kept(nlp, nlp.get_pipe(gate), key)
    types = [label for n in gates or writers for label in getattr(nlp.get_pipe(n), "labels", ())]
    return ", ".join(gates or writers), list(dict.fromkeys(types))


def check_kept(nlp: Language, gate: object, key: str) -> None:
    """Whether doc.spans[key] still holds what a gate flags after the rules behind it."""
    for other, pipe in dropwhile(lambda row: row[1] is not gate, nlp.components):
        if getattr(pipe, "key", None) == key and getattr(pipe, "overwrite", False):
            problem = f"has overwrite = true, and would remove what it flags in doc.spans[{key!r}]"
            name = name_in(nlp, gate)
            raise ValueError(Errors.L250.format(other=other, name=name, problem=problem))


def gate_types(nlp: Language | None, pipe: object, key: str, who: str) -> list[str]:
    """The types of the gate that a secondary, `pipe`, stands behind."""
    gate, types = ("none", []) if nlp is None else _opened_by(nlp, pipe, key, who)
    if not types:
        needs, fix = "a gate with types for labels = 'auto'", "Name the types in 'labels'."
        raise ValueError(Errors.L210.format(who=who, needs=needs, found=gate, fix=fix))
    return types


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
    problems = []
    if spans_key is not None:
        gate, types = _opened_by(nlp, pipe, spans_key, who)
        if closed := [t for t in labels if types and t not in types]:
            problems.append(f"{gate} does not look for {', '.join(closed)}")
    merge, key = settings.merge, settings.scores_key
    writers = [
        n
        for n, other in nlp.components
        if key and _settings(other).get("scores_key") == key and not is_gate(nlp, n)
    ]
    if not _before(nlp, pipe, writers, key) and merge in BY_SCORE:
        raise ValueError(Errors.L207.format(who=who, merge=merge, key=key))
    for name, other in components_before(nlp, pipe).items():
        is_ner = "doc.ents" in nlp.get_pipe_meta(name).assigns
        if both := [t for t in labels if is_ner and t in getattr(other, "labels", ())]:
            problems.append(f"{name} before it predicts {', '.join(both)}, too: {OVERLAP[merge]}")
    for problem in problems:
        message = Warnings.W080.format(who=name_in(nlp, pipe), problem=problem)
        warnings.warn(message, stacklevel=3)


def boundary_setters(nlp: Language, pipe: object) -> list[Callable[[Doc], Doc]]:
    """The components before `pipe` that set sentence boundaries, and what one of them may listen to.

    A component that is not trained yet is left out: its boundaries would mean nothing.
    """
    trainable = {n for n, own in nlp.components if getattr(own, "is_trainable", False)}
    ready = [
        n for n in components_before(nlp, pipe) if n not in trainable or n in nlp.disabled
    ]  # frozen: trained
    setters = [n for n in ready if BOUNDARIES.intersection(nlp.get_pipe_meta(n).assigns)]
    if not trainable.isdisjoint(setters):
        annotating = nlp.config.interpolate()["training"]["annotating_components"]
        setters = [n for n in ready if n in setters or n in annotating]
    return [nlp.get_pipe(n) for n in setters]
