"""Options that several commands have in common, and functions that parse their values."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ..corpus.formats.options import Misaligned, Offsets
from ..errors import Errors
from ..settings import parse_pairs
from ..studies.trials.plan_file import GivenFieldError
from ..training.provenance import from_override
from ..types import Overrides

MAX_SEED = 2**32 - 1
MAX_PROCESSES = 1024

Seed = Annotated[int, Option(min=0, max=MAX_SEED, help="Random seed.")]
Workers = Annotated[
    int | None, Option(min=1, max=MAX_PROCESSES, help="Number of trials that run at the same time.")
]

# of commands that train
Output = Annotated[
    Path, Option("--output", "-o", help="Folder for the results. A run in this folder is resumed.")
]
Set = Annotated[
    list[str] | None,
    Option("--set", help="Override a setting of the config: SECTION.NAME=VALUE. Repeatable."),
]
# of commands that run trials: `matrix`, `tune`, `recommend`
Steps = Annotated[int | None, Option(min=1, help="Number of training steps of each trial.")]
Minutes = Annotated[float | None, Option(min=0.01, help="Time limit of each trial, in minutes.")]
Retry = Annotated[
    bool,
    Option(
        help="Repeat trials that failed or exceeded their time limit. Trials that ran out of time are "
        "also repeated without it if --minutes is larger."
    ),
]
DryRun = Annotated[bool, Option("--dry-run", help="List the trials without running them.")]

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
Pool = Annotated[
    Path, Argument(help="Unlabelled text: a .txt, .jsonl or .spacy file, or a folder of such files.")
]
PoolFormat = Annotated[
    str | None,
    Option(help="Format of the pool, as in `convert --format`.", show_default="detected"),
]
Encoding = Annotated[str, Option(help="Encoding of text files, such as cp1252.")]
Split = Annotated[
    bool,
    Option("--split", help="Split texts into sentences if the pipeline does not set boundaries."),
]
BatchSize = Annotated[int, Option(min=1, help="Number of texts in a batch.")]


def given_options(**options: object) -> dict[str, object]:
    """Return the options that were given, that is, are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _processes(n: int) -> int:
    if n == 0 or n < -1 or n > MAX_PROCESSES:
        raise BadParameter(f"--n-process is from 1 to {MAX_PROCESSES}, or -1 for one per core.")
    return n


Processes = Annotated[
    int, Option(help="Number of processes, or -1 for one per core.", callback=_processes)
]


def read_settings(given: Sequence[str] | None) -> Overrides:
    """Parse SECTION.NAME=VALUE of the command line.

    given (Optional[Sequence[str]]): Texts of --set.
    RETURNS (dict[str, object]): Value of each setting: parsed as JSON if possible, else the text.
    RAISES (typer.BadParameter): If a text has no "=" or its name no ".".
    """
    settings: dict[str, object] = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not (separator and "." in name):
            raise BadParameter(f"--set takes SECTION.NAME=VALUE, found {text!r}.")
        settings[name] = from_override(value)
    return settings


def read_pairs(
    option: str,
    given: Sequence[str] | None,
    convert: Callable[[str], Any] = str,
    form: str = "NAME=VALUE",
) -> dict[str, Any]:
    """Parse NAME=VALUE of the command line.

    option (str): Name of the option, for messages.
    given (Optional[Sequence[str]]): Texts of the option.
    convert (Callable[[str], Any]): Converts a value, or raises ValueError.
    form (str): Form of a text, for messages.
    RETURNS (dict[str, Any]): Value of each name.
    RAISES (typer.BadParameter): If a name or value is missing, or a name is repeated.
    """
    try:
        return parse_pairs(given or (), convert)
    except ValueError as error:
        raise BadParameter(
            f"{option} takes {form}, each name once, found {' '.join(given or ())!r}."
        ) from error


def read_numbers(option: str, text: str | None) -> list[int] | None:
    """Parse whole numbers of the command line, separated by commas.

    option (str): Name of the option, for messages.
    text (Optional[str]): Text of the option.
    RETURNS (Optional[list[int]]): The numbers, or None if the option was not given.
    RAISES (typer.BadParameter): If one is not a whole number.
    """
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        raise BadParameter(f"{option} takes numbers such as 20,50, found {text!r}.") from error


@contextmanager
def naming_options() -> Iterator[None]:
    """Name the option in an error of a plan's field that an option gives.

    RAISES (ValueError): L581 instead of a GivenFieldError. The corpora are arguments and keep it.
    """
    try:
        yield
    except GivenFieldError as error:
        if error.field == "corpora":
            raise
        option = "set" if error.field == "settings" else error.field
        given = ",".join(map(str, error.given)) if isinstance(error.given, list) else error.given
        problem = error.problem.removesuffix(".")
        raise ValueError(Errors.L581.format(option=option, given=given, problem=problem)) from error


def read_names(option: str, text: str | None) -> tuple[str, ...]:
    """Parse names of the command line, separated by commas.

    option (str): Name of the option, for messages.
    text (Optional[str]): Text of the option.
    RETURNS (tuple[str, ...]): The names, or an empty tuple if the option was not given.
    RAISES (typer.BadParameter): If no name is given or one is repeated.
    """
    names = tuple(name for part in (text or "").split(",") if (name := part.strip()))
    if text is not None and len(names) != max(1, len({*names})):
        raise BadParameter(f"{option} takes names, each once, found {text!r}.")
    return names
