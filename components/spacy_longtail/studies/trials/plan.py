"""Plan of trials, read from YAML: methods, corpora, samples and seeds, all with equal steps."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import srsly
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from thinc.api import Config

from ...errors import Errors
from ...output.console import number
from ...output.targets import is_file_name, with_name
from ...output.writing import coded_io
from ...records import problem_of
from ...types import Block, Overrides
from ..configs.compose import apply, compose, known_choices, read_base
from ..configs.recipes import make_config, read_recipes

PRESETS = Path(__file__).parent / "presets"
SEED = 0  # random seed of all samples, which differ by their partition
PLAIN = "${corpora.plain}"
REPLACED_BY_DRAWS = {"sizes", "shares", "n_sentences", "seeds"}  # fields that --sizes or shares replace
LENGTH_FIELDS = {"training.max_steps": "steps", "training.patience": "patience"}
OWNERS = {  # settings of configs, by the field of a plan that sets them
    **LENGTH_FIELDS,
    "system.seed": "seeds",
    "paths.train": "corpora",
    "paths.dev": "corpora",
    "nlp.lang": "corpora",
    "nlp.tokenizer": "corpora",
    "longtail.labels": "corpora",
    "longtail.tail": "corpora",
    "longtail.frequent": "corpora",
}

Positive = Annotated[int, Field(gt=0, le=10**9)]
Number = Annotated[int, Field(gt=0, le=10_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Names = Annotated[list[str], Field(min_length=1)]


class PlanFile(BaseModel):
    """Fields of a plan. All of them have defaults."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    corpora: list[str] = []
    steps: Positive = 1000  # with a patience, the maximum
    patience: Positive = 0
    seeds: Number | Annotated[list[Seed], Field(min_length=1)] = 3
    grids: list[dict[str, str | Names]] = []
    methods: dict[str, dict[str, Any]] = {}
    choices: dict[str, dict[str, dict[str, Any]]] = {}
    settings: dict[str, Any] = {}
    config: str = ""
    baseline: str = ""
    sizes: Annotated[list[Positive], Field(min_length=1)] = []
    shares: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1)] = []
    n_sentences: Positive = 100
    partitions: Number = 5

    @property
    def seed_list(self) -> list[int]:
        """Return each seed once or, for learning curves, each partition."""
        seeds = self.partitions if self.sizes or self.shares else self.seeds
        return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))

    def problem(self) -> str:
        """Return which fields contradict each other or would be ignored, or ""."""
        names = [with_name(Path(corpus)).name for corpus in self.corpora]
        given, drawn = self.model_fields_set, self.sizes or self.shares
        problems = {
            "it has neither grids nor methods.": not (self.grids or self.methods),
            f"two corpora have the same name, found {', '.join(names)}.": _repeats(names),
            "a size or share is listed twice.": _repeats(self.sizes) or _repeats(self.shares),
            "it has sizes and shares: one study has one of them.": self.sizes and self.shares,
            "each partition has its own seed: remove seeds.": drawn and "seeds" in given,
            "partitions need sizes or shares.": not drawn and "partitions" in given,
            "n_sentences needs shares.": not self.shares and "n_sentences" in given,
            **{
                f"instead of {name} under {where} use {owner_of(name)}.": value != []
                for where, settings in self._settings().items()
                for name, value in settings.items()  # [] declares it
                if owner_of(name)
            },
        }
        return next((problem for problem, holds in problems.items() if holds), "")

    def _settings(self) -> dict[str, dict[str, Any]]:
        """Return the settings that other fields may override, by where they stand in the plan.

        The lengths of methods are missing, because `_check_equal_length` compares them.
        """
        return {
            "settings": self.settings,
            **{
                f"methods.{name}": {key: value for key, value in own.items() if key not in LENGTH_FIELDS}
                for name, own in self.methods.items()
            },
            **{
                f"choices.{axis}.{name}": own
                for axis, choices in self.choices.items()
                for name, own in choices.items()
            },
        }


def owner_of(name: str) -> str:
    """Return the field of a plan that sets a config value or the block around it, or ""."""
    return next((field for own, field in OWNERS.items() if f"{name}.".startswith(f"{own}.")), "")


def _repeats(values: list[Any]) -> bool:
    return len(set(values)) < len(values)


@dataclass(frozen=True)
class Draw:
    """Random sample of the training sentences."""

    n_sentences: int
    entity_share: float | None = None  # fraction of entity tokens; null is a uniform sample

    @property
    def x(self) -> tuple[str, float]:
        """Return the name of the learning curve's x axis, and the value of this sample."""
        if self.entity_share is None:
            return "sentences", self.n_sentences
        return "% entity tokens", 100 * self.entity_share

    def reader(self) -> Block:
        """Return the config block of the reader that draws this sample."""
        name = "LowResourceCorpus" if self.entity_share is None else "ImbalancedCorpus"
        settings = {key: value for key, value in asdict(self).items() if value is not None}
        return {"@readers": f"longtail.{name}.v1", **settings}


def title_of(corpus: str, method: str, draw: Draw | None, seed: int) -> str:
    """Return the title of a trial: corpus, method, sample and seed."""
    drawn = "" if draw is None else f", {number(draw.n_sentences, 'sentence')}"
    share = "" if draw is None or draw.entity_share is None else f" with {draw.x[1]:g} % entity tokens"
    return f"{corpus}, {method}{drawn}{share}, seed {seed}"


class TrialMethod(NamedTuple):
    """Method of a plan."""

    name: str
    choices: dict[str, str]  # by axis; empty for a method with its own config
    config: Config  # not interpolated


class Trial(NamedTuple):
    """One training of a plan."""

    corpus: Path
    method: TrialMethod
    seed: int
    draw: Draw | None

    @property
    def title(self) -> str:
        """Return corpus, method, sample and seed, for people."""
        return title_of(self.corpus.name, self.method.name, self.draw, self.seed)

    def config(self) -> Config:
        """Return the complete config of the training, not interpolated."""
        config = compose(self.method.config, {}, {"system.seed": self.seed})
        if self.draw is not None:
            _set_draw(config, self.draw, self.seed, self.method.name)
        return config


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


def presets() -> list[str]:
    """Return the names of the package's plans."""
    return sorted(path.stem for path in PRESETS.glob("*.yml"))


def read_plan(
    source: str, given: Overrides | None = None, schedules: Mapping[str, Overrides] = {}
) -> Plan:
    """Read a plan and check it.

    source (str): A YAML file, or the name of a preset.
    given (Optional[Overrides]): Fields that replace those of the file. Settings are added to those
        of the file.
    schedules (Mapping[str, Overrides]): Settings of the length of the training, by choice
        of the axis "encoder". Methods with such settings need not be as long as the others.
    RETURNS (Plan): The plan.
    RAISES (ValueError): If there is no such plan, or it is invalid.
    """
    path = PRESETS / f"{source}.yml" if source in presets() else Path(source)
    if not path.is_file():
        raise ValueError(
            Errors.L402.format(path=path, fix=f"Name a YAML file or a preset: {', '.join(presets())}.")
        )
    values = {name: value for name, value in (given or {}).items() if value is not None}
    fields = _read_fields(path, values)
    # if the plan has no patience, configs with a patience of their own are refused
    patience = {"training.patience": fields.patience} if fields.patience else {}
    settings = {**fields.settings, "training.max_steps": fields.steps, **patience}
    methods = _read_methods(fields, settings, schedules, path)
    equal = [m for m in methods if not schedules.get(m.choices.get("encoder", ""))]
    _check_equal_length(equal, fields.steps, fields.patience, path, is_given="steps" in values)
    names = [method.name for method in methods]
    baseline = fields.baseline or names[0]
    if baseline not in names:
        raise invalid_plan(
            path, f"its baseline {baseline!r} is none of its methods: {', '.join(names)}."
        )
    corpora = [with_name(Path(corpus)) for corpus in fields.corpora]
    draws = [
        *(Draw(size) for size in sorted(fields.sizes)),
        *(Draw(fields.n_sentences, share) for share in sorted(fields.shares)),
    ]
    return Plan(corpora, methods, fields.seed_list, draws, fields.steps, baseline, fields.patience)


def _read_fields(path: Path, given: Overrides) -> PlanFile:
    """Read and check the fields of a plan's file, with values of the command line."""
    with coded_io(path):
        text = path.read_bytes()
    try:
        read = srsly.yaml_loads(text.decode("utf8"))
    except Exception as error:  # srsly's parser raises many types of errors
        raise invalid_plan(path, f"it is not valid YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(read, dict):
        raise invalid_plan(path, "it is not a mapping of field names to values.")
    try:
        fields = PlanFile.model_validate(_overridden(read, given))
    except ValidationError as error:
        raise invalid_plan(path, f"{problem_of(error, 'the plan')}.") from error
    if problem := fields.problem():
        raise invalid_plan(path, problem)
    return fields


def _overridden(read: Overrides, given: Overrides) -> Overrides:
    """Return the fields of a plan with values of the command line, without conflicting fields."""
    replaced = set(REPLACED_BY_DRAWS) if {"sizes", "shares"} & set(given) else set()
    if "steps" in given:
        replaced.add("patience")
    kept = {name: value for name, value in read.items() if name not in replaced}
    settings = read.get("settings", {})
    if isinstance(settings, dict):  # the check of the fields refuses anything else
        settings = {**settings, **given.get("settings", {})}
    return {**kept, **given, "settings": settings}


def _read_methods(
    fields: PlanFile, settings: Overrides, schedules: Mapping[str, Overrides], path: Path
) -> list[TrialMethod]:
    """Return the methods of a plan.

    fields (PlanFile): Fields of the plan.
    settings (Overrides): Config values for all methods.
    schedules (Mapping[str, Overrides]): Config values by choice of the axis "encoder", which
        override those for all methods.
    path (Path): The plan, for messages.
    """
    base, known = _read_config(path, fields.config), known_choices()
    _check_known("axis", fields.choices, known, path)
    catalog = {axis: {**named, **fields.choices.get(axis, {})} for axis, named in known.items()}
    methods = []
    for name, choices in _picked(fields.grids, catalog, path):
        blocks = {axis: catalog[axis][choice] for axis, choice in choices.items()}
        config = compose(base, blocks, {**settings, **schedules.get(choices["encoder"], {})})
        methods.append(TrialMethod(name, choices, config))
    for name, own in fields.methods.items():
        own_base = _read_config(path, f"{own['config']}") if "config" in own else base
        own_settings = {k: v for k, v in own.items() if k != "config"}
        config = compose(own_base, {}, {**settings, **own_settings})
        methods.append(TrialMethod(name, {}, config))
    for method in methods:  # spaCy's default patience would end their trainings early
        method.config["training"].setdefault("patience", 0)
    for name, n in Counter(method.name for method in methods).items():
        if n > 1 or not is_file_name(name):
            raise invalid_plan(path, f"{name!r} names two methods, or cannot be a file's name.")
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


def _picked(
    grids: list[dict[str, str | list[str]]], catalog: Mapping[str, Mapping[str, Overrides]], path: Path
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield name and choices of each combination of the grids, without repetition."""
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
                yield method_name(choices), choices


def method_name(choices: Mapping[str, str]) -> str:
    """Return the name of a combination: its head, and choices that are not the first of their axis.

    choices (Mapping[str, str]): Choices by axis.
    """
    first = {axis: next(iter(named)) for axis, named in known_choices().items()}
    whole = {**first, **choices}
    return "-".join(c for axis, c in whole.items() if axis == "head" or c != first[axis])


def _check_known(what: str, names: Iterable[str], known: Iterable[str], path: Path) -> None:
    for name in names:
        if name not in known:
            raise invalid_plan(path, f"it names an unknown {what}, {name!r}. Known: {', '.join(known)}.")


def _check_equal_length(
    methods: list[TrialMethod], steps: int, patience: int, path: Path, is_given: bool
) -> None:
    """Refuse methods whose number of steps or evaluations differs from the others.

    methods (List[TrialMethod]): The methods.
    steps (int): Number of steps of the plan.
    patience (int): Patience of the plan in steps, or 0.
    path (Path): The plan, for messages.
    is_given (bool): Whether the number of steps was given as an option, which the message names.
    """
    frequency = methods[0].config["training"].get("eval_frequency")
    ends = {"patience": patience, "max_epochs": 0}  # 0 and below are no limit
    for method in methods:
        training = method.config["training"]
        wanted = {"max_steps": steps, "eval_frequency": frequency, **ends}
        for name, value in wanted.items():
            is_now = training.get(name, 0 if name in ends else None)
            is_endless = name in ends and is_whole(is_now) and is_now <= 0
            if (0 if is_endless else is_now) != value:
                raise invalid_plan(
                    path, f"training.{name} is {is_now} for {method.name!r} and {value} for the others."
                )
    if is_given and is_whole(frequency) and frequency > steps:
        raise ValueError(
            Errors.L581.format(
                option="steps",
                given=steps,
                problem=f"the first evaluation is after {frequency} steps, by training.eval_frequency. "
                f"Give more steps, or add --set training.eval_frequency={max(steps // 3, 1)}",
            )
        )
    if not is_whole(frequency) or not 0 < frequency <= steps:
        raise invalid_plan(
            path, f"training.eval_frequency must be from 1 to the {steps} steps, found {frequency}."
        )
    if 0 < patience < 2 * frequency:
        raise invalid_plan(path, f"patience must be at least two evaluations, {2 * frequency} steps.")


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Replace the training data of a config by a sample.

    config (Config): The config, changed in place.
    draw (Draw): The sample.
    partition (int): Number of the sample; each number gives another one.
    name (str): Name of the method, for messages.
    """
    plain, train = config["corpora"].get("plain"), config["corpora"]["train"]
    reads = json.dumps(train, default=str)
    if plain is None or not (train == plain or (PLAIN in reads and "${paths.train}" not in reads)):
        raise invalid_plan(
            f"the method {name!r}",
            "no part of its training data can be drawn: corpora.train must read ${corpora.plain}.",
        )
    drawn = {**draw.reader(), "corpus": plain, "partition": partition, "seed": SEED}
    apply(config, {"corpora.plain": drawn, **({"corpora.train": drawn} if train == plain else {})})


def invalid_plan(path: Path | str, problem: str) -> ValueError:
    """Return the error for an invalid plan."""
    return ValueError(
        Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md shows what a plan has.")
    )


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
