"""`benchmarks/mutation.py` runs the tests of what it changes."""

from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).parents[2]


def test_mutation_knows_its_tests():
    mutation = run_path(str(ROOT / "benchmarks" / "mutation.py"))
    for pattern, files in mutation["TESTS"].values():
        assert list(mutation["PACKAGE"].glob(pattern))
        assert all((ROOT / "tests" / file).is_file() for file in files)
