"""docs/errors.md: the codes that a page of the docs says more about than their message does."""

import re
from pathlib import Path

from spacy_longtail.errors import Errors, Warnings

DOCS = Path(__file__).parents[2] / "docs"
OTHERS = ("README.md", "errors.md", "commands.md", "registered.md", "results.md")
CODE = re.compile(r"\bLW?\d{3}\b")
HEAD = Path(__file__).with_name("errors.md").read_text(encoding="utf8").rstrip()


def render() -> str:
    """The whole page."""
    pages = _pages()
    lines = [HEAD]
    for message in _messages():
        code, text = message[1:].split("] ", maxsplit=1)
        if named := pages.get(code):
            links = ", ".join(f"[{name.removesuffix('.md')}]({name})" for name in named)
            lines.append(f'| <a id="{code}"></a>`{code}` | {_first_sentence(text)} | {links} |')
    return "\n".join(lines) + "\n"


def _messages() -> list[str]:
    """All messages, each with its code, in their order."""
    found = [text for kind in (Errors, Warnings) for text in vars(kind).values()]
    return [text for text in found if isinstance(text, str) and text.startswith("[L")]


def _pages() -> dict[str, list[str]]:
    """The hand-written pages that name a code, by code."""
    found: dict[str, list[str]] = {}
    for path in sorted(DOCS.glob("*.md")):
        if path.name not in OTHERS:
            for code in sorted(set(CODE.findall(path.read_text(encoding="utf8")))):
                found.setdefault(code, []).append(path.name)
    return found


def _first_sentence(text: str) -> str:
    """What is wrong, as Markdown."""
    sentence = re.split(r"(?<=[.]) (?=[A-Z{])", text)[0]
    literal = sentence.replace("{{", "\x00").replace("}}", "\x01")
    plain = re.sub(r"([*_<|\[\]])", r"\\\1", literal)
    shown = re.sub(r"\{([\w\\]+)[^{}]*\}", lambda m: f"*{m[1]}*", plain)
    code = re.sub(r"`[^`]*`", lambda m: re.sub(r"\\(.)", r"\1", m[0]), shown)
    return code.replace("\x00", "{").replace("\x01", "}")
