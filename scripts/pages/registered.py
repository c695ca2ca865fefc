"""docs/registered.md: the table of registered functions, from setup.cfg and the docstrings."""

import configparser
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import srsly

ROOT = Path(__file__).parents[2]
TITLES = {
    "spacy_factories": "Pipeline components",
    "spacy_architectures": "Architectures",
    "spacy_readers": "Corpus readers",
    "spacy_augmenters": "Augmenters",
    "spacy_tokenizers": "Tokenizers",
    "spacy_scorers": "Scorers",
    "spacy_callbacks": "Callbacks",
    "spacy_misc": "Resampling policies and class weights",
    "thinc_llm_models": "Models of spacy-llm",
    "thinc_optimizers": "Optimizers",
    "thinc_losses": "Losses",
}
KEYS = {
    "spacy_factories": "factory",
    "spacy_architectures": "@architectures",
    "spacy_readers": "@readers",
    "spacy_augmenters": "@augmenters",
    "spacy_tokenizers": "@tokenizers",
    "spacy_scorers": "@scorers",
    "spacy_callbacks": "@callbacks",
    "spacy_misc": "@misc",
    "thinc_llm_models": "@llm_models",
    "thinc_optimizers": "@optimizers",
    "thinc_losses": "@losses",
}
ARGUMENT = re.compile(r"^(\w+(?:, \w+)*)(?: \(([^)]*)\))?: (.*)$")
HIDDEN = ("nlp", "name")


def describe(found: Any) -> tuple[str, dict[str, str]]:
    """The first line of a docstring, and the text of each argument."""
    lines = (inspect.getdoc(found) or "").splitlines()
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in lines[1:]:
        match = ARGUMENT.match(line)
        if re.match(r"^(RETURNS|RAISES|YIELDS|SOURCE)", line) or not line.strip():
            names = []
        elif match:
            names = match[1].split(", ")
            texts.update(dict.fromkeys(names, match[3]))
        elif names:
            for name in names:
                texts[name] += " " + line.strip()
    return lines[0], texts


def default_of(found: Any, argument: inspect.Parameter) -> str:
    defaults = getattr(import_module(found.__module__), "DEFAULTS", {})
    value = defaults.get(argument.name, argument.default)
    if value is inspect.Parameter.empty:
        return "required"
    if isinstance(value, dict):
        return "`" + next((str(v) for k, v in value.items() if k.startswith("@")), "...") + "`"
    if value is None or isinstance(value, bool | list | str):
        return f"`{srsly.json_dumps(value)}`"
    return f"`{value}`"


def section(name: str, key: str, found: Any) -> list[str]:
    summary, texts = describe(found)
    lines = [
        f"### `{name}`",
        "",
        summary,
        "",
        f'`{key} = "{name}"`, `{found.__module__}.{found.__qualname__}`',
        "",
    ]
    arguments = [a for a in inspect.signature(found).parameters.values() if a.name not in HIDDEN]
    if arguments:
        lines += ["| argument | default | |", "| --- | --- | --- |"]
        for argument in arguments:
            text = texts.get(argument.name, "").replace("|", "\\|")
            lines.append(f"| `{argument.name}` | {default_of(found, argument)} | {text} |")
        lines.append("")
    return lines


def render() -> str:
    """The whole page."""
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    lines = [
        "# Registered functions",
        "",
        "Written by `python scripts/document.py` from `setup.cfg` and the docstrings; do not edit.",
        "",
    ]
    for group, entries in parser["options.entry_points"].items():
        if group not in KEYS:  # commands
            continue
        lines += [f"## {TITLES[group]}", ""]
        for entry in entries.strip().splitlines():
            name, target = (part.strip() for part in entry.split("="))
            module, function = target.split(":")
            lines += section(name, KEYS[group], getattr(import_module(module), function))
    return "\n".join(lines).rstrip() + "\n"
