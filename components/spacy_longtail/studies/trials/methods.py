"""The methods of a plan: combinations of choices, and configs of their own, with equal training."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...errors import Errors
from ...output.writing import is_file_name
from ...types import Overrides
from .compose import compose, known_choices, read_base
from .plan_file import PlanFile, beside, check_settings, is_whole, unusable

BATCHES = ("accumulate_gradient", "batcher")  # of [training], equal for equal encoders


MOST_METHODS = 10_000  # of a grid


class Method(NamedTuple):
    name: str
    choices: dict[str, str]  # by axis; none of a method that is a config of its own
    config: Config  # not interpolated


def read_methods(fields: PlanFile, base: Config, settings: Overrides, path: Path) -> list[Method]:
    """The methods that a plan names.

    fields (PlanFile): Of the plan. base (Config): Not interpolated.
    settings (Overrides): Of all methods. path (Path): Of the plan.
    RAISES (ValueError): L402, L470, L471, L472.
    """
    catalog = _catalog(fields.choices, path)
    picked = list(_picked(fields.grids, catalog, path))
    methods = []
    for choices in picked:
        name = _name(choices, catalog)
        blocks = {axis: catalog[axis][choice] for axis, choice in choices.items()}
        methods.append(Method(name, choices, compose(base, blocks, settings)))
    for name, own in fields.methods.items():
        if not isinstance(own, dict) or not isinstance(own.get("config", ""), str):
            raise unusable(path, f"the method {name} must be settings by dotted name, found {own!r}.")
        own_base = read_base(beside(path, own["config"])) if "config" in own else base
        own_settings = {k: v for k, v in own.items() if k != "config"}
        check_settings(own_settings, f"the method {name}", path)
        methods.append(Method(str(name), {}, compose(own_base, {}, {**settings, **own_settings})))
    names = Counter(method.name for method in methods)
    for name, n in names.items():
        if n > 1 or not is_file_name(name):
            raise unusable(path, f"{name!r} names two methods, or cannot be a file's name.")
    return methods


def _name(choices: Mapping[str, str], catalog: Mapping[str, Mapping[str, Overrides]]) -> str:
    """The head, and whatever else is not the first of its axis."""
    usual = {axis: next(iter(names)) for axis, names in catalog.items() if axis != "head"}
    return "-".join(choice for axis, choice in choices.items() if choice != usual.get(axis))


def _catalog(own: Mapping[object, object], path: Path) -> dict[str, dict[str, Overrides]]:
    known = known_choices()
    found = {axis: {**choices} for axis, choices in known.items()}
    for axis, choices in own.items():
        if not isinstance(axis, str) or axis not in known:
            raise ValueError(
                Errors.L472.format(path=path, what="axis", name=axis, known=", ".join(known))
            )
        if not isinstance(choices, dict) or not all(isinstance(s, dict) for s in choices.values()):
            raise unusable(path, f"choices of {axis} must be settings by name, found {choices!r}.")
        for name, settings in choices.items():
            if not isinstance(name, str):
                raise unusable(path, f"choices of {axis} must have names, found {name!r}.")
            check_settings(settings, f"the {axis} {name}", path)
            found[axis][name] = settings
    return found


def _picked(
    grids: list[object], catalog: Mapping[str, Mapping[str, Overrides]], path: Path
) -> Iterator[dict[str, str]]:
    """The choice of every axis, of each method of the grids, once each."""
    first = {axis: next(iter(choices)) for axis, choices in catalog.items()}
    seen = set()
    for grid in grids:
        if not isinstance(grid, dict):
            raise unusable(path, f"a grid must be choices by axis, found {grid!r}.")
        for axis, names in grid.items():
            if axis not in catalog:
                known = ", ".join(catalog)
                raise ValueError(Errors.L472.format(path=path, what="axis", name=axis, known=known))
            if names == []:
                raise unusable(path, f"a grid has no choice of {axis}.")
            for name in names if isinstance(names, list) else [names]:
                if not isinstance(name, str) or name not in catalog[axis]:
                    known = ", ".join(catalog[axis])
                    raise ValueError(Errors.L472.format(path=path, what=axis, name=name, known=known))
        lists = [dict.fromkeys(v) if isinstance(v, list) else [v] for v in grid.values()]
        if (n_methods := prod(map(len, lists))) > MOST_METHODS:
            raise unusable(path, f"a grid has {n_methods:,} methods, more than {MOST_METHODS:,}.")
        for combination in itertools.product(*lists):
            choices = {**first, **dict(zip(grid, combination, strict=True))}
            if (key := tuple(choices.values())) not in seen:
                seen.add(key)
                yield choices


def check_equal(methods: list[Method], steps: int, patience: int) -> None:
    """Refuse methods whose training differs. Encoders may have batches of their own.

    methods (List[Method]): The methods. steps (int): Of all of them. patience (int): Of all; 0 is none.
    RAISES (ValueError): L473, L474.
    """
    first: dict[str, Method] = {}
    for method in methods:
        training = method.config["training"]
        for name, wanted in (("patience", patience), ("max_epochs", 0)):
            found = training.get(name)
            if is_whole(found) and found > 0 and found != wanted:
                message = Errors.L473.format(name=name, method=method.name, found=found, other=wanted)
                raise ValueError(message)
        same = first.setdefault(_encoder(method.config), method).config["training"]
        usual = methods[0].config["training"].get("eval_frequency")
        equal = {"max_steps": steps, "eval_frequency": usual}
        for name, wanted in {**equal, **{name: same.get(name) for name in BATCHES}}.items():
            if training.get(name) != wanted:
                message = Errors.L473.format(
                    name=name, method=method.name, found=training.get(name), other=wanted
                )
                raise ValueError(message)
        frequency = training.get("eval_frequency")
        if not is_whole(frequency) or not 0 < frequency <= steps:
            raise ValueError(Errors.L474.format(frequency=frequency, steps=steps))


def _encoder(config: Config) -> str:
    """What kind of encoder a config has: sizes do not make another kind."""
    components = config.get("components", {})
    block = components.get("tok2vec") or components.get("transformer") or components
    model = block.get("model", {})
    # a pretrained encoder is known by what its `source` refers to
    source = config.get("paths", {}).get("pretrained") if "source" in block else None
    parts = block.get("factory"), model.get("@architectures"), model.get("name"), source
    return " ".join(map(str, parts))
