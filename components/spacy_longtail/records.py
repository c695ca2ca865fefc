"""Records: what JSON files hold, as pydantic models, and what is wrong with a file, in words."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from .errors import Errors

LONGEST = 60  # characters of a value that a message shows
NOT_A_NUMBER = ("float_type", "int_type", "int_from_float", "finite_number")
JSON_TYPES = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a text",
    "tuple_type": "a list",
}


class Record(BaseModel):
    """A JSON object with known keys. Others are left out, and nothing is converted: "1" is no number."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """JSON data: the keys that were given, in their order."""
        return self.model_dump(exclude_unset=True)


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


def _as_number(value: object) -> int | float:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    raise PydanticCustomError("number", "is not a number")


Number = Annotated[int | float, PlainValidator(_as_number)]  # 1 stays 1, and 1.0 stays 1.0


def problem_of(error: ValidationError, subject: str = "the file") -> str:
    """What keeps data from being a record, in words.

    RETURNS (str): The problem that is nearest to the top, with its place and what was found there.
    """
    first = min(error.errors(), key=lambda own: len(own["loc"]))
    if first["type"] == "json_invalid":
        return f"it is not JSON ({first['ctx']['error']})"
    *above, last = first["loc"] or ("",)
    if first["type"] == "missing":
        return f"{_place(subject, above)} lacks {last!r}"
    return f"{_place(subject, first['loc'])} {_fault(first)}"


def _place(subject: str, keys: Iterable[int | str]) -> str:
    return ", ".join([subject, *map(repr, keys)])


def _fault(error: ErrorDetails) -> str:
    kind, found = error["type"], repr(error["input"])
    if kind in NOT_A_NUMBER:
        fault = "is not a number"
    elif kind in JSON_TYPES:
        fault = f"is not {JSON_TYPES[kind]}"
    else:
        fault = error["msg"].removeprefix("Input ")
    return f"{fault}, found {found if len(found) <= LONGEST else found[:LONGEST] + '...'}"
