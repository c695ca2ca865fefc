"""Records: what JSON files hold, as pydantic models, and what is wrong with a file, in words."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import Errors

LONGEST = 60  # characters of a value that a message shows

Number = int | float  # 1 stays 1, and 1.0 stays 1.0


class Record(BaseModel):
    """A JSON object with known keys. Others are left out. Nothing is converted, as "1" to 1."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """JSON data: the keys that were given, in their order."""
        return self.model_dump(exclude_unset=True)


class PRF(Record):
    """Precision, recall and F1 in [0, 1]."""

    p: float
    r: float
    f: float


Kept = TypeVar("Kept", bound=Record)


def read_record(kind: type[Kept], path: Path, command: str) -> Kept:
    """Read what a command wrote. command (str): Its name."""
    problem = "there is no such file"
    if path.is_file():
        try:
            return kind.model_validate_json(path.read_bytes())
        except ValidationError as error:
            problem = problem_of(error)
    raise ValueError(Errors.L405.format(path=path, problem=problem, command=command))


def problem_of(error: ValidationError, subject: str = "the file") -> str:
    """What keeps data from being a record, in words.

    RETURNS (str): The problem that is nearest to the top, with its place and what was found there.
    """
    first = min(error.errors(), key=lambda problem: len(problem["loc"]))
    place = ", ".join([subject, *map(repr, first["loc"])])
    value = repr(first["input"])
    shown = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
    return f"{place}: {first['msg']}" + ("" if first["type"] == "missing" else f", found {shown}")
