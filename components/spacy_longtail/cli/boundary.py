"""One boundary around all commands: what ends one becomes one message on stderr, and an exit code."""

import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Literal, cast

import click
import typer
from wasabi import Printer

from ..errors import Errors
from ..faults import is_coded, is_out_of_memory, raised_in
from ..training.train import message_of
from .fault_log import PROGRAM, hidden, write_log

FAILED = 1  # what the command looked at is not in order, or the command itself: L546
REFUSED = 2  # it could not do its work with what it was given
INTERRUPTED = 130  # as shells have it: 128 + SIGINT
CLOSED = 141  # whoever read stdout has gone: 128 + SIGPIPE

DEBUG = "SPACY_LONGTAIL_DEBUG"
RESUMING = ("curve", "distil", "matrix", "mine", "pretrain", "recommend", "tune")
PACKAGE = __name__.partition(".")[0]
TEXT = Printer(no_print=True)  # gives texts, for stderr
# typer may bring a click of its own, and spaCy raises what is in the other
USAGE = (click.ClickException, typer.BadParameter.__mro__[2])
PARSERS = ("confection", "catalogue", "configparser", "json.decoder", "_csv", "srsly", "pydantic")
SPACY = re.compile(r"\[E(?!109\])\d+\]")  # its codes; E109 is any KeyError in a component


@contextmanager
def boundary(arguments: Sequence[str]) -> Iterator[None]:
    """Run a command within it. What ends the command ends the process, with a message.

    Coded warnings are messages too, without the line of code they come from.

    arguments (Sequence[str]): What was typed after the program's name.
    RAISES (SystemExit): 0, FAILED, REFUSED, INTERRUPTED or CLOSED.
    """
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _shown(warnings.showwarning)
        try:
            yield
            sys.stdout.flush()
        except typer.Exit as stopped:
            sys.exit(stopped.exit_code)
        except (KeyboardInterrupt, typer.Abort) as error:
            _trace(error, arguments)
            _end(marked("warn", _interruption(arguments)), INTERRUPTED)
        except BrokenPipeError:
            _drop_output()
            sys.exit(CLOSED)
        except SystemExit as stopped:  # a library's: it has said why
            if stopped.code in (None, 0):
                raise
            if isinstance(stopped.__context__, BrokenPipeError):  # rich, while it prints help
                sys.exit(CLOSED)
            _end(marked("fail", Errors.L540.format(problem="see above.", fix="")), REFUSED)
        except Exception as error:
            _trace(error, arguments)
            message = refusal(error, arguments)
            if message is not None:
                _end(marked("fail", message), REFUSED)
            _end(marked("fail", _fault(error, arguments)), FAILED)


def marked(kind: Literal["fail", "warn", "info"], text: str) -> str:
    """A message with the mark of its kind, on one line, so that what it names can be copied."""
    return f"{getattr(TEXT, kind)('')} {text}"


def refusal(error: Exception, arguments: Sequence[str] = ()) -> str | None:
    """What to say of an error that a user can cause; null of any other.

    error (Exception): What ended a command. arguments (Sequence[str]): What was typed.
    """
    if is_coded(error):
        return str(error)
    if isinstance(error, USAGE):
        usage = cast(click.UsageError, error)
        command = usage.ctx.command_path if usage.ctx else PROGRAM
        fix = f"See {command} --help."
        return Errors.L545.format(problem=_sentence(usage.format_message()), fix=fix)
    problem = hidden(message_of(error))
    if isinstance(error, ImportError) and not (error.name or "").startswith(PACKAGE):
        return Errors.L542.format(problem=problem)
    if is_out_of_memory(error):
        return Errors.L544.format(problem=problem)
    if isinstance(error, OSError):
        if error.filename is None:
            if error.strerror:  # as of a full disk that stdout is written to
                _drop_output()
            return Errors.L541.format(problem=problem)
        return Errors.L432.format(path=error.filename, problem=error.strerror or problem)
    if isinstance(error, RecursionError) and raised_in(error).startswith(PARSERS):
        return Errors.L543
    if _is_of_input(error):
        return Errors.L540.format(problem=problem, fix="Correct what it names.")
    return None


def _is_of_input(error: Exception) -> bool:
    """Whether spaCy or a parser refuses what it was given. All other errors are bugs."""
    is_parsers = type(error).__module__.startswith(PARSERS) or (
        isinstance(error, ValueError) and raised_in(error).startswith(PARSERS)
    )
    return is_parsers or isinstance(error, UnicodeError) or bool(SPACY.match(str(error)))


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _fault(error: Exception, arguments: Sequence[str]) -> str:
    what = hidden(f"{type(error).__name__}: {message_of(error)}")
    try:
        where = f"The traceback is in {write_log(error, arguments)}."
    except OSError as full:
        where = f"The traceback could not be kept ({full.strerror}): add --debug to see it."
    return Errors.L546.format(what=what, where=where)


def _interruption(arguments: Sequence[str]) -> str:
    command = next((text for text in arguments if not text.startswith("-")), "")
    if command in RESUMING:
        return "Interrupted. What is on disk is kept: the same command goes on from there."
    return "Interrupted. Outputs are written whole or not at all: what was there is as it was."


def is_debugging(arguments: Sequence[str]) -> bool:
    """Whether tracebacks are wanted: by --debug before the command, or by the environment."""
    return os.environ.get(DEBUG, "0") not in ("", "0") or "--debug" in arguments[:1]


def _trace(error: BaseException, arguments: Sequence[str]) -> None:
    if is_debugging(arguments):
        sys.stderr.write(hidden("".join(traceback.format_exception(error))))


def _end(message: str, code: int) -> None:
    with suppress(OSError, ValueError):  # a stderr that is closed
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
    sys.exit(code)


def _drop_output() -> None:
    """Let Python flush stdout at its end without an error of its own."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM interrupts as Ctrl-C does, so that what is half-written is taken away."""
    own = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)  # a process that spaCy forked, and now ends
        os.kill(os.getpid(), number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _shown(as_usual: Callable[..., None]) -> Callable[..., None]:
    def show(message: Warning | str, *place: object) -> None:
        if is_coded(str(message)):
            sys.stderr.write(f"{marked('warn', str(message))}\n")
        else:
            as_usual(message, *place)

    return show
