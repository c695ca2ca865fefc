"""Boundary around all commands: turns errors and signals into messages and exit codes."""

import os
import platform
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import click
import typer
from typer.core import TyperGroup
from wasabi import Printer

from ..about import __version__
from ..errors import Errors
from ..faults import is_coded, is_out_of_memory, message_of, raised_in
from ..output.console import any_console, number
from ..training.startup import end_processes

if TYPE_CHECKING:
    from ..studies.trials.record import TrialRecord

FAILED = 1  # the command found a fault in its input
REFUSED = 2  # the command cannot work with its input
BUG = 70  # the command has a bug itself (L546); EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # as shells do: 128 + SIGINT
CLOSED = 141  # the reader of stdout has closed it: 128 + SIGPIPE

PROGRAM = "python -m spacy_longtail"
STOPPED = "Interrupted. Finished results are kept. Commands that can resume start from them."
TEXT = Printer(no_print=True)  # formats texts, for stderr
# typer may bundle its own click, whose classes differ from those that spaCy raises
USAGE = (click.ClickException, typer.BadParameter.__mro__[2])
SETTINGS = ("confection", "catalogue", "pydantic")  # their errors name a setting or a function
PARSERS = ("configparser", "json.decoder", "_csv", "srsly", "yaml")
PRINTERS = ("wasabi", "click", "typer", "rich")  # they print the reason before they exit
SPACY = re.compile(r"\[E(?!109\])\d+\]")  # codes of spaCy; E109 can be any KeyError in a component


class Program(TyperGroup):
    """Program whose commands run within the boundary."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in self.commands.values():  # typer keeps the line breaks of docstrings
            paragraphs = (command.help or "").split("\n\n")
            command.help = "\n\n".join(" ".join(text.split()) for text in paragraphs)

    def main(self, args: Sequence[str] | None = None, *given: object, **settings: object) -> NoReturn:
        """Run a command and exit.

        args (Optional[Sequence[str]]): Arguments after the program's name. By default, those of
            sys.argv.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        name = str(settings.get("prog_name") or PROGRAM)
        self._main_shell_completion({}, name)
        with (
            any_console(),
            boundary(arguments),
            self.make_context(name, list(arguments) or ["--help"]) as context,
        ):
            self.invoke(context)
        sys.exit(0)


@contextmanager
def boundary(arguments: Sequence[str]) -> Iterator[None]:
    """Run a command, and exit with a message if an error or a signal ends it.

    Warnings with a code are printed as messages as well, without the line of code that raised them.

    arguments (Sequence[str]): Arguments after the program's name.
    RAISES (SystemExit): If the command does not succeed.
    """
    is_debugging = "--debug" in arguments[:1] or bool(os.environ.get("SPACY_LONGTAIL_DEBUG"))
    with warnings.catch_warnings(), ExitStack() as afterwards:
        warnings.showwarning = partial(_show_warning, warnings.showwarning)
        # treat SIGTERM like Ctrl-C, so that half-written files are removed
        before = signal.signal(signal.SIGTERM, _interrupt)
        afterwards.callback(signal.signal, signal.SIGTERM, before)
        try:
            yield
            sys.stdout.flush()
        except typer.Exit as stopped:
            sys.exit(stopped.exit_code)
        except (KeyboardInterrupt, typer.Abort):
            _end("warn", STOPPED, INTERRUPTED)
        except BrokenPipeError:
            _drop_output()
            sys.exit(CLOSED)
        except SystemExit as stopped:
            if isinstance(stopped.__context__, BrokenPipeError):  # rich exits if stdout is closed
                sys.exit(CLOSED)
            if (module := raised_in(stopped)).startswith(PRINTERS):  # it has printed the reason
                sys.exit(REFUSED if stopped.code else 0)
            given = "" if stopped.code is None else repr(stopped.code)
            _end("fail", Errors.L851.format(call=f"sys.exit({given})", module=module), REFUSED)
        except Exception as error:
            message = refusal(error, arguments)
            if message is None or is_debugging:
                sys.stderr.write("".join(traceback.format_exception(error)))
            if message is None:
                what = f"{type(error).__name__}: {message_of(error)}"
                _end("fail", Errors.L546.format(what=what, versions=version_line()), BUG)
            _end("fail", message, REFUSED)


def refusal(error: Exception, arguments: Sequence[str] = ()) -> str | None:
    """Return the message for an error that a user can cause.

    error (Exception): Error that ended the command.
    arguments (Sequence[str]): Arguments of the command line; the message names their paths.
    RETURNS (Optional[str]): The message, or None for an error that is a bug.
    """
    if is_coded(error):
        return str(error)
    if isinstance(error, USAGE):
        usage = cast(click.UsageError, error)
        text = " ".join(usage.format_message().split()).rstrip(".").removeprefix("Invalid value: ")
        command = usage.ctx.command_path if usage.ctx else PROGRAM
        return Errors.L852.format(problem=f"{text}.", command=command)
    if is_out_of_memory(error):
        return Errors.L853.format(problem=f": {error}".rstrip(": ."))
    problem, inputs = message_of(error), _inputs(arguments)
    if SPACY.match(problem):
        message = Errors.L858 if problem.startswith("[E088]") else Errors.L857
        return message.format(problem=problem, inputs=inputs)
    if isinstance(error, OSError):
        if error.filename is not None:
            return Errors.L432.format(path=error.filename, problem=error.strerror or problem)
        if error.strerror:  # such as a full disk, when stdout is a file
            _drop_output()
        return Errors.L854.format(problem=problem, inputs=inputs)
    modules = {type(error).__module__, raised_in(error) if isinstance(error, ValueError) else ""}
    if any(module.startswith(SETTINGS) for module in modules):
        return Errors.L855.format(problem=problem, inputs=inputs)
    if isinstance(error, UnicodeError) or any(module.startswith(PARSERS) for module in modules):
        return Errors.L856.format(problem=problem, inputs=inputs)
    return None


def _inputs(arguments: Sequence[str]) -> str:
    """Return the files and folders among the arguments, for a message."""
    values = (argument.rpartition("=")[2] for argument in arguments)
    paths = [value for value in values if value and os.path.exists(value)]
    return ", ".join(paths) or "the command's files"


def version_line() -> str:
    """Return the versions of this package, spaCy and Python."""
    return f"spacy-longtail {__version__}, spaCy {version('spacy')}, Python {platform.python_version()}"


def marked(kind: Literal["fail", "warn", "info"], text: str) -> str:
    """Return a message with the symbol of its kind, on one line so that paths can be copied.

    kind (Literal["fail", "warn", "info"]): Kind of message.
    text (str): The message.
    RETURNS (str): Symbol and message.
    """
    return f"{getattr(TEXT, kind)('')} {text}"


def _end(kind: Literal["fail", "warn"], message: str, code: int) -> NoReturn:
    with suppress(OSError, ValueError):  # a stderr that is closed
        sys.stderr.write(f"{marked(kind, message)}\n")
        sys.stderr.flush()
    sys.exit(code)


def _drop_output() -> None:
    """Redirect stdout to the null device, so that Python can flush it at exit without an error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(_: int, frame: object) -> NoReturn:
    """End the processes of `nlp.pipe`, then interrupt the command."""
    end_processes()
    raise KeyboardInterrupt


if hasattr(os, "register_at_fork"):  # spaCy's forked processes must end at once when terminated
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _show_warning(as_usual: Callable[..., None], message: Warning | str, *place: object) -> None:
    """Print a warning with a code as a message, and any other one as usual."""
    if is_coded(str(message)):
        sys.stderr.write(f"{marked('warn', str(message))}\n")
    else:
        as_usual(message, *place)


def tell_failures(failed: "Sequence[TrialRecord]") -> None:
    """Say on stderr which trials failed, why, and how to repeat them.

    failed (Sequence[TrialRecord]): Records of failed trials.
    """
    for record in failed:
        sys.stderr.write(f"{marked('fail', f'{record.title}: {record.status}')}\n{record.error}\n")
    if failed:
        n = number(len(failed), "trial")
        sys.stderr.write(f"{n} failed. To repeat them, add --retry-failed to the command.\n")
