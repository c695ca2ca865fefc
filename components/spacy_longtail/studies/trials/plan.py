"""Plan of trials: methods, corpora, samples and seeds, all with equal steps."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...errors import Errors
from ...output.console import number
from ...output.targets import is_file_name, with_name
from ...settings import is_whole
from ...types import Overrides
from ..configs.compose import compose, known_choices, read_base
from ..configs.recipes import make_config, read_recipes
from .plan_file import PlanFile, PlanSource, read_fields
from .trial import Draw, Trial, TrialMethod

PRESETS = Path(__file__).parent / "presets"


class Plan(NamedTuple):
    """Plan of trials: every method on every corpus and sample with every seed."""

    corpora: list[Path]
    methods: list[TrialMethod]
    seeds: list[int]
    draws: list[Draw]  # empty for the whole training part
    steps: int  # of every training; with a patience, the maximum
    baseline: str
    patience: int = 0  # steps without improvement on dev that end a training; 0 for no such limit

    @property
    def schedule(self) -> str:
        """Return the length of each training, for people."""
        others = {method.config["training"]["max_steps"] for method in self.methods} - {self.steps}
        shown = ", ".join(f"{steps:,}" for steps in sorted(others))
        own = f" ({shown} for encoders whose recipe sets this)" if others else ""
        if not self.patience:
            return f"{number(self.steps, 'step')} each{own}"
        return (
            f"each until macro F1 on dev has not improved for {self.patience:,} steps, with at most "
            f"{self.steps:,} steps{own}"
        )

    def trials(self) -> Iterator[Trial]:
        """Yield all trials, seed by seed, so that all rows of a table fill at the same time."""
        draws: list[Draw | None] = [*self.draws] or [None]
        for seed, corpus, draw in itertools.product(self.seeds, self.corpora, draws):
            yield from (Trial(corpus, method, seed, draw) for method in self.methods)


def list_presets() -> list[str]:
    """Return the names of the package's plans."""
    return sorted(path.stem for path in PRESETS.glob("*.yml"))


def read_plan(source: str, given: Overrides | None = None) -> Plan:
    """Read a plan and check it.

    source (str): A YAML file, or the name of a preset.
    given (Optional[Overrides]): Fields that replace those of the file. Settings are added to those
        of the file.
    RETURNS (Plan): The plan.
    RAISES (ValueError): If there is no such plan (L402), or it is invalid (L470). The error is a
        GivenFieldError if one of the given fields has to be changed.
    """
    path = PRESETS / f"{source}.yml" if source in list_presets() else Path(source)
    if not path.is_file():
        raise ValueError(
            Errors.L402.format(
                path=path, fix=f"Name a YAML file or a preset: {', '.join(list_presets())}."
            )
        )
    values = {name: value for name, value in (given or {}).items() if value is not None}
    origin = PlanSource(path, values)
    fields = read_fields(origin)
    # if the plan has no patience, configs with a patience of their own are refused
    patience = {"training.patience": fields.patience} if fields.patience else {}
    settings = {**fields.settings, "training.max_steps": fields.steps, **patience}
    methods = _read_methods(fields, settings, origin)
    _check_length(methods, fields.steps, fields.patience, origin)
    names = [method.name for method in methods]
    baseline = fields.baseline or names[0]
    if baseline not in names:
        problem = f"its baseline {baseline!r} is none of its methods: {', '.join(names)}."
        raise origin.make_error(problem, "baseline", "grids")
    corpora = [with_name(Path(corpus)) for corpus in fields.corpora]
    draws = [
        *(Draw(size) for size in sorted(fields.sizes)),
        *(Draw(fields.n_sentences, share) for share in sorted(fields.shares)),
    ]
    return Plan(corpora, methods, fields.seed_list, draws, fields.steps, baseline, fields.patience)


def _read_methods(fields: PlanFile, settings: Overrides, source: PlanSource) -> list[TrialMethod]:
    """Return the methods of a plan, with config values (settings) for all of them."""
    base, known = _read_config(source.path, fields.config), known_choices()
    _check_known("axis", fields.choices, known, source)
    catalog = {axis: {**named, **fields.choices.get(axis, {})} for axis, named in known.items()}
    methods = []
    for name, choices in _combine_choices(fields.grids, catalog, source):
        blocks = {axis: catalog[axis][choice] for axis, choice in choices.items()}
        methods.append(TrialMethod(name, choices, compose(base, blocks, settings)))
    for name, own in fields.methods.items():
        own_base = _read_config(source.path, f"{own['config']}") if "config" in own else base
        own_settings = {k: v for k, v in own.items() if k != "config"}
        config = compose(own_base, {}, {**settings, **own_settings})
        methods.append(TrialMethod(name, {}, config))
    for method in methods:  # spaCy's default patience would end their trainings early
        method.config["training"].setdefault("patience", 0)
    for name, n in Counter(method.name for method in methods).items():
        if n > 1 or not is_file_name(name):
            problem = f"{name!r} names two methods, or cannot be a file's name."
            raise source.make_error(problem, "methods", "grids")
    return methods


def _read_config(path: Path, name: str) -> Config:
    """Return the config that a plan names: that of a recipe, or a file.

    path (Path): The plan, beside which a file may lie that is not in the current folder.
    name (str): Of a recipe such as "token_crf", or of a file; "" is the base of all plans.
    """
    if name in read_recipes():
        return make_config(read_recipes()[name])
    file = Path(name)
    return read_base((file if file.is_file() else path.parent / file) if name else None)


def _combine_choices(
    grids: list[dict[str, str | list[str]]],
    catalog: Mapping[str, Mapping[str, Overrides]],
    source: PlanSource,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield name and choices of each combination of the grids, without repetition."""
    first = {axis: next(iter(choices)) for axis, choices in catalog.items()}
    seen = set()
    for grid in grids:
        _check_known("axis", grid, catalog, source)
        lists = {axis: [names] if isinstance(names, str) else names for axis, names in grid.items()}
        for axis, names in lists.items():
            _check_known(axis, names, catalog[axis], source)
        for combination in itertools.product(*lists.values()):
            choices = {**first, **dict(zip(grid, combination, strict=True))}
            if (key := tuple(choices.values())) not in seen:
                seen.add(key)
                yield method_name(choices), choices


def method_name(choices: Mapping[str, str]) -> str:
    """Return the name of a combination: its head, and choices that are not the first of their axis.

    choices (Mapping[str, str]): Choices by axis.
    """
    first = {axis: next(iter(named)) for axis, named in known_choices().items()}
    whole = {**first, **choices}
    return "-".join(c for axis, c in whole.items() if axis == "head" or c != first[axis])


def _check_known(what: str, names: Iterable[str], known: Iterable[str], source: PlanSource) -> None:
    """Refuse unknown names.

    what (str): What the names stand for, such as "axis".
    names (Iterable[str]): The names.
    known (Iterable[str]): All names that are allowed.
    source (PlanSource): Source of the plan, for messages.
    """
    for name in names:
        if name not in known:
            problem = f"it names an unknown {what}, {name!r}. Known: {', '.join(known)}."
            raise source.make_error(problem, "grids", "choices")


def _check_length(methods: list[TrialMethod], steps: int, patience: int, source: PlanSource) -> None:
    """Refuse methods whose number of steps or evaluations differs, or does not fit the plan.

    methods (List[TrialMethod]): The methods.
    steps (int): Number of steps of the plan.
    patience (int): Patience of the plan in steps, or 0.
    source (PlanSource): Source of the plan, for messages.
    """
    frequency = methods[0].config["training"].get("eval_frequency")
    wanted = {"max_steps": steps, "eval_frequency": frequency, "patience": patience}
    for method in methods:
        training = method.config["training"]
        epochs = training.get("max_epochs", 0)
        if not is_whole(epochs) or epochs > 0:
            problem = (
                f"training.max_epochs is {epochs} for {method.name!r}, but trainings of a plan end by "
                "their steps or patience. Set it to 0."
            )
            raise source.make_error(problem, "training.max_epochs")
        for name, value in wanted.items():
            is_now = training.get(name)
            is_endless = name == "patience" and is_whole(is_now) and is_now <= 0
            if (0 if is_endless else is_now) != value:
                problem = f"training.{name} is {is_now} for {method.name!r} and {value} for the others."
                raise source.make_error(problem, f"training.{name}")
    if not is_whole(frequency) or not 0 < frequency <= steps:
        problem = (
            f"training.eval_frequency must be from 1 to the {steps} steps, found {frequency}. Give more "
            f"steps, or set training.eval_frequency, for example to {max(steps // 3, 1)}."
        )
        raise source.make_error(problem, "training.eval_frequency", "steps")
    if 0 < patience < 2 * frequency:
        problem = (
            f"a patience of {patience} steps must be at least two evaluations, {2 * frequency} steps. "
            "Increase it, or decrease training.eval_frequency."
        )
        raise source.make_error(problem, "patience", "training.eval_frequency")
