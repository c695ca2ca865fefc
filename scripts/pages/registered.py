"""docs/registered.md: the table of registered functions, from setup.cfg and the docstrings."""

import configparser
import inspect
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language

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
HIDDEN = ("nlp", "name")  # of factories: spaCy gives them
HEAD = """# Registered functions

These are all functions that a config can name, under the key in each heading. An argument without a
default is required. The docstring of a function describes its arguments:

```python
from spacy.util import registry

print(registry.losses.get("longtail.Focal.v1").__doc__)
```

The examples below start from this corpus of four sentences:

```python
import spacy
from spacy.tokens import Doc
from spacy.training import Example

nlp = spacy.blank("en")
sentences = [
    (["Hurricane", "Ida", "came", "."], ["B-EVE", "I-EVE", "O", "O"]),
    (["Sandy", "hit", "Key", "West", "."], ["B-EVE", "O", "B-GEO", "I-GEO", "O"]),
    (["It", "rained", "all", "day", "."], ["O", "O", "O", "O", "O"]),
    (["It", "snowed", "again", "."], ["O", "O", "O", "O"]),
]
docs = [Doc(nlp.vocab, words, ents=tags) for words, tags in sentences]
examples = [Example(doc.copy(), doc) for doc in docs]
```"""


def summary_of(found: Any) -> str:
    """Return the first sentence of a docstring."""
    paragraph = (inspect.getdoc(found) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".")


def example_of(found: Any) -> str:
    """Return the lines below EXAMPLE in a docstring, or an empty string."""
    _, _, below = (inspect.getdoc(found) or "").partition("\nEXAMPLE:\n")
    return textwrap.dedent(below).strip()


def default_of(defaults: dict[str, Any], argument: inspect.Parameter) -> str:
    value = defaults.get(argument.name, argument.default)
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, dict):
        return "`" + next((str(v) for k, v in value.items() if k.startswith("@")), "...") + "`"
    if value is None or isinstance(value, bool | list | str):
        return f"`{srsly.json_dumps(value)}`"
    return f"`{value}`"


def row(name: str, found: Any) -> str:
    """Return a row with the name, the summary, and the arguments with their defaults."""
    is_factory = Language.has_factory(name)
    defaults = Language.get_factory_meta(name).default_config if is_factory else {}
    given = inspect.signature(found).parameters.values()
    arguments = [a for a in given if not (is_factory and a.name in HIDDEN)]
    shown = "; ".join(f"{a.name} {default_of(defaults, a)}".rstrip() for a in arguments)
    cells = (f'<a id="{name}"></a>`{name}`', summary_of(found), shown)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def render() -> str:
    """Return the whole page."""
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    lines = [HEAD]
    for group, entries in parser["options.entry_points"].items():
        if group not in KEYS:  # commands
            continue
        lines += ["", f"## {TITLES[group]}: `{KEYS[group]}`", ""]
        lines += ["| Name | What it is | Arguments and defaults |", "| --- | --- | --- |"]
        examples = []
        for entry in entries.strip().splitlines():
            name, target = (part.strip() for part in entry.split("="))
            module, function = target.split(":")
            found = getattr(import_module(module), function)
            lines.append(row(name, found))
            if shown := example_of(found):
                examples += ["", f"`{name}`:", "", "```pycon", shown, "```"]
        lines += examples
    return "\n".join(lines) + "\n"
