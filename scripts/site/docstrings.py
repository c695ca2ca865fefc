"""For mkdocstrings: docstrings in spaCy's style as Markdown lists."""

import re
from typing import Any

from griffe import Extension, Object

ARGUMENT = re.compile(r"^(\w+(?:, \w+)*)( \([^)]*\))?: (.*)$")
SECTION = re.compile(r"^(RETURNS|RAISES|YIELDS|SOURCE)\b(.*)$")


class SpacyDocstrings(Extension):
    """Rewrites every docstring while it is collected."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """One item for each argument and for what is returned or raised; other lines as they are."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        argument, section = ARGUMENT.match(line), SECTION.match(line)
        if section or argument:
            if not inside and lines and lines[-1]:
                lines.append("")
            head = (
                f"**{section[1]}**{section[2]}"
                if section
                else f"`{argument[1]}`{argument[2] or ''}: {argument[3]}"
            )
            lines.append(f"- {head}")
            inside = True
        elif inside and line.strip():
            lines.append(f"    {line.strip()}")
        else:
            lines.append(line)
            inside = False
    return "\n".join(lines)
