"""A plan's YAML file, checked."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import srsly
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import Self

from ...corpus.parts import with_name
from ...errors import Errors
from ...output.writing import coded_io
from ...records import LONGEST
from ...types import Overrides
from .compose import LAST, OPTIONAL

OWNERS = {  # settings that the plan makes from these
    "training.max_steps": "steps",
    "training.patience": "patience",
    "system.seed": "seeds",
    "paths.train": "corpora",
    "paths.dev": "corpora",
    "nlp.lang": "corpora",
    "nlp.tokenizer": "corpora",
    "longtail.labels": "corpora",
    "longtail.tail": "corpora",
    "longtail.frequent": "corpora",
}
DRAWN = ("sizes", "shares")  # one of them makes draws
NEEDED = "needed"  # of steps: as many as the method takes that needs the most
PATIENCE = 400  # where steps are needed
KINDS = {"int_type": "int", "string_type": "str", "list_type": "list", "dict_type": "dict"}
ITEMS = {  # of lists, in words
    "corpora": "folders",
    "seeds": "whole numbers from 0 to 2**32 - 1",
    "sizes": "different numbers above 0",
    "shares": "different numbers above 0",
}

MOST_STEPS = 10**9  # of a training
MOST_SEEDS = 10_000
MOST_TRIALS = 100_000  # of a plan
MOST_BYTES = 1_000_000  # of a file
MOST_VALUES = 100_000  # of a plan, with aliases written out
DEEPEST = 20  # mappings and lists within each other
MOST_BRACKETS = 100

Positive = Annotated[int, Field(gt=0, le=MOST_STEPS)]
Number = Annotated[int, Field(gt=0, le=MOST_SEEDS)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Sizes = Annotated[list[Positive], Field(min_length=1)]
Share = Positive | Annotated[float, Field(gt=0)]


class PlanFile(BaseModel):
    """The fields of a plan. What it does not name has its default."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    corpora: list[str] = []
    steps: Positive | Literal["needed"] = 1000
    patience: Positive = 0
    most_steps: Positive = 4000
    seeds: Number | Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)] = 3
    grids: list[object] = []
    methods: dict[object, object] = {}
    choices: dict[object, object] = {}
    settings: dict[Any, Any] = {}
    config: str = ""
    baseline: str = ""
    sizes: Sizes = []
    shares: Annotated[list[Share], Field(min_length=1)] = []
    n_sentences: Positive = 100
    partitions: Number = 5

    @property
    def is_needed(self) -> bool:
        """Whether the number of steps is to be found out."""
        return self.steps == NEEDED

    @property
    def max_steps(self) -> int:
        """Of every training."""
        return self.most_steps if self.steps == "needed" else self.steps

    @property
    def drawn(self) -> list[str]:
        """The fields that make draws."""
        return [name for name in DRAWN if getattr(self, name)]

    @property
    def seed_list(self) -> list[int]:
        """Each once: those of partitions, where there are draws."""
        seeds = self.partitions if self.drawn else self.seeds
        return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what contradicts itself, or would be ignored."""
        names = [with_name(Path(corpus)).name for corpus in self.corpora]
        if len(set(names)) < len(names):
            raise ValueError(f"two corpora have the same name, found {', '.join(names)}.")
        lists: list[tuple[str, Sequence[float]]] = [("sizes", self.sizes), ("shares", self.shares)]
        for name, values in lists:
            if len(set(values)) < len(values):
                raise ValueError(f"{name} must be {ITEMS[name]}, found {values!r}.")
        if any(share > 1 for share in self.shares):
            raise ValueError(f"shares are parts of 1, such as 0.05, found {self.shares!r}.")
        if self.is_needed and self.drawn:
            raise ValueError(f"draws of different sizes need different steps: no steps = {NEEDED!r}.")
        if "most_steps" in self.model_fields_set and not self.is_needed:
            raise ValueError(f"most_steps would be ignored without steps: {NEEDED}.")
        for name in set(self.settings) & set(OWNERS):
            problem = f"it is what {OWNERS[name]} is for."
            raise ValueError(f"{name} would be ignored under settings: {problem}")
        if self.drawn and "seeds" in self.model_fields_set:
            raise ValueError("each partition has its own seed: leave seeds out.")
        if len(self.drawn) > 1:
            raise ValueError(f"it has {' and '.join(self.drawn)}: one study has one of them.")
        for name, owners in {"partitions": DRAWN, "n_sentences": ("shares",)}.items():
            if name in self.model_fields_set and not any(getattr(self, owner) for owner in owners):
                raise ValueError(f"{name} would be ignored without {' or '.join(owners)}.")
        return self


def read_yaml(path: Path) -> Overrides:
    """What a plan's file says, before it is checked: no more than a plan can need.

    path (Path): The file. RAISES (ValueError): L432, L470.
    """
    with coded_io(path):
        size = path.stat().st_size
        text = path.read_bytes() if size <= MOST_BYTES else b""
    if size > MOST_BYTES:
        raise unusable(path, f"it has {size:,} bytes, and a plan has {MOST_BYTES:,} at most.")
    _check_brackets(text, path)
    try:
        found = srsly.yaml_loads(text.decode("utf8"))
    except Exception as error:  # srsly's parser has many
        raise unusable(path, f"it is no YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(found, dict):
        raise unusable(path, "it holds no mapping.")
    _check_size(found, path)
    return found


def _check_brackets(text: bytes, path: Path) -> None:
    """Refuse what the parser would take seconds to give up on. RAISES (ValueError): L470."""
    steps = (1 if bracket in b"[{" else -1 for bracket in text if bracket in b"[]{}")
    if max(accumulate(steps), default=0) > MOST_BRACKETS:
        raise unusable(path, f"more than {MOST_BRACKETS} brackets are within each other.")


def _check_size(found: object, path: Path) -> None:
    """Refuse what a few lines with aliases can stand for. RAISES (ValueError): L470."""
    left = MOST_VALUES
    level = [found]
    for _ in range(DEEPEST):
        parts = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level = list(islice(chain.from_iterable(parts), left + 1))
        left -= len(level)
        if left < 0:
            raise unusable(path, f"it has more than {MOST_VALUES:,} values, aliases written out.")
        if not level:
            return
    raise unusable(path, f"more than {DEEPEST} mappings and lists are within each other.")


def read_fields(found: Overrides, path: Path) -> PlanFile:
    """Check the fields of a plan.

    found (Overrides): As the file has them. path (Path): The file.
    RAISES (ValueError): L470 for what no plan has, and what would be ignored.
    """
    try:
        fields = PlanFile.model_validate(found)
    except ValidationError as error:
        raise unusable(path, _problem(error, found)) from error
    check_settings(fields.settings, "settings", path)
    return fields


def _problem(error: ValidationError, found: Overrides) -> str:
    """What is wrong with the first field, in words."""
    errors = error.errors()
    if unknown := [f"{name}" for name in found if name not in PlanFile.model_fields]:
        return f"{', '.join(unknown)} is not one of {', '.join(PlanFile.model_fields)}."
    if not errors[0]["loc"]:
        return str(errors[0]["ctx"]["error"])
    name = str(errors[0]["loc"][0])
    own = [problem for problem in errors if problem["loc"][0] == name]
    kinds = [problem["type"] for problem in own]
    within = isinstance(found[name], dict) and any(len(problem["loc"]) > 1 for problem in own)
    is_item = any(isinstance(part, int) for p in own for part in p["loc"])
    if name in ITEMS and (within or is_item or "too_short" in kinds):
        wanted = ITEMS[name]
    elif "greater_than" in kinds:
        wanted = "above 0"
    elif {"less_than_equal", "too_long"} & set(kinds):
        most = next(
            p["ctx"][key] for p in own for key in ("le", "max_length") if key in p.get("ctx", {})
        )
        wanted = f"at most {most:,}"
    else:
        wanted = " or ".join(KINDS.get(kind, repr(NEEDED)) for kind in kinds)
    shown = repr(found[name])
    return (
        f"{name} must be {wanted}, found {shown if len(shown) <= LONGEST else shown[:LONGEST] + '...'}."
    )


def unusable(path: Path, problem: str) -> ValueError:
    """L470, of a plan."""
    return ValueError(Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md has the form."))


def check_settings(settings: Mapping[object, object], where: str, path: Path) -> None:
    """Refuse settings that are not by dotted name. RAISES (ValueError): L470."""
    for name, value in settings.items():
        if name == OPTIONAL and isinstance(value, dict):
            check_settings(value, f"{OPTIONAL} of {where}", path)
        elif name == LAST and isinstance(value, list) and all(isinstance(own, str) for own in value):
            continue
        elif not (isinstance(name, str) and all(name.split(".")) and "." in name):
            raise unusable(path, f"{where} must be values by dotted name, found {name!r}.")


def beside(path: Path, name: str) -> Path | None:
    """A path of a plan: from the current folder, or else from the plan's; null of none."""
    if not name or Path(name).is_file():
        return Path(name) if name else None
    return path.parent / name


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)
