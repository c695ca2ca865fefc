"""Reading of a saved component's `cfg` file, with all checks before anything is changed."""

import inspect
import typing
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol

import srsly
from pydantic import Field, TypeAdapter, ValidationError

from ..errors import Errors
from ..types import Block

SavedCurve = Annotated[list[float], Field(min_length=2, max_length=2)]  # slope and shift
SavedCurves = dict[str, SavedCurve] | None  # calibration curves by type
Weights = dict[str, float] | None  # by class
Probability = Annotated[float, Field(ge=0, le=1)]
Thresholds = dict[str, Probability] | None  # by type

OF_TYPES = ("include", "thresholds", "descriptions", "unseen")  # values that name types of the pipe


_adapter = lru_cache(TypeAdapter)


class Saved(Protocol):
    """A component whose settings and learnt values are saved as `cfg`."""

    name: str
    learnt: ClassVar[Mapping[str, Any]]  # types of values, beside the constructor's or narrower
    required: ClassVar[tuple[str, ...]]  # values without which a component cannot be loaded


def read_cfg(source: Path | str, pipe: Saved) -> Block:
    """Return the saved settings and learnt values of a component.

    source (Path | str): The file, or the JSON text in a serialized component.
    pipe (Saved): The component that loads them, as its config has built it.
    RAISES (ValueError): If they are no JSON object, lack a required value, or have a value of a
        wrong type or a list with duplicates (L814).
    """
    try:
        cfg = srsly.read_json(source) if isinstance(source, Path) else srsly.json_loads(source)
        problem = _problem_of(cfg, pipe)
    except (ValueError, OSError) as error:
        problem = " ".join(f"it cannot be read ({error})".split())
    if problem:
        raise bad_cfg(source, pipe, problem)
    return cfg


def bad_cfg(source: Path | str, pipe: Saved, problem: str) -> ValueError:
    """Return the error for values that a pipe cannot be loaded with (L814).

    source (Path | str): As for `read_cfg`.
    pipe (Saved): The component that loads them.
    problem (str): What is wrong with them.
    """
    path = source if isinstance(source, Path) else "its serialized cfg"
    return ValueError(Errors.L814.format(who=pipe.name, path=path, problem=problem))


def unknown_types(cfg: Mapping[str, Any], known: Collection[str]) -> str:
    """Return which value names types that a pipe does not have, or an empty text.

    cfg (Mapping[str, Any]): Saved settings and learnt values, of the right types.
    known (Collection[str]): The types of the pipe; it has none before it is initialized.
    """
    for key in OF_TYPES if known else ():
        if unknown := [label for label in cfg.get(key) or () if label not in known]:
            return f"{key!r} names {', '.join(unknown)}, but the types are {', '.join(known)}"
    return ""


def _problem_of(cfg: object, pipe: Saved) -> str:
    """Return the problem with the values of a component, or an empty text."""
    if not isinstance(cfg, dict):
        return "it is no JSON object"
    if missing := [key for key in pipe.required if key not in cfg]:
        return f"it lacks {', '.join(map(repr, missing))}"
    for key, kind in _kinds(type(pipe)).items():
        if key not in cfg:
            continue
        value = cfg[key]
        try:
            _adapter(kind).validate_python(value, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            return f"{key!r} is {value!r}: {first['msg']}"
        names = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            return f"{key!r} names {', '.join(twice)} more than once"
    return unknown_types(cfg, cfg.get("types") or cfg.get("queries") or ())


@lru_cache
def _kinds(pipe: type[Saved]) -> dict[str, Any]:
    """Return the types of settings, as the constructor declares them, and of learnt values."""
    hints = typing.get_type_hints(pipe.__init__, include_extras=True)
    settings = {name: hints[name] for name in inspect.signature(pipe).parameters if name in hints}
    return {**settings, **pipe.learnt}
