"""The boundary around all commands: what ends one becomes a message on stderr and an exit code."""

import os
import platform
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Literal, NoReturn, cast

import click
import typer
from typer.core import TyperGroup
from wasabi import Printer

from ..about import __version__
from ..errors import Errors
from ..faults import is_coded, is_out_of_memory, message_of, raised_in
from ..output.console import any_console
from ..training.startup import end_processes

FAILED = 1  # what the command looked at is not in order, or the command itself: L546
REFUSED = 2  # it could not do its work with what it was given
INTERRUPTED = 130  # as shells have it: 128 + SIGINT
CLOSED = 141  # whoever read stdout has gone: 128 + SIGPIPE

PROGRAM = "python -m spacy_longtail"
STOPPED = "Interrupted. What is finished is kept. A command that can resume goes on from there."
TEXT = Printer(no_print=True)  # gives texts, for stderr
# typer may bring a click of its own, and spaCy raises what is in the other
USAGE = (click.ClickException, typer.BadParameter.__mro__[2])
SETTINGS = ("confection", "catalogue", "pydantic")  # whose errors name a setting or a function
PARSERS = ("configparser", "json.decoder", "_csv", "srsly", "yaml")
PRINTERS = ("wasabi", "click", "typer", "rich")  # of spaCy's commands, and of ours
SPACY = re.compile(r"\[E(?!109\])\d+\]")  # its codes; E109 is any KeyError in a component


class Program(TyperGroup):
    """The program. Its commands run within the boundary."""

    def main(self, args: Sequence[str] | None = None, *given: object, **settings: object) -> NoReturn:
        """Run a command. args (Optional[Sequence[str]]): What was typed; null takes sys.argv's."""
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
    """Run a command. What ends the command ends the process, with a message.

    Coded warnings are messages too, without the line of code that they come from.

    arguments (Sequence[str]): What was typed after the program's name.
    """
    is_debugging = "--debug" in arguments[:1] or bool(os.environ.get("SPACY_LONGTAIL_DEBUG"))
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _shown(warnings.showwarning)
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
            if isinstance(stopped.__context__, BrokenPipeError):  # rich ends so, whose reader has gone
                sys.exit(CLOSED)
            if (module := raised_in(stopped)).startswith(PRINTERS):  # which have printed why
                sys.exit(REFUSED if stopped.code else 0)
            given = "" if stopped.code is None else repr(stopped.code)
            _end("fail", Errors.L851.format(call=f"sys.exit({given})", module=module), REFUSED)
        except Exception as error:
            message = refusal(error, arguments)
            if message is None or is_debugging:
                sys.stderr.write("".join(traceback.format_exception(error)))
            if message is None:
                what = f"{type(error).__name__}: {message_of(error)}"
                _end("fail", Errors.L546.format(what=what, versions=version_line()), FAILED)
            _end("fail", message, REFUSED)


def refusal(error: Exception, arguments: Sequence[str] = ()) -> str | None:
    """Return the message for an error that a user can cause; null for any other.

    error (Exception): What ended the command.
    arguments (Sequence[str]): What was typed, whose paths the message names.
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
        if error.strerror:  # as of a full disk that stdout is written to
            _drop_output()
        return Errors.L854.format(problem=problem, inputs=inputs)
    modules = {type(error).__module__, raised_in(error) if isinstance(error, ValueError) else ""}
    if any(module.startswith(SETTINGS) for module in modules):
        return Errors.L855.format(problem=problem, inputs=inputs)
    if isinstance(error, UnicodeError) or any(module.startswith(PARSERS) for module in modules):
        return Errors.L856.format(problem=problem, inputs=inputs)
    return None


def _inputs(arguments: Sequence[str]) -> str:
    """Return the files and folders that a command was given, in words."""
    values = [argument.rpartition("=")[2] for argument in arguments]
    paths = [value for value in values if value and os.path.exists(value)]
    return ", ".join(paths) or "the command's files"


def version_line() -> str:
    """The versions of this package, spaCy and Python."""
    python = platform.python_version()
    return f"spacy-longtail {__version__}, spaCy {version('spacy')}, Python {python}"


def marked(kind: Literal["fail", "warn", "info"], text: str) -> str:
    """A message with the mark of its kind, on one line, so that what it names can be copied."""
    return f"{getattr(TEXT, kind)('')} {text}"


def _end(kind: Literal["fail", "warn"], message: str, code: int) -> NoReturn:
    with suppress(OSError, ValueError):  # a stderr that is closed
        sys.stderr.write(f"{marked(kind, message)}\n")
        sys.stderr.flush()
    sys.exit(code)


def _drop_output() -> None:
    """Let Python flush stdout at its end without an error of its own."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM interrupt as Ctrl-C does, so that half-written files are removed."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_: int, frame: object) -> NoReturn:
    """End the processes of `nlp.pipe` and interrupt."""
    end_processes()
    raise KeyboardInterrupt


if hasattr(os, "register_at_fork"):  # a process that spaCy forks, and later ends, ends at once
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _shown(as_usual: Callable[..., None]) -> Callable[..., None]:
    def show(message: Warning | str, *place: object) -> None:
        if is_coded(str(message)):
            sys.stderr.write(f"{marked('warn', str(message))}\n")
        else:
            as_usual(message, *place)

    return show
