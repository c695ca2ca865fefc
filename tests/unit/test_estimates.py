"""What dry runs say of time: durations in words, sums, probes, and what fits into a budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.output.estimates import Estimate, Outlook, Stage, about, duration, rows, summary
from spacy_longtail.studies.matrix.rounds import Imagined, fitting
from spacy_longtail.training import probe as module
from spacy_longtail.training.probe import Probe, probe_training, time_steps
from spacy_longtail.training.train import load_filled
from tests.project.test_cli import CONFIG
from tests.util import toy_corpus, toy_docs

HOUR = 3600
PROBE = Probe(3.0, 0.5, 0.25, 0.01, 10, 101, 50, 200, 0)


class Ticks:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self, seconds=1.0):
        self.now, self.seconds = 0.0, seconds

    def __call__(self):
        self.now += self.seconds
        return self.now


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "below 1 ms"),
        (0.0123, "12 ms"),
        (1.0, "1 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (12 * 60, "12 min"),
        (89 * 60, "89 min"),
        (1.5 * HOUR, "1.5 h"),
        (35 * HOUR, "35.0 h"),
        (36 * HOUR, "1.5 days"),
    ],
)
def test_durations(seconds, words):
    assert duration(seconds) == words
    assert about(seconds) == f"about {words}" and about(seconds, True) == f"at most about {words}"


def test_workers_share_the_work_but_not_one_training():
    stages = [
        Stage("a", 4, "trainings", Estimate(10, "x")),
        Stage("b", 1, "trainings", Estimate(50, "x")),
    ]
    assert [Outlook([], stages, n).seconds for n in (1, 2, 3)] == [90, 50, 50]
    assert summary(Outlook([], stages, 2)) == "About 50 s in all with 2 at a time"


def test_what_is_not_known_is_named():
    known, unknown = (
        Stage("a", 2, "trainings", Estimate(10, "x", True)),
        Stage("b", 1, "trainings", None),
    )
    assert summary(Outlook([], [known, unknown])) == "At most about 20 s in all, without b"
    assert "not known" in summary(Outlook([], [unknown]))
    assert summary(Outlook([], [unknown._replace(n=0), known._replace(n=0)])).startswith("Nothing to do")
    data = Outlook(["f"], [known, unknown], 2, data={"own": 1}).as_json()
    assert data["own"] == 1 and data["facts"] == ["f"] and data["workers"] == 2
    assert (data["seconds"], data["at_most"], data["unknown"]) == (10.0, True, ["b"])
    assert [(s["seconds_each"], s["seconds"]) for s in data["stages"]] == [(10.0, 20.0), (None, None)]
    assert rows([known])[0] == ("a", "2 trainings", "at most 10 s", "at most 20 s", "x")
    assert rows([unknown])[0][1:] == ("1 training", "-", "-", "")


def test_a_time_limit_ends_what_is_longer():
    assert Estimate(10, "x").within(10) == Estimate(10, "x")
    assert Estimate(11, "x").within(10) == Estimate(10, "x; --minutes ends it", True)


# A training


def test_a_training_is_its_parts():
    found = PROBE.training(scored_words=500)
    assert found.seconds == pytest.approx(3 + 101 * 0.5 + 3 * (200 * 0.01 + 0.25) + 500 * 0.01)
    assert found.basis == "measured on 10 steps" and not found.at_most
    assert PROBE._replace(patience=9).training().at_most
    assert PROBE._replace(updates=None).training() is None


def test_first_steps_are_not_measured(monkeypatch):
    clock = Ticks(0.0)
    monkeypatch.setattr(module, "perf_counter", lambda: clock.now)

    def steps(times):
        for seconds in times:
            clock.now += seconds
            yield

    assert time_steps(steps([5.0, 1.0] + [0.5] * 50), 0.0) == (4.5, 0.5, 10)
    clock.now = 0.0
    start, update, n = time_steps(steps([4.0] * 50), 0.0)
    assert (start, update) == (0.0, 4.0) and n == math.ceil(
        (module.LONGEST - 4) / 4
    )  # slow ones are few
    clock.now = 0.0
    assert time_steps(steps([3.0, 1.0]), 0.0) == (2.0, 1.0, 1)  # an epoch of two batches
    clock.now = 0.0
    assert time_steps(steps([3.0]), 0.0) == (0.0, 3.0, 1)


@pytest.mark.parametrize(
    ("settings", "updates", "evaluations", "at_most"),
    [
        ({"max_steps": 100, "eval_frequency": 30, "patience": 0}, 101, 4, False),
        ({"max_steps": 90, "eval_frequency": 30, "patience": 50}, 91, 4, True),
        ({"max_steps": 0, "eval_frequency": 30, "patience": 50}, None, 0, True),
        ({"max_steps": 5000, "max_epochs": 3, "eval_frequency": 2, "patience": 0}, 3, 2, False),
    ],
)
def test_a_probe_knows_how_long_a_training_is(
    settings, updates, evaluations, at_most, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "perf_counter", Ticks())
    corpus = toy_corpus(tmp_path / "toy", train=toy_docs(3), dev=toy_docs())
    given = {f"training.{name}": value for name, value in settings.items()}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    found = probe_training(load_filled(CONFIG, corpus, given))
    n_words = sum(map(len, toy_docs()))
    assert (found.updates, found.patience > 0) == (updates, at_most)
    assert updates is None or found.evaluations(updates) == evaluations
    assert found.dev_words == n_words and found.update == found.save == 1.0
    assert found.word == pytest.approx(1 / n_words)
    assert found.n_measured == (1 if "max_epochs" in settings else int(module.LONGEST))
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_what_readers_print_is_not_the_commands(tmp_path, capsys):
    corpus = toy_corpus(tmp_path / "toy", train=toy_docs(3), dev=toy_docs())
    probe_training(load_filled(CONFIG.with_name("resampled.cfg"), corpus))
    assert not capsys.readouterr().out


def test_a_training_that_would_fail_is_told(tmp_path):
    corpus = toy_corpus(tmp_path / "toy")
    config = load_filled(CONFIG, corpus, {"paths.vectors": "nowhere"})
    with pytest.raises(ValueError, match=r"L564.*nowhere"):
        probe_training(config)


# A budget


def test_half_of_a_budget_is_for_the_first_fold():
    assert fitting([60.0] * 8, 5, Imagined(1000, 1)) == [8, 5, 3, 3, 2]
    # ten trainings: five of the first fold, then two folds of the better half
    assert fitting([60.0] * 8, 5, Imagined(10, 1)) == [6, 4]
    assert fitting([60.0] * 8, 5, Imagined(1, 1)) == [2]
    assert fitting([60.0] * 8, 5, Imagined(1, 8)) == [8]
    assert fitting([0.0] * 4, 3, Imagined(1, 1)) == [4, 3, 2]  # finished before
    assert fitting([300.0] + [90.0] * 7, 5, Imagined(10, 1)) == [4]  # no second fold fits


@given(
    st.lists(st.floats(0, 600), min_size=2, max_size=12),
    st.integers(3, 6),
    st.floats(1, 100),
    st.integers(1, 4),
)
def test_folds_have_ever_fewer_methods_and_keep_to_the_budget(seconds, n_folds, minutes, workers):
    budget = Imagined(minutes, workers)
    found = fitting(seconds, n_folds, budget)
    assert found == sorted(found, reverse=True) and len(found) <= n_folds
    assert 2 <= found[0] <= len(seconds) and min(found) >= 2
    if len(found) > 1:
        assert budget.left() >= -1e-6
