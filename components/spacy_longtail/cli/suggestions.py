"""What somebody may have meant who typed a command or an option that is none."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Protocol

import typer

PROGRAM = "python -m spacy_longtail"
N_SHOWN = 3


class Usage(Protocol):
    """An error of click's, or of typer's own click."""

    message: str
    ctx: typer.Context | None

    def format_message(self) -> str:
        """What is said to the user."""
        ...


def suggestion(error: Usage, arguments: Sequence[str]) -> str:
    """What to do about a command line that cannot be read.

    error (Usage): What the parser says. arguments (Sequence[str]): What was typed.
    """
    if error.ctx is None:
        return help_of("")
    name = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and name:
        return unknown_option(error.ctx, name, value_of(name, arguments))
    return help_of(command_of(error.ctx))


def unknown_option(context: typer.Context, name: str, value: str = "VALUE") -> str:
    """What may have been meant by an option that a command does not have.

    context (typer.Context): Of the command. name (str): The option, as --gpu_id.
    value (str): What stood after it.
    """
    own, command = options_of(context.command), command_of(context)
    bare = name.lstrip("-")
    setting = bare if "." in bare else _training_setting(bare)
    dashed = f"--{bare.replace('_', '-')}"
    if dashed in own:
        return f"Did you mean {dashed}?"
    if context.parent is None:
        if dashed in {option for other in commands_of(context).values() for option in options_of(other)}:
            return f"{dashed} stands after the command."
        return _close(name, own) or help_of(command)
    if dashed in options_of(context.parent.command):
        return f"{dashed} stands before the command: {PROGRAM} {dashed} {command} ..."
    if "." not in bare and (close := _close(name, own)):
        return close
    if setting and "--set" in own:
        return f"Use --set {setting}={value}."
    if setting and context.allow_extra_args:  # values of the config follow as they are
        return f"Did you mean --{setting} {value}?"
    return help_of(command)


def unknown_command(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a command that there is not."""
    close = get_close_matches(name.replace("_", "-").lower(), list(known), N_SHOWN)
    return f"Did you mean {_either(close)}?" if close else help_of("")


def value_of(name: str, arguments: Sequence[str]) -> str:
    """What was typed as the value of an option; VALUE if nothing was."""
    for given, after in zip(arguments, [*arguments[1:], ""], strict=True):
        if given == name and after and not after.startswith("--"):
            return after
        if given.startswith(f"{name}="):
            return given.partition("=")[2] or "VALUE"
    return "VALUE"


def options_of(command: object) -> list[str]:
    """The long options of a command, those that switch off too."""
    params = getattr(command, "params", [])
    found = (option for param in params for option in (*param.opts, *param.secondary_opts))
    return [*(option for option in found if option.startswith("--")), "--help"]


def commands_of(context: typer.Context) -> dict[str, object]:
    """The commands below a context's; none of one that has no commands."""
    return dict(getattr(context.command, "commands", {}))


def command_of(context: typer.Context) -> str:
    """The name of a context's command; "" of the program itself."""
    return "" if context.parent is None else str(context.info_name)


def help_of(command: str) -> str:
    """Where to read about a command."""
    return f"See {PROGRAM} {f'{command} ' if command else ''}--help."


def _close(name: str, known: Iterable[str]) -> str:
    found = get_close_matches(name.replace("_", "-").lower(), list(dict.fromkeys(known)), N_SHOWN)
    return f"Did you mean {_either(found)}?" if found else ""


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


def _training_setting(name: str) -> str:
    """The dotted name of a setting of [training]; "" of what is none."""
    from spacy.schemas import ConfigSchemaTraining

    name = name.replace("-", "_")
    return f"training.{name}" if name in ConfigSchemaTraining.model_fields else ""
