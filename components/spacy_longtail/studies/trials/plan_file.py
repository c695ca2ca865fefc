"""File of a plan: its fields, their values, and which of them exclude each other."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import srsly
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from spacy.util import dict_to_dot

from ...errors import Errors
from ...output.targets import with_name
from ...output.writing import coded_io
from ...records import problem_of
from ...types import Overrides

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
        """Return the seeds, each once. For learning curves the partitions are the seeds."""
        seeds = self.partitions if self.sizes or self.shares else self.seeds
        return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))

    def find_problem(self) -> tuple[str, list[str]]:
        """Find fields that contradict each other or would be ignored.

        RETURNS (Tuple[str, List[str]]): The problem, or "" if there is none, and the fields that
            the user may change. A dotted name is that of one of the settings.
        """
        names = [with_name(Path(corpus)).name for corpus in self.corpora]
        given, drawn = self.model_fields_set, self.sizes or self.shares
        problems = {
            "it has neither grids nor methods.": (not (self.grids or self.methods), ["grids"]),
            f"two corpora have the same name, found {', '.join(names)}.": (_repeats(names), ["corpora"]),
            "a size is listed twice.": (_repeats(self.sizes), ["sizes"]),
            "a share is listed twice.": (_repeats(self.shares), ["shares"]),
            "it has sizes and shares: remove one.": (self.sizes and self.shares, ["sizes", "shares"]),
            "each partition has its own seed: remove seeds.": (drawn and "seeds" in given, ["seeds"]),
            "partitions need sizes or shares.": (not drawn and "partitions" in given, ["partitions"]),
            "n_sentences needs shares.": (not self.shares and "n_sentences" in given, ["n_sentences"]),
            **{
                f"{name} under {where} would be ignored: use {owner_of(name)} instead.": (
                    value != [],  # [] declares it
                    [name] if where == "settings" else [],
                )
                for where, settings in self._settings().items()
                for name, value in dict_to_dot(settings).items()
                if owner_of(name)
            },
        }
        found = ((problem, fields) for problem, (holds, fields) in problems.items() if holds)
        return next(found, ("", []))

    def _settings(self) -> dict[str, dict[str, Any]]:
        """Return the settings that other fields may override, by where they stand in the plan.

        The lengths of methods are missing, because `read_plan` compares them.
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
    """Return the field of a plan that sets a config value, or a value that contains it.

    name (str): Dotted name of the config value.
    RETURNS (str): Name of the field, or "" if a plan leaves the value to its settings.
    """
    return next((field for own, field in OWNERS.items() if f"{name}.".startswith(f"{own}.")), "")


def _repeats(values: list[Any]) -> bool:
    """Return whether a list has a value more than once."""
    return len(set(values)) < len(values)


class GivenFieldError(ValueError):
    """Error of a field that was given to `read_plan`, for example by an option of a command.

    field (str): Name of the field.
    given (object): Its value or, for the field "settings", the name of the setting.
    problem (str): What is wrong, and what to do.
    """

    def __init__(self, field: str, given: object, problem: str) -> None:
        self.field, self.given, self.problem = field, given, problem
        super().__init__(str(invalid_plan(f"{field} {given!r}", problem)))


class PlanSource(NamedTuple):
    """File of a plan, and the fields that replace those of the file. Errors name either."""

    path: Path
    given: Overrides

    def make_error(self, problem: str, *fields: str) -> ValueError:
        """Return the error for an invalid plan.

        problem (str): What is wrong.
        fields (str): Fields that could be changed, and dotted names of settings. The error names
            the first of them that was given or, if none was, the file.
        RETURNS (ValueError): A GivenFieldError, or the error for the file (L470).
        """
        for field in fields:
            if field in self.given:
                return GivenFieldError(field, self.given[field], problem)
            if field in self.given.get("settings", {}):
                return GivenFieldError("settings", field, problem)
        return invalid_plan(self.path, problem)


def read_fields(source: PlanSource) -> PlanFile:
    """Read and check the fields of a plan.

    source (PlanSource): File of the plan, and the fields that replace those of the file.
    RETURNS (PlanFile): The fields.
    RAISES (ValueError): If the file cannot be read (L432), or the plan is invalid (L470).
    """
    path = source.path
    with coded_io(path):
        text = path.read_bytes()
    try:
        read = srsly.yaml_loads(text.decode("utf8"))
    except Exception as error:  # srsly's parser raises many types of errors
        raise invalid_plan(path, f"it is not valid YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(read, dict):
        raise invalid_plan(path, "it is not a mapping of field names to values.")
    try:
        fields = PlanFile.model_validate(_override_fields(read, source.given))
    except ValidationError as error:
        names = (str(problem["loc"][0]) for problem in error.errors())
        raise source.make_error(f"{problem_of(error, 'the plan')}.", *names) from error
    problem, names = fields.find_problem()
    if problem:
        raise source.make_error(problem, *names)
    return fields


def _override_fields(read: Overrides, given: Overrides) -> Overrides:
    """Return the fields of a plan with values of the command line, without conflicting fields."""
    replaced = set(REPLACED_BY_DRAWS) if {"sizes", "shares"} & set(given) else set()
    if "steps" in given:
        replaced.add("patience")
    kept = {name: value for name, value in read.items() if name not in replaced}
    settings = read.get("settings", {})
    if isinstance(settings, dict):  # the check of the fields refuses anything else
        settings = {**settings, **given.get("settings", {})}
    return {**kept, **given, "settings": settings}


def invalid_plan(path: Path | str, problem: str) -> ValueError:
    """Return the error (L470) for an invalid plan.

    path (Union[Path, str]): File of the plan, or what else cannot be used.
    problem (str): What is wrong, as a sentence.
    """
    return ValueError(
        Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md shows what a plan has.")
    )
