"""docs/errors.md: every code with its cause, its fix and the modules that use it, from the code."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "components" / "spacy_longtail"
GROUP = re.compile(r"^    # (.+?)(?:: .*)?$")
CODED = re.compile(r"^\[(\w+)\] ")
SENTENCE = re.compile(r"(?<=[.:]) (?=[A-Z{])")
# what a sentence begins with that says what to do
FIX = re.compile(
    r"(Add|Annotate|Ask|Begin|Call|Check|Choose|Convert|Copy|Correct|Delete|Evaluate|Fix|Give|Install|Keep|"
    r"Leave|Load|Lower|Move|Name|Or|Put|Raise|Read|Remove|Run|Set|Take|Train|Use|Weigh|Wrap|Write)\b|\{fix\}"
)
MOST = 4  # modules to name
HEAD = """# Errors and warnings

Written by `python scripts/document.py` from `errors.py`; do not edit.

Every error begins with a code such as `[L102]` and says what is wrong, what was found, and what to do.
Warnings begin with `[LW`. Words in *italics* stand for what the message fills in. Where no fix is
named, the cause says what is allowed.
"""


def render() -> str:
    """The whole page."""
    source = (PACKAGE / "errors.py").read_text(encoding="utf8")
    places = _places()
    lines, table = [HEAD.rstrip()], ("", "")
    for kind, group, name, message in _messages(source):
        _, code, message = CODED.split(message, maxsplit=1)
        if table != (kind, group):
            table = kind, group
            lines += ["", f"## {kind}: {group[0].lower() + group[1:]}", ""]
            lines += ["| code | cause, fix, and the modules that use it |", "| --- | --- |"]
        cause, fix = _parts(message)
        where = _modules(sorted(places[name]))
        text = "<br>".join(filter(None, (cause, fix and f"**Fix:** {fix}", where)))
        lines.append(f'| <a id="{code}"></a>`{code}` | {text} |')
    return "\n".join(lines) + "\n"


def _messages(source: str) -> Iterator[tuple[str, str, str, str]]:
    """Class, comment above, name and message of each, in their order."""
    comments = {i: m[1] for i, line in enumerate(source.splitlines(), 1) if (m := GROUP.match(line))}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for entry in node.body:
            if isinstance(entry, ast.Assign) and isinstance(entry.targets[0], ast.Name):
                above = [i for i in comments if node.lineno < i < entry.lineno]
                group = comments[max(above)] if above else "General"
                yield node.name, group, entry.targets[0].id, ast.literal_eval(entry.value)


def _modules(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(f"`{name}`" for name in names[:MOST]) + more


def _places() -> dict[str, set[str]]:
    """The modules that raise or warn with a code."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for code in re.findall(r"\b(?:Errors|Warnings)\.(\w+)", path.read_text(encoding="utf8")):
            found[code].add(module)
    return found


def _parts(message: str) -> tuple[str, str]:
    """The sentences that say what is wrong, and those that say what to do, as Markdown."""
    sentences = SENTENCE.split(message)
    first = next((i for i, s in enumerate(sentences[1:], 1) if FIX.match(s)), len(sentences))
    return _markdown(sentences[:first]), _markdown(sentences[first:])


def _markdown(sentences: list[str]) -> str:
    text = " ".join(s if s.strip(".") != "{fix}" else "It is in the message." for s in sentences)
    literal = text.replace("{{", "\x00").replace("}}", "\x01")
    plain = re.sub(r"([*_<|\[\]])", r"\\\1", literal)
    shown = re.sub(r"\{([\w\\]+)[^{}]*\}", lambda m: f"*{m[1]}*", plain)
    code = re.sub(r"`[^`]*`", lambda m: re.sub(r"\\(.)", r"\1", m[0]), shown)
    return code.replace("\x00", "{").replace("\x01", "}")
