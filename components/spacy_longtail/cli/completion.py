"""Completion of `longtail` by a shell: typer's, for the program that has a name of its own."""

import os
import sys
from typing import Literal

import typer
from typer.completion import completion_init, shell_complete

PROGRAM = "longtail"  # a shell completes what a word names, and `python -m` is no word
VARIABLE = "_LONGTAIL_COMPLETE"  # in which a shell says what it wants to know
Shell = Literal["bash", "zsh", "fish", "powershell"]


def answer(program: object) -> None:
    """Answer a shell, if it is one that asks. program (TyperGroup): With all commands.

    RAISES (SystemExit): After an answer.
    """
    if question := os.environ.get(VARIABLE):
        _run(program, question)


def show_script(context: typer.Context, shell: Shell | None) -> None:
    """Print what a shell has to read once. RAISES (SystemExit): Afterwards.

    context (Context): Of the program. shell (Optional[str]): Which; null prints nothing.
    """
    if shell is not None and not context.resilient_parsing:
        _run(context.command, f"source_{shell}")


def _run(program: object, instruction: str) -> None:
    completion_init()
    sys.exit(shell_complete(program, {}, PROGRAM, VARIABLE, instruction))  # type: ignore[arg-type]
