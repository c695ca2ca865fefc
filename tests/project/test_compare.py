"""The table of scripts/compare.py: means and spreads of the records, and a choice made on dev."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare.py"


@pytest.fixture
def compare():
    spec = importlib.util.spec_from_file_location("compare", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(config, seed, dev, test):
    scores = {"ents_f": test, "ents_tail_f": test, "ents_macro_f": test}
    per_type = {"NAT": {"p": test, "r": test, "f": test, "support": 7}}
    return {
        "config": config,
        "seed": seed,
        "dev": {"ents_macro_f": dev},
        "test": {**scores, "ents_per_type": per_type},
    }


def test_the_table(compare, capsys):
    records = [record("baseline", s, 0.9, 0.5 + 0.1 * s) for s in range(3)]
    records += [record("a", 0, 0.6, 0.1), record("b", 0, 0.5, 0.9)]
    compare.print_table(records, ["baseline", "a", "b", "c"], {"baseline"})
    text = capsys.readouterr().out
    assert "| baseline | 3 | 90.0 ± 0.0 | 60.0 ± 10.0 |" in text
    assert "NAT (7)" in text
    assert "Ours, the best on dev macro F1: a" in text  # b is better on test, which has no say


def test_one_record_has_no_spread(compare):
    assert compare.spread([0.5]) == "50.0"
