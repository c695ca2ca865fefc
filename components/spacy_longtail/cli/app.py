"""The typer app, and what commands share."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import parse_config_overrides
from typer import Argument, Option
from typer.core import TyperCommand

from ..errors import Errors
from ..output.amounts import percent
from ..output.console import echo
from ..output.tables import text_table
from ..training.startup import import_code
from ..types import Overrides
from ..unlabelled.measuring import MeasuredPipeline
from .boundary import Program, marked, version_line

app = typer.Typer(
    name="spacy_longtail",
    help="NER for rare types: convert a corpus, look at it, train, evaluate, report.",
    cls=Program,
    pretty_exceptions_enable=False,
)

RENAMED = {"--products": "--matmul", "--cap": "--max-mentions"}  # options, since version 0.3


class WithEarlierNames(TyperCommand):
    """A command whose options answer to their earlier names, too, with a warning."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Replace earlier names. args (list[str]): What was typed after the command's name."""
        today = {option for parameter in self.params for option in parameter.opts}
        for i, argument in enumerate(args):
            earlier, equals, value = argument.partition("=")
            name = RENAMED.get(earlier)
            if name in today:
                echo(f"{earlier} is now {name}. Version 0.4 will not know {earlier}.", err=True)
                args[i] = f"{name}{equals}{value}"
        return super().parse_args(ctx, args)


# what `--help` groups commands by
CORPUS_PANEL = "Your corpus"
TRAINING_PANEL = "Train and evaluate"
PIPELINE_PANEL = "A trained pipeline"
METHOD_PANEL = "Which method?"
UNLABELLED_PANEL = "Text without labels"
KNOWLEDGE_PANEL = "Knowledge from elsewhere"


Corpus = Annotated[Path, Argument(help="A folder that `convert` wrote.")]
Json = Annotated[bool, Option("--json", help="Print JSON for machines.")]


def _import_code(path: Path | None) -> None:
    if path is not None:
        import_code(path)


Code = Annotated[
    Path | None, Option("--code", "-c", callback=_import_code, help="Python file with code of your own.")
]
GpuId = Annotated[int, Option(min=-1, help="GPU to use, -1 for the CPU.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{version_line()}\n")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, Option("--version", help="Print versions.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Print the traceback of an error, too.")] = False,
) -> None:
    """NER for rare types: convert a corpus, look at it, train, evaluate, report."""


def config_overrides(context: typer.Context) -> Overrides:
    """Config values, as --training.max_steps 500. context (typer.Context): Of the command."""
    return parse_config_overrides(list(context.args))


def refuse_given(context: typer.Context, names: Sequence[str], problem: str) -> None:
    """Refuse options of a command line that would be ignored.

    names (Sequence[str]): Names of the command's parameters. problem (str): Says why.
    RAISES (ValueError): If one of them was given.
    """
    options = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ValueError(Errors.L420.format(name=options[name].lstrip("-"), problem=problem))


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> None:
    """Print a table. aligns (str): l or r for each column; else all but the first are numbers."""
    sys.stdout.write(text_table(head, rows, aligns) + "\n")


def print_measured(systems: Sequence[MeasuredPipeline], part: str) -> None:
    """Print scores, speed and size of pipelines. part (str): Of the corpus they are measured on."""
    rows = []
    for row in systems:
        speed = f"{row.words_per_second:,.0f}", f"{row.speed_ratio:.2f}", f"{row.megabytes:.1f}"
        rows.append((row.name, row.model, *map(percent, (row.macro, row.tail, row.micro)), *speed))
    scores = (f"macro F1 on {part}", "tail F1", "micro F1")
    head = ("", "pipeline", *scores, "words/s", f"times {systems[0].name}", "MB on disk")
    print_table(head, rows, "ll" + "r" * 6)


@contextmanager
def for_json(as_json: bool) -> Iterator[None]:
    """Where trainings run: what spaCy prints of them goes to stderr, if stdout is for JSON."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield


def say(text: str) -> None:
    """Print progress on stderr: stdout may be for JSON."""
    sys.stderr.write(f"{marked('info', text)}\n")


def print_json(data: object) -> None:
    """Print what a program is to read. data (object): What JSON has."""
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
