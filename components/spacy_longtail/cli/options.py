"""Options that several commands share, and how their texts are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import srsly
import typer
from typer import Argument, Option

from ..corpus.formats.options import Misaligned, Offsets
from ..types import Overrides

LARGEST_SEED = 2**32 - 1
MOST_PROCESSES = 1024

Seed = Annotated[int, Option(min=0, max=LARGEST_SEED, help="Fixes what is drawn by lot.")]
Workers = Annotated[int | None, Option(min=1, max=MOST_PROCESSES, help="Trials at a time.")]

# of commands that train by a plan: `matrix`, `tune`, `recommend`
Output = Annotated[Path, Option("--output", "-o", help="Folder for results; a run there is resumed.")]
Set = Annotated[list[str] | None, Option("--set", help="SECTION.NAME=VALUE of each config; repeatable.")]
Steps = Annotated[int | None, Option(min=1, help="Training steps of every trial.")]
Minutes = Annotated[float | None, Option(min=0.01, help="Time limit of a trial.")]
Retry = Annotated[bool, Option(help="Run trials again that failed or ran out of time.")]
DryRun = Annotated[bool, Option("--dry-run", help="List what would run; run nothing.")]

# of commands that read annotation: `convert`, `merge`
Misalignment = Annotated[
    Misaligned | None,
    Option(help="Handling of spans that start or end inside a token.", show_default="missing"),
]
OffsetUnit = Annotated[
    Offsets | None, Option(help="Unit of the character offsets.", show_default="detected")
]
Allow = Annotated[
    bool, Option("--allow", help="Accept the loss of more than a twentieth of the annotations.")
]

# of commands that read text without labels: `mine`, `distil`
Pool = Annotated[Path, Argument(help="Text: .txt, .jsonl, .spacy, a folder of files.")]
PoolFormat = Annotated[str | None, Option(help="As --format of `convert`, if not found.")]
Encoding = Annotated[str, Option(help="Encoding of text files, such as cp1252.")]
Split = Annotated[bool, Option("--split", help="Cut texts into sentences, where the pipeline does not.")]
BatchSize = Annotated[int, Option(min=1, help="Texts at a time.")]


def given_options(**options: object) -> dict[str, object]:
    """Return the options of a format that were given: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _processes(n: int) -> int:
    if n == 0 or n < -1 or n > MOST_PROCESSES:
        limits = f"from 1 to {MOST_PROCESSES}, or -1 for one per core"
        raise typer.BadParameter(f"--n-process is {limits}.")
    return n


Processes = Annotated[int, Option(help="Pipelines at a time; -1 is one per core.", callback=_processes)]


def read_settings(given: Sequence[str] | None) -> Overrides:
    """SECTION.NAME=VALUE of the command line: JSON where a value can be read as it, else text."""
    settings: dict[str, object] = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not (separator and "." in name):
            raise typer.BadParameter(f"--set takes SECTION.NAME=VALUE, found {text!r}.")
        try:
            settings[name] = srsly.json_loads(value)
        except ValueError:
            settings[name] = value
    return settings


def read_pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read NAME=VALUE of the command line, each name once."""
    pairs: dict[str, str] = {}
    for text in given or ():
        name, _, value = (side.strip() for side in text.partition("="))
        if not (name and value) or name in pairs:
            raise typer.BadParameter(f"{option} takes NAME=VALUE, each name once, found {text!r}.")
        pairs[name] = value
    return pairs


def read_numbers(option: str, text: str | None) -> list[int] | None:
    """Numbers of the command line, separated by commas; null of none."""
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{option} takes numbers such as 20,50, found {text!r}.") from error


def read_names(option: str, text: str | None) -> tuple[str, ...]:
    """Names of the command line, separated by commas, each once; none of null."""
    names = tuple(name for part in (text or "").split(",") if (name := part.strip()))
    if text is not None and len(names) != max(1, len({*names})):
        raise typer.BadParameter(f"{option} takes names, each once, found {text!r}.")
    return names
