"""The classes of the program and of its commands: the boundary around them, checks of all options."""

import math
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import Errors
from .boundary import boundary
from .completion import PROGRAM, answer
from .suggestions import unknown_command

Function = TypeVar("Function", bound=Callable[..., None])
LARGEST = 2**63 - 1  # a whole number that numpy holds


class Program(TyperGroup):
    """The program: its commands run within the boundary."""

    def main(self, args: Sequence[str] | None = None, *given: object, **settings: object) -> NoReturn:
        """Run a command. args (Optional[Sequence[str]]): What was typed; null takes sys.argv's.

        RAISES (SystemExit): Always.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        name = settings.get("prog_name") or "python -m spacy_longtail"
        if name == PROGRAM:
            answer(self)
        with boundary(arguments), self.make_context(str(name), list(arguments) or ["--help"]) as context:
            self.invoke(context)
        sys.exit(0)

    def resolve_command(self, ctx, args):  # type: ignore[no-untyped-def]  # of typer's click, or click's
        """The command that is named. RAISES (ValueError): L545 with what may have been meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            fix = unknown_command(name, self.commands)
            raise ValueError(Errors.L545.format(problem=f"There is no command {name!r}.", fix=fix))
        return super().resolve_command(ctx, args)


class Command(TyperCommand):
    """A command, whose numbers are numbers."""

    def parse_args(self, ctx, args):  # type: ignore[no-untyped-def]  # of typer's click, or click's
        """Read the options. RAISES (ValueError): L547 for nan, inf and what is too large."""
        rest = super().parse_args(ctx, args)
        for param in self.params:
            _check_number(max(param.opts, key=len), ctx.params.get(param.name))
        return rest


def _check_number(option: str, value: object) -> None:
    """Refuse what a least and a largest value let pass. RAISES (ValueError): L547."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(Errors.L547.format(name=option, found=value))
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(Errors.L547.format(name=option, found=str(value)[:40]))


class App(typer.Typer):
    """A typer app whose commands are `Command`s."""

    def command(self, name: str | None = None, **settings: object) -> Callable[[Function], Function]:
        """Add a command; the arguments are typer's."""
        return super().command(name, cls=Command, **settings)  # type: ignore[arg-type]
