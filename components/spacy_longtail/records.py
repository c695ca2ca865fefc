"""Records: pydantic models of JSON files, and messages about wrong files."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import Errors

MAX_SHOWN = 60  # characters of a value in a message

Number = int | float  # 1 stays 1, and 1.0 stays 1.0


class Record(BaseModel):
    """JSON object with known keys. Other keys are ignored, and no value is converted."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """Return the keys that were given as JSON data, in their order."""
        return self.model_dump(exclude_unset=True)


class PRF(Record):
    """Precision, recall and F1 in [0, 1]."""

    p: float
    r: float
    f: float


Kept = TypeVar("Kept", bound=Record)


def read_record(kind: type[Kept], path: Path, command: str) -> Kept:
    """Return the record in a file that a command wrote.

    kind (type): Kind of record.
    path (Path): The file.
    command (str): Name of the command, for the message.
    RAISES (ValueError): L405 if the file is missing or wrong.
    """
    problem = "there is no such file"
    if path.is_file():
        try:
            return kind.model_validate_json(path.read_bytes())
        except ValidationError as error:
            problem = problem_of(error)
    raise ValueError(Errors.L405.format(path=path, problem=problem, command=command))


def problem_of(error: ValidationError, subject: str = "the file") -> str:
    """Return what is wrong with data, for a message.

    error (ValidationError): The error that a record raised.
    subject (str): Name of the data.
    RETURNS (str): The problem nearest to the top, with its place and the value there.
    """
    first = min(error.errors(), key=lambda problem: len(problem["loc"]))
    place = ", ".join([subject, *map(repr, first["loc"])])
    value = repr(first["input"])
    shown = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}..."
    return f"{place}: {first['msg']}" + ("" if first["type"] == "missing" else f", found {shown}")
