"""Check that the tests fail on a random sample of small changes of the code (mutants).

A mutant flips a comparison, swaps + and -, * and /, or `and` and `or`, adds one to a number,
returns None, or removes a `not`. The package is copied, one file of the copy is changed, and the
tests of its subject run on the copy with a time limit. A mutant survives if no test fails: either
a test is missing, or the change makes no difference. Needs fork. Appends one JSON record per
mutant to benchmarks/results/mutation.jsonl. When it is run again, it tests the survivors and then
new mutants.
"""

import ast
import contextlib
import io
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import srsly
import typer

ROOT = Path(__file__).parents[1]
COMPONENTS = ROOT / "components"
PACKAGE = COMPONENTS / "spacy_longtail"
TESTS = {  # of each subject: its files in the package, and those that test them, the fastest first
    "losses": (
        "losses/*.py",
        [
            *(f"unit/test_{name}.py" for name in ("losses", "distillation", "chains")),
            "pipes/test_refused_settings.py",
        ],
    ),
    "chains": (
        "chains/*.py",
        [f"unit/test_{name}.py" for name in ("tags", "chains", "described_layer")],
    ),
    "heads": (
        "heads/*.py",
        [
            *(f"unit/test_{name}.py" for name in ("heads", "chains", "distillation")),
            *(f"pipes/test_{name}.py" for name in ("token_ner", "described_ner")),
        ],
    ),
    "repeats": ("readers/repeats.py", ["unit/test_repeats.py", "pipes/test_readers.py"]),
    "merging": (
        "pipes/scores/merging.py",
        [
            *(f"pipes/test_{name}.py" for name in ("merging", "gate", "refused_settings")),
            "unit/test_mrc_decoding.py",
        ],
    ),
    "scorers": ("scorers/*.py", ["unit/test_scorers.py", "pipes/test_gate.py"]),
    "significance": (
        "evaluation/significance/*.py",
        ["unit/test_significance.py"],
    ),
}
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
OTHER: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}


SAME = ("file", "node", "before", "after")  # what a mutant is known by


class Mutant(NamedTuple):
    subject: str
    path: Path
    node: int  # its place in ast.walk
    line: int
    kind: str


def kind_of(node: ast.AST) -> str:
    """Return the kind of change that is possible for a node, or "" if there is none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        return "comparison"
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        return "arithmetic"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return "constant"
    if isinstance(node, ast.BoolOp):
        return "and/or"
    if isinstance(node, ast.Return) and node.value is not None:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        return "" if is_none else "return"
    return "not" if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else ""


def _unread(tree: ast.AST) -> set[int]:
    """Return the IDs of nodes without effect on results: annotations, arguments of messages."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.Raise):
            parts.append(node)
        for part in filter(None, parts):
            found.update(map(id, ast.walk(part)))
    return found


def mutants(subject: str, path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    unread = _unread(tree)
    for i, node in enumerate(ast.walk(tree)):
        if id(node) not in unread and (kind := kind_of(node)):
            yield Mutant(subject, path, i, getattr(node, "lineno", 0), kind)


def changed(mutant: Mutant) -> tuple[str, str, str]:
    """Return the changed file, and the changed part before and after."""
    tree = ast.parse(mutant.path.read_text(encoding="utf8"))
    node = list(ast.walk(tree))[mutant.node]
    before = ast.unparse(node)
    if isinstance(node, ast.Compare):
        node.ops[0] = FLIPPED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.Constant):
        node.value += 1
    elif isinstance(node, ast.BoolOp):
        node.op = OTHER[type(node.op)]()
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(None)
    elif isinstance(node, ast.UnaryOp):
        bare = node.operand
        for parent in ast.walk(tree):
            for field, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, field, bare)
                elif isinstance(value, list):
                    value[:] = [bare if part is node else part for part in value]
        node = bare
    return ast.unparse(ast.fix_missing_locations(tree)), before, ast.unparse(node)


def _tests(components: str, files: list[str]) -> None:
    """Run tests on a copy of the package and end the process with their exit status."""
    sys.path.insert(0, components)
    os.environ["PYTHONPATH"] = components
    os.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import pytest

        import spacy_longtail

        if not str(spacy_longtail.__file__).startswith(components):
            os._exit(100)  # the tests would not see the change
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        code = pytest.main([*options, *(str(ROOT / "tests" / file) for file in files)])
    os._exit(int(code))


def verdict(components: Path, files: list[str], seconds: float) -> tuple[str, float]:
    """ "killed", "timeout" (which a test's runner sees, too) or "survived"; and the seconds."""
    start = time.perf_counter()
    process = multiprocessing.get_context("fork").Process(target=_tests, args=(str(components), files))
    process.start()
    process.join(seconds)
    took = time.perf_counter() - start
    if process.is_alive():
        process.kill()
        process.join()
        return "timeout", took
    return "killed" if process.exitcode else "survived", took


def main(
    count: Annotated[int, typer.Option(min=1, help="Number of mutants.")] = 200,
    seconds: Annotated[float, typer.Option(help="Start no mutant after this time, in seconds.")] = float(
        "inf"
    ),
    limit: Annotated[
        float, typer.Option(help="Time limit of the tests of one mutant, in seconds.")
    ] = 300,
    seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 0,
    only: Annotated[str, typer.Option(help=f"Of {', '.join(TESTS)}, separated by commas.")] = "",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = Path(__file__).parent
    / "results"
    / "mutation.jsonl",
) -> None:
    """Test a sample of mutants, alternating between subjects, and append a record of each."""
    import hypothesis
    import numpy
    import pytest
    import spacy
    import thinc.api  # once, for all processes: not the package itself

    del hypothesis, numpy, pytest, spacy, thinc
    rng, begun = random.Random(seed), time.perf_counter()
    old = srsly.read_jsonl(results) if results.exists() else ()
    dead = {tuple(own.get(key) for key in SAME) for own in old if own["status"] != "survived"}
    by_subject = []
    for subject in only.split(",") if only else TESTS:
        files = sorted(PACKAGE.glob(TESTS[subject][0]))
        found = [mutant for path in files for mutant in mutants(subject, path)]
        rng.shuffle(found)
        by_subject.append(found)
    turns = [own[i] for i in range(max(map(len, by_subject))) for own in by_subject if i < len(own)]
    n = dict.fromkeys(("killed", "timeout", "survived"), 0)
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        copy = Path(name) / "components"
        shutil.copytree(COMPONENTS, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        for subject in {own[0].subject for own in by_subject}:
            if (status := verdict(copy, TESTS[subject][1], 3 * limit)[0]) != "survived":
                raise SystemExit(f"the tests of {subject} fail without a change: {status}")
        for mutant in turns[:count]:
            if time.perf_counter() - begun > seconds:
                break
            inner = mutant.path.relative_to(COMPONENTS)
            text, before, after = changed(mutant)
            before, after = before[:200], after[:200]
            if (inner.as_posix(), mutant.node, before, after) in dead:
                continue
            (copy / inner).write_text(text, encoding="utf8")
            status, took = verdict(copy, TESTS[mutant.subject][1], limit)
            shutil.copyfile(mutant.path, copy / inner)
            n[status] += 1
            record = {
                "name": "mutation",
                "subject": mutant.subject,
                "file": inner.as_posix(),
                "line": mutant.line,
                "node": mutant.node,
                "kind": mutant.kind,
                "before": before,
                "after": after,
                "status": status,
                "seconds": round(took, 1),
                "seed": seed,
            }
            print(json.dumps(record), flush=True)
            with results.open("a", encoding="utf8") as file:
                file.write(json.dumps(record) + "\n")
    typer.echo(", ".join(f"{number} {status}" for status, number in n.items()))


if __name__ == "__main__":
    typer.run(main)
