"""docs/commands.md: every command with its `--help`, from the functions that typer calls."""

import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from typer import Context
from typer.models import ArgumentInfo, OptionInfo

from spacy_longtail.cli import app

HEAD = """# Commands

You can call a command as `python -m spacy_longtail COMMAND`, as `longtail COMMAND` for short, or as
`spacy longtail COMMAND`. Every command has `--help`, and all except `init-config` and `train` print JSON
instead of tables with `--json`. `longtail --install-completion` sets up completion in your shell.
"""
SHARED = 3  # commands that make an option one of several
TABLE = ("| Option | Default | Meaning |", "| --- | --- | --- |")


class Parameter(NamedTuple):
    name: str  # as it is typed
    info: ArgumentInfo | OptionInfo
    kind: Any  # its Python type
    default: Any


def render() -> str:
    """The whole page."""
    panels: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
    for found in app.registered_commands:
        assert found.callback is not None
        name = found.name or found.callback.__name__
        panels.setdefault(str(found.rich_help_panel), []).append((name, found.callback))
    every = [parameter for found in panels.values() for _, f in found for parameter in _parameters(f)]
    shared = {line for line, n in Counter(map(_row, every)).items() if n >= SHARED}
    lines = [HEAD, "| Topic | Commands |", "| --- | --- |"]
    for panel, commands in panels.items():
        lines.append(f"| {panel} | {', '.join(f'[{name}](#{name})' for name, _ in commands)} |")
    lines += ["", "## Options of several commands", "", *TABLE, *sorted(shared, key=str.lower)]
    for panel, commands in panels.items():
        lines += ["", f"## {panel}"]
        for name, function in commands:
            lines += _section(name, function, shared)
    return "\n".join(lines) + "\n"


def _section(name: str, function: Callable[..., Any], shared: set[str]) -> Iterator[str]:
    parameters = list(_parameters(function))
    words = [p.name if _required(p) else f"[{p.name}]" for p in parameters if not p.name.startswith("-")]
    text = " ".join((inspect.getdoc(function) or "").split())
    yield from ("", f"### {name}", "", f"`{' '.join(('longtail', name, *words))}`", "")
    yield from (*textwrap.wrap(text, 100), "")
    if own := [row for row in map(_row, parameters) if row not in shared]:
        yield from (*TABLE, *own)
    if also := [f"`{p.name}`" for p in parameters if _row(p) in shared]:
        yield from ("", f"Also: {', '.join(also)}.")


def _row(parameter: Parameter) -> str:
    text = " ".join((parameter.info.help or "").split()).replace("|", "\\|")
    return f"| `{parameter.name}{_values(parameter)}` | {_default(parameter)} | {text} |"


def _parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    hints = inspect.get_annotations(function, eval_str=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if hints[name] is Context:
            continue
        assert get_origin(hints[name]) is Annotated, f"{function.__module__}: {name}"
        kind, info = get_args(hints[name])[:2]
        if info.hidden:
            continue
        if isinstance(info, ArgumentInfo):
            shown = name.upper()
        else:
            first = [info.default] if isinstance(info.default, str) else []  # typer takes it for a name
            option = name.replace("_", "-")
            usual = [f"--{option}", f"--no-{option}"] if kind is bool else [f"--{option}"]
            shown = ", ".join([*first, *(info.param_decls or ())] or usual).replace("/--", ", --")
        yield Parameter(shown, info, kind, parameter.default)


def _required(parameter: Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _values(parameter: Parameter) -> str:
    """What an option takes, after its name."""
    kind = parameter.kind
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    named = [k for k in get_args(kind) if k is not type(None)] if _is_union(kind) else [kind]
    (single,) = named
    if isinstance(parameter.info, ArgumentInfo) or single is bool:
        return ""
    if get_origin(single) is Literal:
        return " " + "/".join(map(str, get_args(single)))
    if get_origin(single) in (list, tuple):
        single = get_args(single)[0]
    if isinstance(single, type) and issubclass(single, Enum):
        return " " + "/".join(str(member.value) for member in single)
    names = {str: "TEXT", int: "INTEGER", float: "NUMBER"}
    return " " + names.get(single, single.__name__.upper())


def _is_union(kind: Any) -> bool:
    return get_origin(kind) is Union or type(kind).__name__ == "UnionType"


def _default(parameter: Parameter) -> str:
    """Return the default, or the words that the help has for one that is worked out."""
    if isinstance(parameter.info.show_default, str):
        return parameter.info.show_default
    value = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    if _required(parameter):
        return "required"
    return "" if value is None or value is False or value in ((), []) else f"`{value}`"
