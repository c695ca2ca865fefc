"""A plan's YAML file, checked."""

from pathlib import Path
from typing import Annotated, Any

import srsly
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...corpus.parts import with_name
from ...errors import Errors
from ...output.writing import coded_io
from ...records import problem_of
from ...types import Overrides

OF_CORPORA = ("paths.train", "paths.dev", "nlp.lang", "nlp.tokenizer",
              "longtail.labels", "longtail.tail", "longtail.frequent")  # fmt: skip
OWNERS = {  # settings that the plan makes from these
    "training.max_steps": "steps",
    "training.patience": "patience",
    "system.seed": "seeds",
    **dict.fromkeys(OF_CORPORA, "corpora"),
}
MOST_STEPS, MOST_SEEDS = 10**9, 10_000
MOST_BYTES = 1_000_000  # of a file

Positive = Annotated[int, Field(gt=0, le=MOST_STEPS)]
Number = Annotated[int, Field(gt=0, le=MOST_SEEDS)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Names = Annotated[list[str], Field(min_length=1)]


class PlanFile(BaseModel):
    """The fields of a plan. What it does not name has its default."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    corpora: list[str] = []
    steps: Positive = 1000  # with patience at most
    patience: Positive = 0
    seeds: Number | Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)] = 3
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
        """Each seed once; where there are draws, the partitions."""
        seeds = self.partitions if self.sizes or self.shares else self.seeds
        return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))

    def problem(self) -> str:
        """What contradicts itself or would be ignored; "" if nothing does."""
        names = [with_name(Path(corpus)).name for corpus in self.corpora]
        given, drawn = self.model_fields_set, self.sizes or self.shares
        problems = {
            "it has neither grids nor methods.": not (self.grids or self.methods),
            f"two corpora have the same name, found {', '.join(names)}.": _repeats(names),
            "a size or a share stands twice.": _repeats(self.sizes) or _repeats(self.shares),
            "it has sizes and shares: one study has one of them.": self.sizes and self.shares,
            "each partition has its own seed: leave seeds out.": drawn and "seeds" in given,
            "partitions need sizes or shares.": not drawn and "partitions" in given,
            "n_sentences needs shares.": not self.shares and "n_sentences" in given,
            **{f"instead of {s} under settings use {o}.": s in self.settings for s, o in OWNERS.items()},
        }
        return next((problem for problem, holds in problems.items() if holds), "")


def _repeats(values: list[Any]) -> bool:
    return len(set(values)) < len(values)


def read_yaml(path: Path) -> Overrides:
    """What a plan's file says, before its fields are checked.

    path (Path): The file.
    """
    with coded_io(path):
        if path.stat().st_size > MOST_BYTES:
            raise unusable(path, f"it has more than {MOST_BYTES:,} bytes.")
        text = path.read_bytes()
    try:
        found = srsly.yaml_loads(text.decode("utf8"))
    except Exception as error:  # srsly's parser has many
        raise unusable(path, f"it is no YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(found, dict):
        raise unusable(path, "it holds no mapping.")
    return found


def read_fields(found: Overrides, path: Path) -> PlanFile:
    """Check the fields of a plan.

    found (Overrides): As the file has them. path (Path): The file.
    """
    try:
        fields = PlanFile.model_validate(found)
    except ValidationError as error:
        raise unusable(path, f"{problem_of(error, 'the plan')}.") from error
    if problem := fields.problem():
        raise unusable(path, problem)
    return fields


def unusable(path: Path | str, problem: str) -> ValueError:
    """The error to raise of a plan."""
    return ValueError(Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md has the form."))


def beside(path: Path, name: str) -> Path | None:
    """A path of a plan: from the current folder, or else from the plan's; null of none."""
    if not name or Path(name).is_file():
        return Path(name) if name else None
    return path.parent / name


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)
