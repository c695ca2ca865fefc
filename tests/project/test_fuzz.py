"""A small share of benchmarks/fuzz.py: hostile input is taken, or refused with a code."""

import runpy
import sys
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fuzz.py"))
SEED, CASES = 7, 60
SLOW = (
    "train",
    "audit",
    "pretrain",
    "recommend",
    "tune",
    "distil",
    "matrix, broken",
)  # if taken


def test_hostile_input(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # is put back, with what a case changes
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    records = [r for r in FUZZ["run_cases"](list(range(CASES)), SEED, SLOW) if "ended" in r]
    faults = [r for r in records if r["ended"] not in ("accepted", "refused")]
    assert not faults
    ended = [r["ended"] for r in records]
    assert len(records) > CASES / 2 and ended.count("refused") > 20 and "accepted" in ended


def test_cases_are_made_again(tmp_path):
    FUZZ["make_shared"](tmp_path / "shared")
    for number in range(8):
        made = []
        for again in "ab":
            folder = tmp_path / f"{number}{again}"
            case = FUZZ["make_case"](number, 1, folder, tmp_path / "shared")
            files = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
            made.append((case, files))
        assert made[0] == made[1]


def test_faults_are_told_apart(tmp_path, monkeypatch):
    def ended(call):
        monkeypatch.setitem(FUZZ["run_case"].__globals__, "app", call)
        return FUZZ["run_case"](FUZZ["Case"]("x", ["stats"]), tmp_path)["ended"]

    def leave(code, text=""):
        sys.stderr.write(text)
        raise SystemExit(code)

    def spin(_):
        while True:
            pass

    assert ended(lambda _: leave(0)) == "accepted"
    assert ended(lambda _: leave(2)) == ended(lambda _: leave(1, "[L546]")) == "traceback"
    assert ended(lambda _: 1 / 0) == "traceback"
    assert ended(lambda _: Path("mine.txt").write_text("x")) == "wrote outside"
    assert ended(lambda _: Path("out.txt").write_text("x")) == "accepted"
    monkeypatch.setitem(FUZZ["run_case"].__globals__, "SECONDS", 0.2)
    assert ended(spin) == "endless"


@pytest.mark.parametrize("n", [3])
def test_a_run_is_resumed(n, tmp_path, monkeypatch):
    asked = []

    def batch(numbers, seed):
        asked.append(list(numbers))
        yield {"case": numbers[0], "seed": seed, "kind": "x", "ended": "refused"}

    monkeypatch.setitem(FUZZ["main"].__globals__, "_in_a_process", batch)
    for _ in range(2):
        FUZZ["main"](tmp_path / "f.jsonl", cases=n, seed=0, batch=20, only=None)
    assert asked == [[0, 1, 2], [1, 2], [2]]
