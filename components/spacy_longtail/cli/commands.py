"""The class of the program: the boundary around its commands."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from typer.core import TyperGroup

from .boundary import boundary


class Program(TyperGroup):
    """The program: its commands run within the boundary."""

    def main(self, args: Sequence[str] | None = None, *given: object, **settings: object) -> NoReturn:
        """Run a command. args (Optional[Sequence[str]]): What was typed; null takes sys.argv's.

        RAISES (SystemExit): Always.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        name = str(settings.get("prog_name") or "python -m spacy_longtail")
        self._main_shell_completion({}, name)
        with boundary(arguments), self.make_context(name, list(arguments) or ["--help"]) as context:
            self.invoke(context)
        sys.exit(0)
