"""The typer app, and what commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

app = typer.Typer(
    name="spacy_longtail",
    help="NER for rare types: convert a corpus, look at it, train, evaluate, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Corpus = Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
GpuId = Annotated[int, typer.Option(help="GPU to use, -1 for the CPU.")]


@contextmanager
def coded_errors() -> Iterator[None]:
    """Coded errors end a command with a message and exit code 1, not with a traceback."""
    try:
        yield
    except ValueError as error:
        msg.fail(str(error), exits=1)
