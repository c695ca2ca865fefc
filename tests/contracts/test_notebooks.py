"""The tutorials run, and what is committed is what they put out: in kind, not in figures."""

import re
import sys
from pathlib import Path

import pytest

from tests.util import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
for name in ("nbclient", "ipykernel"):
    pytest.importorskip(name, reason="needs the extra 'notebooks'")
for name in ("optuna", "matplotlib"):
    pytest.importorskip(name, reason="the tutorials need the extras 'tune' and 'report'")

import nbformat  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402

import notebooks  # noqa: E402

PATHS = sorted((ROOT / "tutorials").glob("*.ipynb"))
MACHINE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|opt|usr|var|work|Users)/|site-packages|\.longtail-")
COMMAND = "!python -m spacy_longtail"


def new(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def texts_of(notebook):
    """All that cells printed or returned as text."""
    outputs = [own for cell in notebook.cells for own in cell.get("outputs", ())]
    return [
        own.text if own.output_type == "stream" else own.data.get("text/plain", "") for own in outputs
    ]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory, light):
    """One for all tests, as after the tutorials' light install: without torch, a slow import."""
    folder = tmp_path_factory.mktemp("no_torch")
    (folder / "torch.py").write_text('raise ImportError("not in this test")\n', encoding="utf8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder}:{light['PYTHONPATH']}")
        patch.setenv("OMP_NUM_THREADS", "1")
        with notebooks.Kernel() as running:
            yield running


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_puts_out_what_is_committed(kernel, path):
    before = notebooks.read(path)
    after = kernel.run(before)
    assert notebooks.compare(before, after) == []
    assert not any(MACHINE.search(text) for text in texts_of(after))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_what_is_committed_is_whole_and_says_nothing_of_a_machine(path):
    notebook = notebooks.read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [own for cell in code for own in cell.outputs]
    assert outputs and not any(own.output_type == "error" for own in outputs)
    assert texts_of(notebook)
    for text in texts_of(notebook):
        assert not MACHINE.search(text), text
        assert not re.search(r"\x1b|\r|\d%\||\[INFO\]|Traceback", text), text
    again = notebooks.tidy(notebooks.read(path), Path("nowhere"))
    assert nbformat.writes(again) + "\n" == path.read_text(encoding="utf8")
    assert path.stat().st_size < 500_000


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_figures_of_the_prose_are_those_of_the_results(path):
    names = ("README.md", "docs/results.md", "benchmarks/REPORT.md", "benchmarks/EARLIER.md")
    pages = "".join((ROOT / name).read_text(encoding="utf8") for name in names)
    prose = "\n".join(c.source for c in notebooks.read(path).cells if c.cell_type == "markdown")
    prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
    figures = set(re.findall(r"\b\d+\.\d+\b|\b\d+,\d{3}\b", prose)) - {"3,000"}  # which a cell computes
    assert [figure for figure in figures if figure not in pages] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_links_of_a_tutorial_lead_somewhere(path):
    prose = "\n".join(c.source for c in notebooks.read(path).cells if c.cell_type == "markdown")
    targets = re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", prose)
    assert targets and all((path.parent / target).exists() for target in targets)


def test_every_tutorial_is_listed_with_its_title():
    listed = (ROOT / "tutorials" / "README.md").read_text(encoding="utf8")
    assert len(PATHS) >= 4
    for path in PATHS:
        title = notebooks.read(path).cells[0].source.splitlines()[0].removeprefix("# ")
        assert f"[{title}]({path.name})" in listed


# The script


@pytest.mark.slow
def test_a_command_that_fails_ends_the_notebook(kernel):
    commands = ("convert nowhere corpus/x", "convert nowhere corpus/x 2>&1")
    for source in (*(f"{COMMAND} {command}" for command in commands), "!exit 3", "1 / 0"):
        with pytest.raises(CellExecutionError):
            kernel.run(new(source))


@pytest.mark.slow
def test_notebooks_of_a_kernel_share_neither_names_nor_folders(kernel):
    one = kernel.run(new("x = 1\nfrom pathlib import Path\nPath('y').write_text('z');"))
    assert texts_of(one) == []
    other = kernel.run(new("print('x' in dir(), __import__('os').path.exists('y'))", "!echo $((1 + 1))"))
    assert texts_of(other) == ["False False\n", "2\n"]


@pytest.mark.slow
def test_outputs_are_tidied_and_run_in_order(kernel):
    source = (
        "import os, sys\n"
        "print('\\x1b[31mred\\x1b[0m', os.getcwd() + '/corpus')\n"
        "print('  5%|   | 1/20\\r 99%|###| 19/20', file=sys.stderr)\n"
        "print(' 50%|## | 1/2\\r      \\rfirst: done\\n 99%|###| 2/2\\r   \\rsecond: done')\n"
        "print('[2026-01-01 10:00:00,123] [INFO] chatter')\n"
        "print('\\u2139 Saving results to\\n/a/b/.longtail-x-123/new')\n"
        "print('   \\r\\nend')\n"
        "{'a': 1}"
    )
    found = kernel.run(new(source))
    assert texts_of(found) == ["red corpus\nfirst: done\nsecond: done\n\nend\n", "{'a': 1}"]
    assert found.cells[0].id == "cell-0" and found.cells[0].metadata == {}
    assert found.cells[0].execution_count == found.cells[0].outputs[1].execution_count == 1
    assert found.metadata == notebooks.METADATA
