"""Run the tutorials and keep what their cells print and draw; or check that they still run."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Annotated, NamedTuple

import nbformat
import typer
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from typing_extensions import Self
from wasabi import msg

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tutorials"
SCRIPTS = str(Path(__file__).parent)  # with notebook_kernel
LINKED = ("assets", "benchmarks", "configs", "docs")  # what cells read; all that they write is elsewhere
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
BEGIN = """
import sys

if {scripts!r} not in sys.path:
    sys.path.insert(0, {scripts!r})
import notebook_kernel

notebook_kernel.begin({folder!r})
"""
QUIET = {"kernel_name": "python3", "extra_arguments": ["--log-level=ERROR"]}
SECONDS = 600  # most for one cell

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# what a run has no control of: bars of progress and what they are deleted with, logs with their
# times, messages with folders whose names are drawn by lot
OVERWRITTEN = re.compile(r"^.*\r", flags=re.MULTILINE)
BAR = re.compile(r"^.*\d+%\|.*\n?", flags=re.MULTILINE)
LOG = re.compile(r"^\[\d{4}-\d\d-\d\d [\d:,]+\] \[INFO\].*\n", flags=re.MULTILINE)
BY_LOT = re.compile(r"^(?:. Saving|. Saved pipeline)[^/]*?\s\S*\.longtail-.*\n", flags=re.MULTILINE)


class Shape(NamedTuple):
    """What a code cell put out, without the words and figures, which depend on the machine."""

    source: str
    outputs: tuple[str, ...]  # "stream", or the types of what it showed


def main(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, help="Notebooks; those of tutorials/ if left out."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail for outputs of other kinds.")
    ] = False,
) -> None:
    """Run notebooks in a folder of their own; write their outputs, or compare."""
    different = False
    with Kernel() as kernel:
        for path in paths or sorted(FOLDER.glob("*.ipynb")):
            before = read(path)
            try:
                after = kernel.run(before)
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                msg.fail(path.name, ANSI.sub("", str(error)), exits=1)
            if check:
                problems = compare(before, after)
                different |= bool(problems)
                for problem in problems:
                    msg.fail(f"{path.name}: {problem}")
            else:
                write(path, after)
                msg.good(f"{path.name}: {path.stat().st_size / 1024:,.0f} KB")
    if different:
        msg.fail("Run: python scripts/notebooks.py", exits=1)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def write(path: Path, notebook: NotebookNode) -> None:
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf8")


class Kernel:
    """One kernel for several notebooks: each starts without names and figures of those before."""

    def __init__(self) -> None:
        self.client = NotebookClient(nbformat.v4.new_notebook(), timeout=SECONDS, **QUIET)
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        with environment():
            self.stack.enter_context(self.client.setup_kernel())
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def run(self, notebook: NotebookNode) -> NotebookNode:
        """Execute all cells in a folder that has what a clone has, and is thrown away.

        notebook (NotebookNode): Stays as it is.
        RETURNS (NotebookNode): A copy with new outputs, `tidy`.
        RAISES (CellExecutionError): For a cell that raises, or a `!` command that fails.
        """
        cells = [NotebookNode(cell) for cell in deepcopy(notebook.cells)]
        with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
            folder = Path(name).resolve()
            for linked in LINKED:
                (folder / linked).symlink_to(ROOT / linked)
            first = nbformat.v4.new_code_cell(BEGIN.format(scripts=SCRIPTS, folder=str(folder)))
            copy = nbformat.v4.new_notebook(cells=[first, *cells])
            self.client.nb = copy
            self.client.execute(cleanup_kc=False)
            copy.cells = copy.cells[1:]
            return tidy(copy, folder)


@contextmanager
def environment() -> Iterator[None]:
    """The variables of a kernel: text without colours, figures in the notebook."""
    before = dict(os.environ)
    os.environ.update(ANSI_COLORS_DISABLED="1", NO_COLOR="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
    os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def tidy(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Leave out what differs between two runs, or says where they were.

    notebook (NotebookNode): Executed; it is changed. folder (Path): Where it was.
    RETURNS (NotebookNode): The notebook.
    """
    count = 0
    for i, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{i}", NotebookNode()
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = _tidy_outputs(cell.outputs, str(folder), count)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat_minor = 5
    return notebook


def _tidy_outputs(outputs: list[NotebookNode], folder: str, count: int) -> list[NotebookNode]:
    """One text for all that a cell printed, then what it showed."""
    text = "".join(own.text for own in outputs if own.output_type == "stream")
    text = plain(text, folder)
    shown = [own for own in outputs if own.output_type != "stream"]
    for own in shown:
        own.metadata = NotebookNode()
        if own.output_type == "execute_result":
            own.execution_count = count
        own.data = {kind: _plain_data(kind, data, folder) for kind, data in own.data.items()}
    stream = [nbformat.v4.new_output("stream", name="stdout", text=text)] if text.strip() else []
    return [*stream, *shown]


def _plain_data(kind: str, data: str, folder: str) -> str:
    return plain(data, folder) if kind == "text/plain" else data


def plain(text: str, folder: str) -> str:
    """Text without colours, bars of progress, times of logs, and the folder it was made in."""
    for noise in (ANSI, LOG, OVERWRITTEN, BAR, BY_LOT):
        text = noise.sub("", text)
    return text.replace(f"{folder}/", "").replace(folder, ".")


def shapes(notebook: NotebookNode) -> list[Shape]:
    """What each code cell put out."""
    return [
        Shape(cell.source, tuple(kind for own in cell.outputs for kind in _kinds(own)))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _kinds(output: NotebookNode) -> list[str]:
    return [output.output_type] if output.output_type == "stream" else sorted(output.data)


def compare(before: NotebookNode, after: NotebookNode) -> list[str]:
    """The cells whose outputs are of other kinds now. after (NotebookNode): The same cells, run."""
    return [
        f"cell [{i}] had {', '.join(old.outputs) or 'no output'}, "
        f"and has {', '.join(new.outputs) or 'none'} now:\n{new.source}"
        for i, (old, new) in enumerate(zip(shapes(before), shapes(after), strict=True), 1)
        if old != new
    ]


if __name__ == "__main__":
    typer.run(main)
