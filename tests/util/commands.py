"""Commands run in this process, the files that they read, and the files that they write."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest
from click.testing import Result
from spacy.cli import app as spacy_app
from typer import Typer
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.studies.configs.recipes import FILES, make_config, read_recipes

ROOT = Path(__file__).parents[2]


@cache
def config_file(name: str) -> Path:
    """Return the file of a recipe in configs/, or one that `init-config` would write."""
    if name in FILES:
        return ROOT / "configs" / f"{name}.cfg"
    path = Path(tempfile.mkdtemp(prefix="longtail-config-")) / f"{name}.cfg"
    make_config(read_recipes()[name]).to_disk(path, interpolate=False)
    return path


def forbid_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever reads or writes a pickle fail, in which there may be any code."""

    def forbidden(*args: object, **settings: object) -> None:
        raise AssertionError("pickle was used")

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    for name in ("load", "save") if find_spec("torch") else ():
        monkeypatch.setattr(f"torch.{name}", forbidden)


def invoke(*arguments: object) -> Result:
    """What one of our commands says, and how it ends."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_app(*arguments: object) -> Result:
    """What one of our commands says that comes to its end."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(arguments: Iterable[object], code: str, unwritten: Path | None = None) -> Result:
    """What a command says that ends with a coded error, and writes nothing."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert code in result.stderr and "Traceback" not in result.output
    assert unwritten is None or not unwritten.exists()
    return result


def new_file(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, given by their paths in a folder, and return the folder."""
    for name, content in files.items():
        new_file(folder / name, content)
    return folder


def tree(folder: Path) -> dict[Path, bytes | bool]:
    """The files of a folder with what they hold, and its folders."""
    return {p.relative_to(folder): p.is_file() and p.read_bytes() for p in folder.rglob("*")}


def run_spacy(*arguments: object) -> str:
    """What one of spaCy's commands says. It runs here: to start a process takes seconds."""
    result = CliRunner().invoke(spacy_app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def run_python(code: str, *arguments: object, **environment: str) -> str:
    """What code prints in a process of its own, which comes to its end.

    environment (str): Variables that the process has besides those of this one.
    """
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_script(path: Path, *arguments: object) -> Result:
    """What the command of a script says, run in this process."""
    script = Typer()
    script.command()(run_path(str(path))["main"])
    return CliRunner().invoke(script, [str(a) for a in arguments])
