"""The methods of a plan: combinations of choices, and configs of their own, with equal training."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...output.writing import is_file_name
from ...types import Overrides
from .compose import compose, known_choices, read_base
from .plan_file import PlanFile, beside, is_whole, unusable


class TrialMethod(NamedTuple):
    name: str
    choices: dict[str, str]  # by axis; none of a method that is a config of its own
    config: Config  # not interpolated


def read_methods(fields: PlanFile, base: Config, settings: Overrides, path: Path) -> list[TrialMethod]:
    """The methods that a plan names.

    fields (PlanFile): Of the plan. base (Config): Not interpolated.
    settings (Overrides): Of all methods. path (Path): Of the plan.
    """
    known = known_choices()
    _check_known("axis", fields.choices, known, path)
    catalog = {axis: {**own, **fields.choices.get(axis, {})} for axis, own in known.items()}
    methods = []
    for choices in _picked(fields.grids, catalog, path):
        blocks = {axis: catalog[axis][choice] for axis, choice in choices.items()}
        methods.append(TrialMethod(_name(choices, catalog), choices, compose(base, blocks, settings)))
    for name, own in fields.methods.items():
        own_base = read_base(beside(path, f"{own['config']}")) if "config" in own else base
        own_settings = {k: v for k, v in own.items() if k != "config"}
        methods.append(TrialMethod(name, {}, compose(own_base, {}, {**settings, **own_settings})))
    for name, n in Counter(method.name for method in methods).items():
        if n > 1 or not is_file_name(name):
            raise unusable(path, f"{name!r} names two methods, or cannot be a file's name.")
    return methods


def _name(choices: Mapping[str, str], catalog: Mapping[str, Mapping[str, Overrides]]) -> str:
    """The head, and whatever else is not the first of its axis."""
    usual = {axis: next(iter(names)) for axis, names in catalog.items() if axis != "head"}
    return "-".join(choice for axis, choice in choices.items() if choice != usual.get(axis))


def _picked(
    grids: list[dict[str, str | list[str]]],
    catalog: Mapping[str, Mapping[str, Overrides]],
    path: Path,
) -> Iterator[dict[str, str]]:
    """The choice of every axis, of each method of the grids, once each."""
    first = {axis: next(iter(choices)) for axis, choices in catalog.items()}
    seen = set()
    for grid in grids:
        _check_known("axis", grid, catalog, path)
        lists = {axis: [names] if isinstance(names, str) else names for axis, names in grid.items()}
        for axis, names in lists.items():
            _check_known(axis, names, catalog[axis], path)
        for combination in itertools.product(*lists.values()):
            choices = {**first, **dict(zip(grid, combination, strict=True))}
            if (key := tuple(choices.values())) not in seen:
                seen.add(key)
                yield choices


def _check_known(what: str, names: Iterable[str], known: Iterable[str], path: Path) -> None:
    for name in names:
        if name not in known:
            raise unusable(path, f"it names an unknown {what}, {name!r}. Known: {', '.join(known)}.")


def check_equal(methods: list[TrialMethod], steps: int, patience: int, path: Path) -> None:
    """Refuse methods that are trained or evaluated for other steps than the rest.

    methods (List[TrialMethod]): The methods. steps (int): Of all of them.
    patience (int): Of all; 0 is none. path (Path): Of the plan.
    """
    frequency = methods[0].config["training"].get("eval_frequency")
    for method in methods:
        training = method.config["training"]
        wanted = {"max_steps": steps, "eval_frequency": frequency}
        ends = {"patience": patience, "max_epochs": 0}
        wanted |= {n: end for n, end in ends.items() if is_whole(training.get(n)) and training[n] > 0}
        for name, value in wanted.items():
            if (found := training.get(name)) != value:
                problem = f"training.{name} is {found} for {method.name!r} and {value} for the others."
                raise unusable(path, problem)
    if not is_whole(frequency) or not 0 < frequency <= steps:
        problem = f"training.eval_frequency must be at most its {steps} steps, found {frequency}."
        raise unusable(path, problem)
    if 0 < patience < 2 * frequency:
        raise unusable(path, f"patience must be two evaluations at least, {2 * frequency} steps.")
