"""Runs in the kernel of the tutorials: a `!` command that fails ends the notebook.

IPython goes on after a command that failed. And a command of spaCy or of this package would be a
process of its own, which takes seconds to start: `!python -m spacy_longtail ...` runs in here.
"""

import io
import os
import runpy
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout

from IPython.core.getipython import get_ipython

import spacy_longtail.cli  # noqa: F401  # before any redirection: loggers keep the stderr that they find

HERE = ("spacy", "spacy_longtail")  # modules whose commands need no process
SHELL = {"|", "||", "&&", ";", ">", "2>&1"}  # what only a shell understands
PATH = list(sys.path)

warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message="IProgress not found")


def begin(folder: str) -> None:
    """Work in a folder, without names of the notebook before. folder (str): An absolute path."""
    os.chdir(folder)
    sys.path[:] = PATH
    shell = get_ipython()
    shell.reset(new_session=False)
    shell.system = system


def system(command: str) -> None:
    """Run what stands behind a `!`, and print what it says.

    command (str): A line for the shell.
    RAISES (RuntimeError): If its exit code is not 0.
    """
    words = shlex.split(command)
    is_ours = words[:2] == ["python", "-m"] and words[2] in HERE and not SHELL & set(words)
    code = _run_here(words[2:]) if is_ours else _run_process(command)
    if code:
        raise RuntimeError(f"exit code {code}: {command}")


def _run_here(words: list[str]) -> int:
    said, arguments = io.StringIO(), sys.argv
    sys.argv = words
    try:
        with redirect_stdout(said), redirect_stderr(said):
            runpy.run_module(words[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = arguments
        print(said.getvalue(), end="")
    return 0


def _run_process(command: str) -> int:
    found = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf8"
    )
    print(found.stdout, end="")
    return found.returncode
