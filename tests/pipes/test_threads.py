"""A pipeline that eight threads use at once finds what one thread finds, and its counts are whole.

Where a race would lose something now and then, the test makes a thread wait at that place.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import numpy as np
import pytest
import spacy

from spacy_longtail.pipes.gate import budget as budgets
from spacy_longtail.pipes.gate.budget import BURST, Budget
from tests.contracts import saved
from tests.contracts.check_pipe import assert_same, shown
from tests.pipes.gated import TEXT, pipeline
from tests.util import entities

N = 8
CAN_SAVE = saved.can_save()
TEXTS = [
    *saved.TEXTS,
    *("Maria met Storm Ida . " * n for n in range(1, 8)),
    *("The Fram left Oslo . It rained . " * n for n in range(1, 6)),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where a trained pipeline of each kind is, by its name: saved when it is first asked for."""
    folder = tmp_path_factory.mktemp("pipelines")

    def find(name):
        if not (folder / name).is_dir():
            CAN_SAVE[name](folder / name)
        return folder / name

    return find


@pytest.fixture(autouse=True)
def often():
    """Threads take turns after a microsecond: most would be done after five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def by_threads(call, rows):
    """The results in order; all threads begin together, and what one raises is raised."""
    with ThreadPoolExecutor(N, initializer=Barrier(N).wait) as pool:
        return list(pool.map(call, rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*CAN_SAVE} - {"longtail_gliner"}))  # it saves its model's name
def test_eight_threads_find_what_one_finds(name, place):
    for package in saved.needs(name):
        pytest.importorskip(package)
    nlp = spacy.load(place(name))
    expected = [shown(nlp(text)) for text in TEXTS]
    assert any(ents or any(spans.values()) for ents, spans, _ in expected)
    nlp = spacy.load(place(name))
    assert_same(by_threads(lambda text: shown(nlp(text)), TEXTS * 3), expected * 3, 1e-4)


def test_a_budget_is_kept_by_all_threads(monkeypatch):
    original = budgets.insort
    monkeypatch.setattr(budgets, "insort", lambda *given: (time.sleep(0.0005), original(*given)))
    rng = np.random.default_rng(0)
    budget = Budget(0.25, rng.random(20))
    flags = by_threads(budget.flag, [rng.random(5) for _ in range(40)])
    assert budget.n_seen == 200
    assert budget.n_flagged == sum(int(own.sum()) for own in flags) <= 0.25 * 200 + BURST
    assert budget._sorted == sorted(budget._recent) and len(budget._sorted) == 220


def test_a_gated_pipe_counts_all_threads():
    nlp = pipeline()
    one = pipeline()
    expected = entities(one(TEXT))
    assert [entities(doc) for doc in by_threads(nlp, [TEXT] * 60)] == [expected] * 60
    own, alone = nlp.get_pipe("rescue").usage, one.get_pipe("rescue").usage
    for name in ("sentences", "flagged", "words", "calls", "entities", "refused", "failures"):
        assert own[name] == 60 * alone[name]


def test_failures_of_all_threads_stop_the_run():
    nlp = pipeline(max_failures=10)

    def read(text):
        with suppress(ValueError):
            nlp(text)
            return False
        return True

    assert sum(by_threads(read, ["FLAG BAD ."] * 30)) == 20
    assert nlp.get_pipe("rescue").usage["failures"] == 30
