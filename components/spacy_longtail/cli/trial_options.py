"""Options that the commands of trials share: `matrix`, `tune`, `recommend`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .app import MOST_PROCESSES

Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for records and report; a run there is resumed.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="SECTION.NAME=VALUE for every config; repeatable.")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Training steps of every trial.")]
Workers = Annotated[int, typer.Option(min=1, max=MOST_PROCESSES, help="Trials at a time.")]
Minutes = Annotated[float | None, typer.Option(min=0.01, help="Time limit of a trial.")]
Retry = Annotated[bool, typer.Option(help="Run trials again that failed or ran out of time.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List what would run; run nothing.")]


def read_settings(given: Sequence[str]) -> dict[str, object]:
    """SECTION.NAME=VALUE of the command line: JSON where a value can be read as it, else text."""
    found = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not (separator and "." in name):
            raise typer.BadParameter(f"--set takes SECTION.NAME=VALUE, found {text!r}.")
        try:
            found[name] = json.loads(value, parse_constant=_no_number)
        except (ValueError, RecursionError):
            found[name] = value
    return found


def _no_number(text: str) -> None:
    """NaN and Infinity, which JSON does not have."""
    raise ValueError(text)


def read_numbers(option: str, text: str | None) -> list[int] | None:
    """Numbers of the command line, separated by commas; null of none."""
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{option} takes numbers such as 20,50, found {text!r}.") from error
