"""For mkdocstrings: rewrites docstrings in spaCy's style as Markdown with headed lists."""

import re
from typing import Any, NamedTuple

from griffe import Extension, Object

ARGUMENT = re.compile(r"(?:^|(?<=[.;] ))(\w+(?:, \w+)*) \(([^()]*)\): ")
SECTION = re.compile(r"^(RETURNS|RAISES|YIELDS|SOURCE|EXAMPLE)\b(?: \((.*?)\))?:? ?(.*)$")
TITLES = {
    "PARAMETERS": "Parameters",
    "RETURNS": "Returns",
    "YIELDS": "Yields",
    "RAISES": "Raises",
    "SOURCE": "Source",
    "EXAMPLE": "Example",
}


class Item(NamedTuple):
    """Argument, returned value, error, source or example."""

    title: str
    name: str
    type: str
    lines: list[str]


class SpacyDocstrings(Extension):
    """Rewrites every docstring while it is collected."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with one list for the parameters and one for each further section."""
    prose: list[str] = []
    items: list[Item] = []
    for line in text.splitlines():
        section = SECTION.match(line)
        arguments = [] if section else list(ARGUMENT.finditer(line))
        if section:
            items.append(Item(section[1], "", section[2] or "", [section[3]]))
        elif arguments and not arguments[0].start():
            ends = [argument.start() for argument in arguments[1:]] + [len(line)]
            for argument, end in zip(arguments, ends, strict=True):
                own = [line[argument.end() : end].strip()]
                items.append(Item("PARAMETERS", argument[1], argument[2], own))
        elif items and (line.startswith(" ") or not line.strip()):
            items[-1].lines.append(line)
        else:
            prose += ["", line] if items else [line]
    return "\n".join([*prose, *_sections(items)])


def _sections(items: list[Item]) -> list[str]:
    """Return the lines of all sections, in the order of `TITLES`."""
    lines: list[str] = []
    for title, heading in TITLES.items():
        if own := [item for item in items if item.title == title]:
            lines += ["", f"**{heading}**", ""]
        for item in own:
            lines += _example(item) if title == "EXAMPLE" else [_bullet(item)]
    return lines


def _example(item: Item) -> list[str]:
    code = [line.strip() for line in item.lines if line.strip()]
    return ["```pycon", *code, "```"]


def _bullet(item: Item) -> str:
    """Return a list item such as "- **seed** (`int`): Random seed."."""
    name = ", ".join(f"**{part}**" for part in item.name.split(", ") if part)
    of_type = f"`{item.type}`" if item.type else ""
    head = f"{name} ({of_type})" if name and of_type else name or of_type
    text = " ".join(line.strip() for line in item.lines if line.strip())
    return f"- {head}: {text}" if head else f"- {text}"
