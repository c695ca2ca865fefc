"""The log of what nobody foresaw: a file of its own among the temporary files, without secrets."""

import platform
import re
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..about import __version__
from ..pipes.secondary.secrets import MASK, without_secrets

PROGRAM = "python -m spacy_longtail"
PACKAGES = ("spacy", "thinc", "confection", "numpy", "pydantic", "torch", "typer")
NAMED = r"(?:api[_-]?key|secret|passw(?:or)?d|credentials?|(?:auth|access|api)[_-]?token)"
# --set a.api_key=..., --a.api_key ..., "api_key": "..."
URL = re.compile(r"(\w://[^:/@\s]*):(\S*)@")  # user, password; one with an @ of its own too
SETTING = re.compile(rf"(?i)({NAMED}[\"']?(?:\s*[=:]\s*|\s+)[\"']?)([^\s\"',}}]+)")


def hidden(text: str) -> str:
    """A text without keys and passwords, wherever they stand in it."""
    return SETTING.sub(rf"\1{MASK}", URL.sub(rf"\1:{MASK}@", without_secrets(text)))


def versions() -> str:
    """What runs: this package, spaCy, Python."""
    python = platform.python_version()
    return f"spacy-longtail {__version__}, spaCy {version('spacy')}, Python {python}"


def typed(arguments: Sequence[str]) -> str:
    """The command as it was typed, without secrets."""
    return hidden(f"{PROGRAM} {shlex.join(arguments)}")


def write_log(error: BaseException, arguments: Sequence[str]) -> Path:
    """Keep a traceback, with what is needed to look for its cause.

    error (BaseException): What ended a command. arguments (Sequence[str]): What was typed.
    RETURNS (Path): A new file, which its owner alone can read.
    RAISES (OSError): Where nothing can be written.
    """
    lines = [versions(), platform.platform(), ", ".join(_installed()), typed(arguments), ""]
    text = "\n".join(lines) + hidden("\n" + "".join(traceback.format_exception(error)))
    with tempfile.NamedTemporaryFile(
        "w",
        encoding="utf8",
        errors="backslashreplace",
        prefix="spacy_longtail-",
        suffix=".log",
        delete=False,
    ) as file:
        file.write(text)
    return Path(file.name)


def _installed() -> list[str]:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found
