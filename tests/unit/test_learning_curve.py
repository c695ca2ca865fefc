"""The power law of a learning curve: what is fitted, how sure it is, and what is not said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.evaluation.labelling import Density, Lift
from spacy_longtail.evaluation.learning_curve import FAR, Law, Size, fit_power_law, usable

optimize = pytest.importorskip("scipy.optimize", reason="needs the extra 'report'")

LAWS = [Law(0.8, 1.2, 0.5), Law(0.65, 2.0, 0.8), Law(0.95, 1.3, 0.3), Law(0.7, 0.6, 0.4)]
NS = [5, 10, 20, 40, 80]


def exact(law, ns=NS, runs=2):
    return [Size(n, [law.at(n)] * runs) for n in ns]


def noisy(law, ns, runs, sd, rng):
    return [Size(n, np.clip(law.at(n) + rng.normal(0, sd, runs), 0, 1).tolist()) for n in ns]


def size_for(law, target):
    return (law.b / (law.a - target)) ** (1 / law.c)


@pytest.mark.parametrize("law", LAWS)
def test_a_law_without_noise_is_found(law):
    fit = fit_power_law(exact(law, [6, 10, 20, 40, 80, 160]))
    assert fit.law == pytest.approx(law, rel=1e-4)
    assert fit.at(640).value == pytest.approx(law.at(640), abs=1e-5)
    assert fit.at(640).low == pytest.approx(law.at(640), abs=0.01)  # draws are on a grid of c
    target = law.at(300)
    found = fit.needed(target)
    assert found.value == pytest.approx(300, rel=1e-3)
    assert found.low == pytest.approx(found.high, rel=0.08)


@pytest.mark.parametrize("law", LAWS)
def test_a_law_in_noise_is_found_by_many_runs(law):
    fit = fit_power_law(noisy(law, [*NS, 160, 320], 400, 0.05, np.random.default_rng(0)))
    assert fit.law.a == pytest.approx(law.a, abs=0.03)
    assert fit.law.c == pytest.approx(law.c, rel=0.15)
    low, high = fit.at(1280)[1:]
    assert low <= law.at(1280) <= high and high - low < 0.06


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_the_weighted_least_squares_of_scipy(seed):
    rng = np.random.default_rng(seed)
    sizes = [Size(n, rng.normal(LAWS[0].at(n), 0.04, 4).tolist()) for n in NS]
    fit = fit_power_law(sizes)
    means = np.array([np.mean(s.scores) for s in sizes])
    # sds shrunk half-way between those of single sizes and the pooled one
    squares = np.array([np.var(s.scores) * 4 for s in sizes])
    variances = (4 * squares.sum() / 15 + squares) / 7
    n = np.array(NS, dtype=float)

    def loss(a, b, c):
        return ((means - a + b * n**-c) ** 2 / variances).sum()

    starts = [(0.8, 1.0, c) for c in (0.1, 0.5, 1.5)]
    bounds = [(0, 1), (0, 50), (0.05, 3)]
    best = min(
        optimize.minimize(lambda v: loss(*v), s, bounds=bounds, method="L-BFGS-B").fun for s in starts
    )
    assert loss(*fit.law) <= best * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize(("runs", "sd", "least"), [(5, 0.05, 0.82), (2, 0.05, 0.80), (3, 0.1, 0.82)])
def test_intervals_hold_the_truth_nine_times_of_ten(runs, sd, least):
    hits = []
    for law in LAWS:
        rng, target = np.random.default_rng(runs), min(0.6, law.a - 0.05)
        for i in range(50):
            fit = fit_power_law(noisy(law, NS, runs, sd, rng), n_draws=400, seed=i)
            found = fit.needed(target)
            low, high = found.low or np.inf, found.high or np.inf
            inside = [low <= max(size_for(law, target), 5) <= high]
            for n in (80, 160, 320):
                expected = fit.at(n)
                inside.append(expected.low <= law.at(n) <= expected.high)
            hits.append(inside)
    shares = np.mean(hits, axis=0)
    assert shares.min() >= least and shares.max() <= 0.97


def test_partitions_that_nest_are_not_taken_for_independent():
    """A partition that is lucky with few mentions is so with more of them, too."""
    ns, hits, widths = [*NS, 160], [], []
    for alike in (0.6, 0.0):
        for law in LAWS[:3]:
            rng = np.random.default_rng(0)
            for i in range(50):
                luck = rng.normal(0, 1, (5, len(ns)))
                for j in range(1, len(ns)):
                    luck[:, j] = alike * luck[:, j - 1] + np.sqrt(1 - alike**2) * luck[:, j]
                sizes = [Size(n, (law.at(n) + 0.05 * luck[:, j]).tolist()) for j, n in enumerate(ns)]
                expected = fit_power_law(sizes, n_draws=400, seed=i).at(160)
                widths.append(expected.high - expected.low)
                hits.append(expected.low <= law.at(160) <= expected.high)
    half = len(hits) // 2
    assert np.mean(hits[:half]) > 0.72 and np.mean(hits[half:]) > 0.8
    assert np.mean(widths[:half]) > 1.15 * np.mean(widths[half:])


def test_the_first_half_of_a_curve_tells_the_second():
    errors, inside = [], []
    for law in LAWS:
        rng = np.random.default_rng(7)
        for i in range(25):
            fit = fit_power_law(noisy(law, [5, 10, 20, 40], 5, 0.03, rng), n_draws=400, seed=i)
            for n in (80, 160, 320):
                expected = fit.at(n)
                errors.append(abs(expected.value - law.at(n)))
                inside.append(expected.low <= law.at(n) <= expected.high)
    assert np.mean(errors) < 0.05 and np.mean(inside) > 0.82


laws = st.builds(Law, st.floats(0.1, 1), st.floats(0, 5), st.floats(0.05, 3))


@given(law=laws, n=st.floats(1, 1e5), more=st.floats(1, 100))
def test_more_never_lowers_what_is_expected(law, n, more):
    assert 0 <= law.at(n) <= law.at(n * more) <= 1


@given(
    scores=st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=4), min_size=4, max_size=6).filter(
        lambda rows: max(rows[0]) > 0
    )
)
def test_whatever_was_measured_the_law_is_one(scores):
    sizes = [Size(5 * 2**i, own) for i, own in enumerate(scores)]
    fit = fit_power_law(sizes, n_draws=30)
    for a, b, c in [fit.law, *fit.draws]:
        assert a <= 1 + 1e-9 and b >= 0 and 0.05 - 1e-9 <= c <= 3 + 1e-9
    before = None
    for n in (5, 40, 160, 640):
        value, low, high = fit.at(n)
        assert 0 <= low <= value <= high <= 1
        assert before is None or all(x <= y + 1e-12 for x, y in zip(before, (value, low, high)))
        before = value, low, high
    numbers = [fit.needed(t).value or np.inf for t in (0.1, 0.4, 0.7, 1.0)]
    assert numbers == sorted(numbers)
    for target in (0.2, 0.6):
        found = fit.needed(target)
        if found.value is not None:
            assert found.low <= found.value <= (found.high or np.inf)
            assert fit.smallest <= found.value <= FAR * fit.largest


def test_a_flat_curve_promises_nothing():
    rng = np.random.default_rng(3)
    flat = [Size(n, rng.normal(0.4, 0.03, 5).tolist()) for n in NS]
    fit = fit_power_law(flat)
    assert fit.is_flat and fit.needed(0.6) == ("out of reach", None, None, None)
    falling = fit_power_law([Size(n, [0.6 - 0.001 * n, 0.61 - 0.001 * n]) for n in NS])
    assert falling.law.b == 0 and falling.is_flat
    assert falling.at(10).value == falling.at(1000).value
    assert falling.needed(0.3).reach == "reached"  # it is there already
    assert not fit_power_law(exact(LAWS[0])).is_flat


def test_a_target_above_the_end_of_the_curve_is_out_of_reach():
    rng = np.random.default_rng(0)
    fit = fit_power_law(noisy(Law(0.5, 2.0, 1.0), [*NS, 160, 320], 5, 0.02, rng))
    assert not fit.is_flat and fit.asymptote.high < 0.6
    assert fit.needed(0.6) == ("out of reach", None, None, None)
    assert fit.needed(0.45).reach == "reached"


def test_a_target_that_is_not_excluded_has_a_lower_limit_alone():
    found = None
    for seed in range(20):
        fit = fit_power_law(noisy(LAWS[1], NS, 2, 0.05, np.random.default_rng(seed)))
        found = fit.needed(0.68)
        if found.reach == "open":
            break
    assert found.reach == "open" and found.value is None and found.high is None
    assert 5 <= found.low <= FAR * 80 and fit.asymptote.high >= 0.68


def test_nothing_is_said_of_sizes_far_beyond():
    law = Law(1.0, 1.0, 0.1)  # 0.6 takes some 9,500
    fit = fit_power_law(exact(law, [2, 4, 8, 16, 32]))
    assert fit.needed(0.6).value is None and size_for(law, 0.6) > FAR * 32
    assert fit.needed(0.5).value == pytest.approx(1024, rel=0.01)
    low = fit_power_law(exact(LAWS[0], [20, 40, 80, 160])).needed(0.3)
    assert low == ("reached", 20, 20, 20)  # nor of those below


def test_what_there_is_too_little_for():
    law = LAWS[0]
    assert fit_power_law(exact(law)[:3]) is None
    assert fit_power_law(exact(law, runs=1)) is None
    assert fit_power_law(exact(law)[:4]) is not None
    assert fit_power_law([*exact(law)[:3], Size(40, [0.6])]) is None
    assert fit_power_law([]) is None


def test_sizes_before_the_first_success_are_left_out():
    nothing = [Size(2, [0.0, 0.0]), Size(3, [0.0, 0.0])]
    with_zeros = fit_power_law([*nothing, *exact(LAWS[0])])
    assert with_zeros.law == pytest.approx(fit_power_law(exact(LAWS[0])).law)
    later = [Size(5, [0.1, 0.2]), Size(10, [0.0, 0.0]), Size(20, [0.3, 0.2])]
    assert usable(later) == later  # a failure in between is one
    assert usable([Size(0, [0.1, 0.2]), Size(9, [0.1])]) == []
    assert usable([Size(9, [0.0, 0.0])]) == []
    assert fit_power_law([*nothing, Size(5, [0.1, 0.1]), Size(9, [0.2, 0.2])]) is None


def test_sizes_may_come_in_any_order():
    sizes = noisy(LAWS[0], NS, 3, 0.05, np.random.default_rng(1))
    first, second = fit_power_law(sizes, seed=4), fit_power_law(sizes[::-1], seed=4)
    assert first.law == second.law and np.array_equal(first.draws, second.draws)


def test_a_size_whose_runs_differ_weighs_less():
    law = LAWS[0]
    sure = noisy(law, [*NS, 160], 20, 0.005, np.random.default_rng(0))
    wild = np.random.default_rng(1).normal(0.2, 0.4, 20).clip(0, 1).tolist()
    fit = fit_power_law([*sure[:3], Size(40, wild), *sure[4:]])
    assert fit.at(160).value == pytest.approx(law.at(160), abs=0.01)
    low, high = fit_power_law(sure).at(640)[1:]
    assert high - low < np.subtract(*fit.at(640)[:0:-1])


def test_an_end_above_one_is_held_at_one():
    steep = [Size(n, [1.2 - 1.5 * n**-0.3] * 2) for n in (5, 10, 20, 40)]  # 0.7 at 40
    fit = fit_power_law(steep)
    assert fit.law.a == pytest.approx(1.0) and fit.draws[0][0] == pytest.approx(1.0)
    for a, b, c in (fit.law, fit.draws[0]):
        assert all(abs(a - b * s.n**-c - s.scores[0]) < 0.02 for s in steep)
    fast = [Size(n, [y, y]) for n, y in zip((5, 10, 20, 40), (0.1, 0.2, 0.4, 0.8))]
    fit = fit_power_law(fast, n_draws=2)
    n, y = (np.array([s.n for s in fast]), np.array([s.scores[0] for s in fast]))
    best, drawn = (((y - a + b * n**-c) ** 2).sum() for a, b, c in (fit.law, fit.draws[0]))
    assert fit.law.a == pytest.approx(1.0) and drawn <= 1.005 * best  # the grid's b is the one of a = 1


def test_a_size_with_many_runs_does_not_move_with_its_neighbour():
    alike = [Size(n, [LAWS[0].at(n) - 0.1, LAWS[0].at(n) + 0.1]) for n in NS]
    many = Size(160, np.random.default_rng(0).normal(LAWS[0].at(160), 0.02, 400).tolist())
    _, low, high = fit_power_law([*alike, many]).at(160)
    assert high - low < 0.03


def test_more_runs_are_surer():
    widths = []
    for runs in (3, 48):
        fit = fit_power_law(noisy(LAWS[0], NS, runs, 0.05, np.random.default_rng(5)))
        _, low, high = fit.at(160)
        widths.append(high - low)
    assert widths[1] < 0.5 * widths[0]


def test_a_seed_fixes_the_draws():
    sizes = noisy(LAWS[0], NS, 3, 0.05, np.random.default_rng(1))
    state = np.random.get_state()[1].tolist()
    first, again, other = (fit_power_law(sizes, n_draws=50, seed=s).draws for s in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.random.get_state()[1].tolist() == state


def test_what_labels_cost():
    density = Density(mentions=40, sentences=1000)
    assert density.sentences_for(8) == 200
    assert density.sentences_for(-3) == 0  # there are more already
    assert density.sentences_for(8, Lift("mine", 4.0, 200, 10_000, 2)) == 50
