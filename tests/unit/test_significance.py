import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.evaluation import significance
from spacy_longtail.evaluation.significance import (
    NO_CLAIM,
    Verdict,
    bootstrap,
    bootstrap_standard_error,
    corrected_by_score,
    describe,
    holm,
    intervals,
    judge,
    named_metrics,
    paired_bootstrap,
    paired_permutation,
    paired_t,
    stack,
)
from spacy_longtail.evaluation.significance.paired import PairedT, resampled_t
from spacy_longtail.scorers import make_ner_scorer
from tests.util import blank, documents_of


def mention_counts(rows, labels):
    return significance.mention_counts(documents_of(rows), labels)


LABELS = ["A", "B", "C"]  # no document has C; D is not declared
METRICS = named_metrics(LABELS, ["B", "C"])

places = st.integers(0, 29).flatmap(lambda start: st.tuples(st.just(start), st.integers(start + 1, 30)))
span = st.tuples(places, st.sampled_from("ABD")).map(lambda s: [*s[0], s[1]])
spans = st.lists(span, max_size=5)
bounds = st.lists(st.integers(1, 29), max_size=3, unique=True).map(
    lambda cuts: [list(pair) for pair in itertools.pairwise([0, *sorted(cuts), 30])]
)
document = st.fixed_dictionaries(
    {
        "text": st.just("x" * 30),
        "sentences": bounds,
        "gold": spans,
        "predicted": st.lists(st.tuples(span, st.sampled_from([None, 0.5])), max_size=5).map(
            lambda pairs: [[*own, score] for own, score in pairs]
        ),
    }
)


def texts(rng, n, skill, n_mentions=4):
    """Documents of one sentence, each found mention right with the document's own chance."""
    found = []
    for _ in range(n):
        gold, predicted = [], []
        for i in range(rng.integers(0, n_mentions + 1)):
            gold.append([3 * i, 3 * i + 2, str(rng.choice(["A", "A", "B"]))])
            if rng.random() < skill:
                predicted.append([*gold[-1], None])
            elif rng.random() < 0.5:
                predicted.append([3 * i, 3 * i + 2, "D", 0.4])
        found.append({"text": "", "sentences": [[0, 20]], "gold": gold, "predicted": predicted})
    return found


def simulated(skills, n=60, seed=0):
    """(n_units, n_seeds, n_types + 1, 3), one seed for each skill on the same gold."""
    found = []
    for i, skill in enumerate(skills):
        gold, rng = texts(np.random.default_rng(seed), n, 1.0), np.random.default_rng([seed, i, 1])
        for own in gold:
            own["predicted"] = [
                [*mention, None] if rng.random() < skill else [*mention[:2], "D", None]
                for mention in own["gold"]
            ]
        found.append(mention_counts(gold, LABELS))
    return stack(found)


# counts


@given(st.one_of(st.lists(document, max_size=4), st.lists(document, min_size=20, max_size=22)))
@settings(max_examples=60)
def test_counts_are_those_counted_one_by_one(documents):
    found = mention_counts(documents, LABELS)
    units = []
    for own in documents:
        whole = len(documents) >= 20
        edges = [(0, 30)] if whole else [tuple(bound) for bound in own["sentences"]]
        units += [(own, start, end) for start, end in edges]
    expected = np.zeros((len(units), 4, 3))
    for unit_i, (own, start, end) in enumerate(units):
        for type_i, label in enumerate([*LABELS, "D"]):
            gold = {(a, b) for a, b, t in own["gold"] if t == label and start <= a < end}
            predicted = [(a, b) for a, b, t, _ in own["predicted"] if t == label and start <= a < end]
            expected[unit_i, type_i] = len(gold & set(predicted)), len(predicted), len(gold)
    assert found.unit == ("document" if len(documents) >= 20 else "sentence")
    assert found.labels == tuple(LABELS)
    assert np.array_equal(found.counts, expected)


def test_seeds_are_stacked_if_they_are_of_the_same_data():
    documents = texts(np.random.default_rng(0), 30, 0.5)
    first = mention_counts(documents, LABELS)
    assert stack([first, first]).shape == (30, 2, 4, 3)
    assert np.array_equal(stack([first, first])[:, 1], first.counts)


# metrics


def test_metrics_are_the_scorers():
    """Also with a declared type that nobody has, and predictions and gold of an undeclared one."""
    nlp, rng = blank(), random.Random(3)
    examples, documents = [], []
    for _ in range(40):
        pair = []
        for _ in range(2):
            doc = Doc(nlp.vocab, words=["w"] * 12)
            at = [i for i in range(0, 12, 2) if rng.random() < 0.4]
            doc.set_ents([Span(doc, i, i + rng.choice([1, 1, 2]), rng.choice("ABBD")) for i in at])
            pair.append(doc)
        examples.append(Example(*pair))
        predicted, gold = ([[e.start_char, e.end_char, e.label_] for e in doc.ents] for doc in pair)
        predicted = [[*own, None] for own in predicted]
        documents.append({"sentences": [[0, 24]], "gold": gold, "predicted": predicted})
    with pytest.warns(UserWarning, match="LW002"):
        scores = make_ner_scorer(LABELS, ["B", "C"])(examples)
    sums = mention_counts(documents, LABELS).counts.sum(axis=0)
    own = {name: metric(sums) for name, metric in METRICS.items()}
    assert own["macro F1"] == pytest.approx(scores["ents_macro_f"])
    assert own["micro F1"] == pytest.approx(scores["ents_f"])
    assert own["tail F1"] == pytest.approx(scores["ents_tail_f"])
    assert own["weighted F1"] == pytest.approx(scores["ents_weighted_f"])
    assert 0 < own["micro F1"] < 1 and own["micro F1"] != pytest.approx(own["weighted F1"])
    for label in LABELS:
        for name, key in (("F1", "f"), ("precision", "p"), ("recall", "r")):
            assert own[f"{name} of {label}"] == pytest.approx(scores["ents_per_type"][label][key])


def test_equal_systems_do_not_differ_and_nothing_scores_zero():
    for labels in (LABELS, []):
        for metric in named_metrics(labels).values():
            assert metric(np.zeros((2, len(labels) + 1, 3))).tolist() == [0, 0]
    none = stack([mention_counts([{"sentences": [], "gold": [], "predicted": []}] * 30, LABELS)])
    assert set(intervals(none, METRICS, n_draws=50).values()) == {(0, 0, 0)}
    assert set(paired_bootstrap(none, none, METRICS, n_draws=50).values()) == {(0, 0, 0, 1)}
    one = simulated([0.5, 0.7])
    for other in (one, one[:, ::-1]):  # the same seeds in another order: equal but for rounding
        for found in paired_bootstrap(one, other, METRICS, n_draws=300).values():
            assert found[:4] == pytest.approx((0, 0, 0, 1), abs=1e-12)
        for verdict in judge(one, other, METRICS, "document", n_draws=300).values():
            assert verdict.outcome == "no difference shown" and verdict.p == 1


# bootstrap


def test_bca_is_that_of_scipy():
    counts = simulated([0.7], n=40)
    metrics = {name: METRICS[name] for name in ("micro F1", "recall of B")}
    found = intervals(counts, metrics, n_draws=40_000)
    for name, own in {"micro F1": counts[:, 0].sum(axis=1), "recall of B": counts[:, 0, 1]}.items():

        def score(right, predicted, gold, axis, name=name):
            whole = predicted.sum(axis) + gold.sum(axis) if name == "micro F1" else 2 * gold.sum(axis)
            return 2 * right.sum(axis) / whole

        data = [own[:, i].astype(float) for i in range(3)]
        kwargs = {"paired": True, "n_resamples": 40_000, "rng": np.random.default_rng(1)}
        theirs = stats.bootstrap(data, score, method="BCa", **kwargs).confidence_interval
        # a hundredth of the width is some four standard errors of a quantile of 40,000 draws
        within = {"abs": 0.02 * (theirs.high - theirs.low)}
        assert found[name].low == pytest.approx(theirs.low, **within)
        assert found[name].high == pytest.approx(theirs.high, **within)
        assert found[name].value == pytest.approx(score(*data, axis=-1))
        plain = stats.bootstrap(data, score, method="percentile", **kwargs).confidence_interval
    # the correction is more than the tolerance
    assert abs(found["recall of B"].low - plain.low) > 0.02 * (plain.high - plain.low)


def test_chunks_do_not_change_the_draws(monkeypatch):
    one, two = simulated([0.7, 0.6]), simulated([0.5])
    whole = paired_bootstrap(one, two, METRICS, n_draws=300)
    monkeypatch.setattr(bootstrap, "MEMORY", 8 * 2000)
    for name, own in paired_bootstrap(one, two, METRICS, n_draws=300).items():
        assert own[:4] == pytest.approx(whole[name][:4], abs=1e-12)


def test_a_paired_bootstrap_by_hand():
    """Every draw computed anew from its documents, seeds averaged, both systems together."""
    seeds = simulated([0.7, 0.75, 0.7], n=25, seed=1)
    one, two = seeds[:, :2], seeds[:, 2:]
    found = paired_bootstrap(one, two, METRICS, n_draws=200, seed=4)
    draws_of_units = np.random.default_rng(4).integers(0, 25, (200, 25))
    for name in ("macro F1", "F1 of A", "micro F1"):
        draws = []
        for drawn in draws_of_units:
            means = [
                np.mean([METRICS[name](own[drawn, i].sum(axis=0)) for i in range(own.shape[1])])
                for own in (one, two)
            ]
            draws.append(means[1] - means[0])
        draws = np.array(draws)
        p = min(1, 2 * (1 + min((draws <= 1e-12).sum(), (draws >= -1e-12).sum())) / 201)
        assert found[name].p == pytest.approx(p)
        # 201 * 0.025 = 5.025: the fifth draws from both ends
        assert found[name][1:3] == pytest.approx(np.sort(draws)[[4, -5]])
    assert 0.02 < found["micro F1"].p < 1


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(39, 400))
@settings(max_examples=60)
def test_the_interval_and_p_agree(n, seed, n_draws):
    """Both are of the same draws: p is at most 0.05 exactly where 0 is outside the interval."""
    one, two = simulated([0.5, 0.6], n, seed), simulated([0.65], n, seed)
    for found in paired_bootstrap(one, two, METRICS, n_draws=n_draws, seed=seed).values():
        assert (found.p <= 0.05 + 1e-12) == (found.low > 0 or found.high < 0)


# over seeds

DIFFERENCES = np.array([0.4, 0.1, 0.6, 0.3, 0.2])


def test_the_worked_figures_and_the_t_of_nadeau_and_bengio():
    scores = [0.5, 0.6, 0.55, 0.7, 0.52]
    assert bootstrap_standard_error(scores) == pytest.approx(np.std(scores) / 5**0.5, rel=0.03)
    assert bootstrap_standard_error([0.5]) == 0
    found = paired_t([0.1] * 5, 0.1 + DIFFERENCES)
    assert found.t == pytest.approx(3.720, abs=5e-4) and found.p == pytest.approx(0.0205, abs=5e-5)
    assert found.df == 4 and paired_t([0.1], [0.5]) is None
    two = paired_t([0.1, 0.1], [0.2, 0.4])  # differences 0.1 and 0.3: 0.2 / (0.1414 / sqrt(2))
    assert two.t == pytest.approx(2.0) and two.df == 1
    assert paired_t([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]) is None  # the same, but for rounding
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    d = np.array([1.2, -0.3, 0.8, 2.0, 0.4])
    found = resampled_t(d, 0.25)
    error = math.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(d.mean() / error, 4))
    assert found.p_worse == pytest.approx(stats.t.cdf(0, 4, loc=d.mean(), scale=error))
    low, high = stats.t.interval(0.95, 4, loc=d.mean(), scale=error)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p > stats.ttest_1samp(d, 0).pvalue  # the plain test is too sure
    assert resampled_t([1.0], 0.25) is None and resampled_t([0.5, 0.5], 0.25) is None


@pytest.mark.parametrize("n_seeds", range(1, 9))
def test_all_seeds_ahead_is_the_least_p(n_seeds):
    first, second = np.zeros(n_seeds), np.linspace(0.1, 0.2, n_seeds)
    assert paired_permutation(first, second) == pytest.approx(2.0 ** (1 - n_seeds))
    assert paired_permutation(second, first) == pytest.approx(2.0 ** (1 - n_seeds))
    assert paired_permutation(first, first) == 1


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
@example([1, 2, 3, -2, -4])  # sums of 0 that rounding makes unequal
@settings(max_examples=60)
def test_permutations_are_counted_with_ties(numbers):
    d = np.array(numbers) / 10
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    p = (np.abs((signs * d).mean(axis=1)) >= abs(d.mean()) - 1e-9).mean()
    assert paired_permutation(np.full(len(d), 0.3), 0.3 + d) == pytest.approx(p)


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms())
def test_holm_keeps_the_order_it_is_given(p, shuffler):
    order = list(range(len(p)))
    shuffler.shuffle(order)
    found = holm(p)
    assert holm([p[i] for i in order]) == pytest.approx(found[order])
    assert (found >= np.array(p)).all() and (found <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all()


# verdicts


def verdict_on(metric="micro F1", n=80, **skills):
    """The verdict on `ours` against `base`, each a list of the skills of its seeds."""
    base, *others = (simulated(own, n) for own in skills.values())
    methods = dict(zip([name for name in skills if name != "base"], others, strict=True))
    own = {metric: METRICS[metric]}
    found = corrected_by_score(
        {name: judge(base, counts, own, "document", n_draws=1000) for name, counts in methods.items()}
    )
    return {name: own[metric] for name, own in found.items()}


def test_verdicts_over_six_seeds_and_what_holm_takes_back():
    ahead = np.linspace(0.7, 0.8, 6)
    skills = {"base": [0.4] * 6, "ours": ahead}
    found = verdict_on(**skills)["ours"]
    assert found.outcome == "better" and found.adjusted == found.p_seeds == pytest.approx(2 / 64)
    assert found.test == ("paired bootstrap over 80 documents, and paired permutation test over 6 seeds")
    assert found.p == pytest.approx(2 / 1001) and found.t.p < 0.01 and found.t.df == 5
    assert verdict_on(base=[0.4] * 5, ours=ahead[:5])["ours"].t is None
    assert verdict_on(base=[0.4] * 5, ours=ahead)["ours"].test.startswith("paired bootstrap")
    # Six seeds all ahead have p = 0.031, which is enough for one method and not for two.
    for found in verdict_on(**skills, like=np.linspace(0.8, 0.7, 6)).values():
        assert found.p_seeds == pytest.approx(2 / 64) and found.adjusted == pytest.approx(4 / 64)
        assert found.outcome == "no difference shown"


@pytest.mark.parametrize("n", [1, 5, 6])
def test_a_handful_of_units_shows_nothing(n):
    """Where each document is better, any draw of them is: p could be made arbitrarily small."""
    own = {"sentences": [], "gold": [[0, 2, "A"]], "predicted": []}
    found = [{**own, "predicted": [[0, 2, "A", None]]}] * n
    base, ours = (stack([mention_counts(docs, LABELS)]) for docs in ([own] * n, found))
    verdict = judge(base, ours, {"F1 of A": METRICS["F1 of A"]}, "sentence", n_draws=500)["F1 of A"]
    assert verdict.value == 1 and verdict.p < 0.01
    assert verdict.outcome == ("better" if n == 6 else "no difference shown")


def test_verdicts_in_words():
    test = "paired bootstrap over 42 documents"
    seeds = (6, PairedT(4.0, 0.01, 5))
    better = Verdict(0, 0.31, 0.31, 0.12, 0.44, 0.0002, 0.03, 0.03, test, *seeds, "better")
    nothing = better._replace(value=-0.002, p=0.6, adjusted=1.0, outcome=NO_CLAIM, test="another")
    first, rest, *tests = describe("sCR", {"micro F1": nothing, "F1 of NAT": better})
    assert first.startswith("sCR improves F1 of NAT from 0.0 to 31.0 (+31.0, 95 % interval +12.0 to")
    assert rest.startswith("micro F1: no difference shown (−0.2") and "p = 1.000" in rest
    assert len(tests) == 2 and test in tests[1]
