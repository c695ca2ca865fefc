"""The typer app, the arguments that commands have in common, and functions that print results."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Exit, Option, Typer
from typer.core import TyperCommand

from ..aliases import OPTIONS
from ..errors import Errors
from ..evaluation.measuring import MeasuredPipeline
from ..output.console import echo, percent, text_table
from ..training.startup import import_code, use_gpu
from .boundary import Program, marked, version_line

app = Typer(
    name="spacy_longtail",
    help="NER for rare entity types: convert and inspect a corpus, train, evaluate and report.",
    cls=Program,
    pretty_exceptions_enable=False,
)


class WithEarlierNames(TyperCommand):
    """Command that accepts earlier names of its options as well, with a warning."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Replace earlier names of options, then parse the arguments.

        ctx (Context): Context of the command.
        args (list[str]): Arguments after the command's name; changed in place.
        RETURNS (list[str]): Arguments that the command's parameters did not consume.
        """
        renamed = OPTIONS[str(self.name)]
        for i, argument in enumerate(args):
            earlier, equals, value = argument.partition("=")
            if name := renamed.get(earlier):
                echo(f"{earlier} is now {name}. Version 0.4 will not accept {earlier}.", err=True)
                args[i] = f"{name}{equals}{value}"
        return super().parse_args(ctx, args)


# headings under which `--help` lists the commands
CORPUS_PANEL = "Your corpus"
TRAINING_PANEL = "Train and evaluate"
PIPELINE_PANEL = "A trained pipeline"
METHOD_PANEL = "Which method?"
UNLABELLED_PANEL = "Text without labels"
KNOWLEDGE_PANEL = "Knowledge from elsewhere"


Corpus = Annotated[Path, Argument(help="Folder of a converted corpus.")]
Json = Annotated[bool, Option("--json", help="Print the results as JSON.")]


def _import_code(path: Path | None) -> None:
    if path is not None:
        import_code(path)


Code = Annotated[
    Path | None,
    Option("--code", "-c", callback=_import_code, help="Python file to import, with your own code."),
]
GPU = "ID of the GPU, or -1 for the CPU."
GpuId = Annotated[int, Option(min=-1, help=GPU)]


def _use_gpu(gpu_id: int) -> int:
    use_gpu(gpu_id)
    return gpu_id


# of commands that compute in this process, whatever their other options are
Gpu = Annotated[int, Option(min=-1, callback=_use_gpu, help=GPU)]


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{version_line()}\n")
        raise Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        Option(
            "--version",
            help="Print the versions of spacy-longtail, spaCy and Python.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Print the traceback of an error as well.")] = False,
) -> None:
    """NER for rare entity types: convert and inspect a corpus, train, evaluate and report."""


def refuse_given(context: Context, names: Sequence[str], problem: str) -> None:
    """Refuse options of the command line that would be ignored.

    context (Context): Context of the command.
    names (Sequence[str]): Names of the command's parameters.
    problem (str): Reason why they would be ignored, for the message.
    RAISES (ValueError): If one of them was given.
    """
    options = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ValueError(Errors.L420.format(name=options[name].lstrip("-"), problem=problem))


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> None:
    """Print a table.

    head (Sequence[str]): Headings of the columns.
    rows (Sequence[Sequence[object]]): Cells of each row.
    aligns (str): "l" or "r" for each column. By default the first column is aligned left and all
        others right.
    """
    sys.stdout.write(text_table(head, rows, aligns) + "\n")


def print_measured(systems: Sequence[MeasuredPipeline], part: str) -> None:
    """Print the scores, speed and size of pipelines.

    systems (Sequence[MeasuredPipeline]): Pipelines; speeds are relative to the first one's.
    part (str): Part of the corpus on which they were measured.
    """
    rows = [
        (
            row.name,
            row.model,
            percent(row.macro),
            percent(row.tail),
            percent(row.micro),
            f"{row.words_per_second:,.0f}",
            f"{row.speed_ratio:.2f}",
            f"{row.megabytes:.1f}",
        )
        for row in systems
    ]
    head = (
        "",
        "pipeline",
        f"macro F1 on {part}",
        "tail F1",
        "micro F1",
        "words/s",
        f"times {systems[0].name}",
        "MB on disk",
    )
    print_table(head, rows, "ll" + "r" * 6)


def say(text: str) -> None:
    """Print progress on stderr, because stdout may be for JSON.

    text (str): One line.
    """
    sys.stderr.write(f"{marked('info', text)}\n")


def print_json(data: object) -> None:
    """Print data as JSON.

    data (object): Dicts, lists, strings, numbers, bools and None.
    """
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
