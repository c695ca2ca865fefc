"""The typer app, and what commands share."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from wasabi import Printer, msg, table

app = typer.Typer(
    name="spacy_longtail",
    help="NER for rare types: convert a corpus, look at it, train, evaluate, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# what `--help` groups commands by
CORPUS_PANEL = "Your corpus"
TRAINING_PANEL = "Train and evaluate"
PIPELINE_PANEL = "A trained pipeline"
METHOD_PANEL = "Which method?"
UNLABELLED_PANEL = "Text without labels"
KNOWLEDGE_PANEL = "Knowledge from elsewhere"

TEXT = Printer(no_print=True)  # gives texts, for stderr

Corpus = Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
GpuId = Annotated[int, typer.Option(min=-1, help="GPU to use, -1 for the CPU.")]


@contextmanager
def coded_errors() -> Iterator[None]:
    """Coded errors end a command with a message and exit code 1, not with a traceback.

    Coded warnings are messages too, without the line of code they come from.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _shown(warnings.showwarning)
        try:
            yield
        except ValueError as error:
            msg.fail(str(error), exits=1)


def _shown(as_usual: Callable[..., None]) -> Callable[..., None]:
    def show(message: Warning | str, *place: object) -> None:
        if str(message).startswith("[LW"):
            sys.stderr.write(f"{TEXT.warn(str(message))}\n")
        else:
            as_usual(message, *place)

    return show


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> None:
    """Print a table. aligns (str): l or r for each column; else all but the first are numbers."""
    sides = tuple(aligns or "l" + "r" * (len(head) - 1))
    sys.stdout.write(table(rows, header=head, divider=True, aligns=sides) + "\n")


def names_in(text: str | None) -> tuple[str, ...]:
    """The names that an option gives, separated by commas."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))
