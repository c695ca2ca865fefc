"""The parts of `benchmarks/soak.py` and `mutation.py` that decide what they say."""

import ast
import itertools
from pathlib import Path
from runpy import run_path

import pytest
import spacy

import tests.pipes.gated  # noqa: F401  # registers a secondary
from tests.contracts.saved import can_save

ROOT = Path(__file__).parents[2]


def script(name):
    return run_path(str(ROOT / "benchmarks" / f"{name}.py"))


def test_soak_sends_odd_documents_and_the_same_again():
    soak = script("soak")
    texts = list(itertools.islice(soak["texts"](3), 1000))
    assert texts == list(itertools.islice(soak["texts"](3), 1000))
    assert {len(text.split()) for text in texts} >= {0, 1, soak["LONG"]}
    assert set(soak["ODD"]) <= set(texts)
    for text in texts:
        text.encode("utf8")  # no lone surrogate, which spaCy cannot hold


def test_soak_finds_a_leak_and_none():
    slope = script("soak")["slope"]
    flat = [(n, 500.0) for n in range(0, 40_000, 1000)]
    assert slope(flat) == 0
    assert slope([(n, 100 + n / 1000) for n, _ in flat]) == pytest.approx(1024)  # 1 MB a thousand
    start = [(n, min(500.0, 100 + n)) for n, _ in flat]  # allocated at first
    assert slope(start) == pytest.approx(0, abs=1e-6)
    assert slope(flat[:10]) is None


def test_soak_reads_all_documents_and_sees_one_that_is_lost(tmp_path):
    soak = script("soak")
    can_save()["longtail_token_ner-softmax"](tmp_path / "saved")
    nlp = spacy.load(tmp_path / "saved")
    run = soak["soak"](nlp, 300, float("inf"), 50, 0)
    assert run.docs == 300 and run.sample and run.memory
    assert all(soak["is_same"](soak["shown"](nlp(text)), found) for text, found in run.sample)
    found = run.sample[0][1]
    assert not soak["is_same"](found, found._replace(ents=[*found.ents, (0, 1, "X")]))
    assert not soak["is_same"](found._replace(scores=[0.5]), found._replace(scores=[0.6]))

    class Losing:
        def pipe(self, stream, **settings):
            return (nlp_doc for i, nlp_doc in enumerate(nlp.pipe(stream, **settings)) if i != 5)

    with pytest.raises(RuntimeError, match="300 documents were sent, 299 came back"):
        soak["soak"](Losing(), 300, float("inf"), 50, 0)


CODE = """
def f(a: int = 3) -> "x + y":
    if not a or a < 1 and a + 1 == 2:
        raise ValueError(1 + 2)
    return [a, not a]
"""
CHANGED = {
    "not a or (a < 1 and a + 1 == 2)": "not a and (a < 1 and a + 1 == 2)",
    "a < 1 and a + 1 == 2": "a < 1 or a + 1 == 2",
    "a < 1": "a <= 1",
    "a + 1 == 2": "a + 1 != 2",
    "a + 1": "a - 1",
    "return [a, not a]": "return None",
}


def test_mutation_changes_one_thing_each(tmp_path):
    mutation = script("mutation")
    path = tmp_path / "code.py"
    path.write_text(CODE)
    found = [mutation["changed"](own) for own in mutation["mutants"]("any", path)]
    changes = [(before, after) for _, before, after in found]
    assert dict(changes).items() >= CHANGED.items()
    assert changes.count(("not a", "a")) == 2
    assert {change for change in changes if change[0].isdigit()} == {("1", "2"), ("2", "3"), ("3", "4")}
    plain = ast.unparse(ast.parse(CODE))
    for text, _, _ in found:
        ast.parse(text)
        lines = list(zip(text.splitlines(), plain.splitlines(), strict=True))
        assert sum(one != other for one, other in lines) == 1
        assert "raise ValueError(1 + 2)" in text and "x + y" in text


def test_mutation_knows_its_tests():
    mutation = script("mutation")
    for pattern, files in mutation["TESTS"].values():
        assert list(mutation["PACKAGE"].glob(pattern))
        assert all((ROOT / "tests" / file).is_file() for file in files)
