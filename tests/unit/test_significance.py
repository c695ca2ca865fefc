import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spacy_longtail.evaluation import significance
from spacy_longtail.evaluation.significance import (
    compare,
    correct,
    describe,
    headline,
    holm,
    how_tested,
    intervals,
    named_metrics,
    outcome_in_words,
    stack,
)
from spacy_longtail.evaluation.significance.decisions import SEED_SD_SHARED, SEED_SD_TYPE
from spacy_longtail.scorers import make_ner_scorer
from tests.util import blank, documents_of, spans_example


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


def gold_documents(n, seed=0):
    """Documents of one sentence with up to four mentions, in which nothing is predicted."""
    rng = np.random.default_rng(seed)
    return [
        {
            "text": "",
            "sentences": [[0, 20]],
            "gold": [[3 * i, 3 * i + 2, str(rng.choice(["A", "A", "B"]))] for i in range(n_mentions)],
            "predicted": [],
        }
        for n_mentions in rng.integers(0, 5, n)
    ]


def simulated(skills, n=60, seed=0):
    """(n_units, n_seeds, n_types + 1, 3), one seed for each skill on the same gold.

    skills: Fraction of the mentions that are found right; the others get the type D.
    """
    found = []
    for i, skill in enumerate(skills):
        documents, rng = gold_documents(n, seed), np.random.default_rng([seed, i, 1])
        for own in documents:
            own["predicted"] = [
                [*mention, None] if rng.random() < skill else [*mention[:2], "D", None]
                for mention in own["gold"]
            ]
        found.append(mention_counts(documents, LABELS))
    return stack(found)


# counts


@given(st.lists(document, max_size=6))
@settings(max_examples=60)
def test_counts_are_those_counted_one_by_one(documents):
    found = mention_counts(documents, LABELS)
    expected = np.zeros((len(documents), 4, 3))
    for unit_i, own in enumerate(documents):
        for type_i, label in enumerate([*LABELS, "D"]):
            gold = {(a, b) for a, b, t in own["gold"] if t == label}
            predicted = [(a, b) for a, b, t, _ in own["predicted"] if t == label]
            expected[unit_i, type_i] = len(gold & set(predicted)), len(predicted), len(gold)
    assert found.unit == "document" and found.labels == tuple(LABELS)
    assert np.array_equal(found.counts, expected)


def test_few_documents_are_not_taken_apart_into_sentences():
    document = {"text": "", "sentences": [[0, 10], [10, 20], [20, 30]], "gold": [], "predicted": []}
    found = mention_counts([document] * 3, LABELS)
    assert (found.unit, len(found.counts)) == ("document", 3)


def test_documents_of_one_group_are_one_unit():
    mention = {"text": "", "sentences": [], "gold": [[0, 2, "A"]], "predicted": []}
    groups = ["harbour", None, "orchard", "harbour", None]
    found = mention_counts([{**mention, "group": group} for group in groups], LABELS)
    assert found.unit == "group"
    assert found.counts[:, 0, 2].tolist() == [2, 1, 1, 1]


def test_seeds_are_stacked_if_they_are_of_the_same_data():
    first = mention_counts(gold_documents(30), LABELS)
    assert stack([first, first]).shape == (30, 2, 4, 3)
    assert np.array_equal(stack([first, first])[:, 1], first.counts)


# metrics


def test_metrics_are_the_scorers():
    """Also with a declared type that nobody has, and predictions and gold of an undeclared one."""
    nlp, rng = blank(), random.Random(3)
    examples, documents = [], []
    for _ in range(40):
        gold, predicted = (
            [
                [i, i + rng.choice([1, 1, 2]), rng.choice("ABBD")]
                for i in range(0, 12, 2)
                if rng.random() < 0.4
            ]
            for _ in range(2)
        )
        examples.append(spans_example(nlp, gold, predicted, n=12))
        scored = [[*own, None] for own in predicted]
        documents.append({"sentences": [[0, 12]], "gold": gold, "predicted": scored})
    with pytest.warns(UserWarning, match="LW002"):
        scores = make_ner_scorer(LABELS, ["B", "C"])(examples)
    sums = mention_counts(documents, LABELS).counts.sum(axis=0)
    own = {name: metric(sums) for name, metric in METRICS.items()}
    assert own["macro F1"] == pytest.approx(scores["ents_macro_f"])
    assert own["micro F1"] == pytest.approx(scores["ents_f"])
    assert own["tail F1"] == pytest.approx(scores["ents_tail_f"])
    assert own["weighted F1"] == pytest.approx(scores["ents_weighted_f"])
    assert 0 < own["micro F1"] < 1 and own["micro F1"] != pytest.approx(own["weighted F1"])
    names = {"F1": "f", "precision": "p", "recall": "r"}
    for label, (name, key) in itertools.product(LABELS, names.items()):
        assert own[f"{name} of {label}"] == pytest.approx(scores["ents_per_type"][label][key])


def test_nothing_scores_zero():
    for labels in (LABELS, []):
        for metric in named_metrics(labels).values():
            assert metric(np.zeros((2, len(labels) + 1, 3))).tolist() == [0, 0]


# decisions


def rows(*per_document):
    """Counts of one system with one type: (correct, predicted, gold) of each document, per seed."""
    counts = np.zeros((len(per_document), len(per_document[0]), 2, 3))
    counts[:, :, 0] = per_document
    return counts


ONE = named_metrics(["A"])
F1 = {"F1 of A": ONE["F1 of A"]}


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_equal_systems_are_not_significant(order):
    one = simulated([0.5, 0.7])
    for own in compare(one, one[:, order], METRICS, n_draws=299).values():
        assert own.value == pytest.approx(0, abs=1e-12) and own.p == 1
        assert not own.is_significant


def test_the_p_of_a_few_documents_is_that_of_all_signs(monkeypatch):
    """Without any spread over seeds the draws are those of Fisher's randomisation test."""
    monkeypatch.setattr(significance.decisions, "SEED_SD_SHARED", 0.0)
    monkeypatch.setattr(significance.decisions, "SEED_SD_TYPE", 0.0)
    base = rows(*[[(c, 10, 10)] for c in (5, 4, 6, 5, 3, 5, 6)])
    ours = rows(*[[(c, 10, 10)] for c in (7, 5, 7, 6, 5, 4, 8)])
    gains = np.array([2, 1, 1, 1, 2, -1, 2])
    signs = np.array(list(itertools.product([1, -1], repeat=7)))
    exact = (np.abs(signs @ gains) >= gains.sum()).mean()
    found = compare(base, ours, F1, primary="F1 of A", n_draws=39_999)["F1 of A"]
    assert found.value == pytest.approx(gains.sum() / 70)
    assert found.p == pytest.approx(exact, abs=0.006)


@given(st.integers(6, 30), st.integers(0, 2**32 - 1), st.integers(39, 400))
@settings(max_examples=40)
def test_the_interval_excludes_0_exactly_where_p_is_at_most_5_percent(n, seed, n_draws):
    one, two = simulated([0.5, 0.6], n, seed), simulated([0.7], n, seed)
    for own in compare(one, two, METRICS, n_draws=n_draws, seed=seed).values():
        assert (own.p <= 0.05 + 1e-12) == (own.low > 0 or own.high < 0)


def test_more_seeds_do_not_destroy_a_claim():
    base = [0.4 + 0.01 * (i % 3) for i in range(10)]
    ours = [0.7 + 0.01 * (i % 2) for i in range(10)]
    for n in range(1, 11):
        first, second = simulated(base[:n], n=200), simulated(ours[:n], n=200, seed=0)
        found = compare(first, second, METRICS, n_draws=999)["macro F1"]
        assert found.outcome == "better", n
        assert found.n_seeds == (n, n)


def test_the_spread_over_seeds_is_in_the_interval():
    steady = simulated([0.5] * 4, n=300)
    unsteady = simulated([0.2, 0.8, 0.3, 0.9], n=300)
    against = simulated([0.5] * 4, n=300, seed=0)
    narrow, wide = (
        compare(against, own, METRICS, n_draws=999)["macro F1"] for own in (steady, unsteady)
    )
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


def test_one_seed_has_the_spread_of_our_records():
    one = np.tile(rows([(5, 10, 10)]), (400, 1, 1, 1))
    two = np.tile(rows([(6, 10, 10)]), (400, 1, 1, 1))
    found = compare(one, two, F1, primary="F1 of A")["F1 of A"]
    sd = math.sqrt(2 * (SEED_SD_SHARED**2 + SEED_SD_TYPE**2))
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 6) * sd, rel=0.1)


def test_the_spread_over_seeds_shrinks_with_the_number_of_folds():
    one, two = simulated([0.5], n=400), simulated([0.5], n=400)
    alone, folds = (compare(one, two, METRICS, n_trainings=n, n_draws=999)["macro F1"] for n in (1, 5))
    assert folds.high < alone.high / 1.8  # the square root of 5 is 2.2


def test_shared_training_sentences_are_differences_within_pairs():
    """Each partition is as good or bad for both methods, so only the differences count."""
    base, ours = [0.2, 0.5, 0.8, 0.3], [0.3, 0.6, 0.9, 0.4]
    first, second = simulated(base, n=300), simulated(ours, n=300)
    alone, paired = (
        compare(first, second, METRICS, is_paired=own, n_draws=999)["macro F1"] for own in (False, True)
    )
    assert alone.value == paired.value
    assert paired.outcome == "better" and alone.outcome == "not significant"


@pytest.mark.parametrize(("is_paired", "squares", "df"), [(False, 0.04, 12), (True, 0.02, 9)])
def test_the_seeds_at_hand_are_pooled_with_the_spread_of_our_records(is_paired, squares, df):
    """400 equal documents leave nothing but the spread over four seeds."""
    base, ours = (np.zeros((400, 4, 2, 3)) for _ in range(2))
    base[:, :, 0], ours[:, :, 0] = 10, 10
    base[:, :, 0, 0], ours[:, :, 0, 0] = [4, 5, 6, 5], [7, 6, 8, 7]
    found = compare(base, ours, F1, primary="F1 of A", is_paired=is_paired)["F1 of A"]
    prior = (2 if is_paired else 1) * (SEED_SD_SHARED**2 + SEED_SD_TYPE**2)
    variance = (6 * prior + squares) / df / (4 if is_paired else 2)
    expected = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert found.high - found.value == pytest.approx(expected, rel=0.05)


def test_each_side_has_the_standard_error_of_its_own_number_of_seeds():
    """400 equal documents, one seed of the baseline and four of the method."""
    base, ours = np.zeros((400, 1, 2, 3)), np.zeros((400, 4, 2, 3))
    base[:, :, 0], ours[:, :, 0] = (5, 10, 10), (7, 10, 10)
    found = compare(base, ours, F1, primary="F1 of A")["F1 of A"]
    variance = 6 / 9 * (SEED_SD_SHARED**2 + SEED_SD_TYPE**2) * (1 / 1 + 1 / 4)
    expected = stats.t.ppf(0.975, 9) * math.sqrt(variance)
    assert found.high - found.value == pytest.approx(expected, rel=0.05)


def test_the_spread_over_seeds_is_not_that_of_single_mentions():
    """Half of the documents rise and half fall by turns, which explains the seeds' scores."""
    base, ours = (np.full((8, 4, 2, 3), 10.0) * [[1], [0]] for _ in range(2))
    base[:, :, 0, 0], ours[:, :, 0, 0] = 5, 5
    ours[:4, :, 0, 0] += [3, -3, 3, -3]
    ours[4:, :, 0, 0] += [-2, 2, -2, 2]
    found, steady = (
        compare(base, own, F1, primary="F1 of A", is_paired=True)["F1 of A"] for own in (ours, base)
    )
    assert found.value == pytest.approx(0)
    assert found.high == pytest.approx(steady.high)


def test_the_spread_of_our_records_depends_on_the_types_that_either_system_predicts():
    base, ours = np.zeros((100, 1, 3, 3)), np.zeros((100, 1, 3, 3))
    base[:, 0, :2], ours[:, 0, :2] = [(0, 0, 10), (5, 80, 10)], [(5, 80, 10), (0, 0, 10)]
    metric = {"micro F1": named_metrics(["A", "B"])["micro F1"]}
    found = compare(base, ours, metric, primary="micro F1")["micro F1"]
    sd = math.sqrt(2 * (SEED_SD_SHARED**2 + SEED_SD_TYPE**2 / 2))  # both have half of the mentions
    assert found.high == pytest.approx(stats.t.ppf(0.975, 6) * sd, rel=0.05)


def test_a_type_that_never_occurs_halves_a_mean_of_two_and_its_interval():
    base, ours = np.zeros((30, 1, 3, 3)), np.zeros((30, 1, 3, 3))
    base[:, 0, 0], ours[:, 0, 0] = (4, 10, 10), (5, 10, 10)
    alone, both = (
        compare(
            base,
            ours,
            {"macro F1": named_metrics(labels)["macro F1"]},
            n_draws=999,
            n_trainings=10**9,  # which leaves nothing of the spread over seeds
        )["macro F1"]
        for labels in (["A"], ["A", "B"])
    )

    assert both.p == alone.p
    assert both.value == pytest.approx(alone.value / 2)
    assert both.low == pytest.approx(alone.low / 2, rel=1e-3)
    assert both.high == pytest.approx(alone.high / 2, rel=1e-3)


def test_the_interval_of_the_opposite_difference_is_its_mirror():
    """One document has most mentions and most of the gain, so that the interval is skewed."""
    base, ours = np.zeros((12, 1, 2, 3)), np.zeros((12, 1, 2, 3))
    base[:, 0, 0], ours[:, 0, 0] = (1, 3, 3), (2, 3, 3)
    base[0, 0, 0], ours[0, 0, 0] = (5, 30, 30), (29, 30, 30)
    one = compare(base, ours, F1, primary="F1 of A", n_draws=999)["F1 of A"]
    other = compare(ours, base, F1, primary="F1 of A", n_draws=999)["F1 of A"]

    assert one.low == pytest.approx(-other.high, abs=0.02)
    assert one.high == pytest.approx(-other.low, abs=0.02)
    assert one.high - one.value != pytest.approx(one.value - one.low, rel=0.1)


def test_the_seed_of_the_draws_is_0_unless_another_one_is_given():
    base, ours = simulated([0.5]), simulated([0.55])
    found, zero, one = (
        compare(base, ours, METRICS, n_draws=99, **given)["macro F1"].p
        for given in ({}, {"seed": 0}, {"seed": 1})
    )

    assert found == zero != one


def test_the_one_sided_p_of_the_opposite_question_is_the_rest():
    base, ours = simulated([0.5], n=40), simulated([0.6], n=40)
    better = compare(base, ours, METRICS, n_draws=999)["macro F1"]
    worse = compare(ours, base, METRICS, n_draws=999)["macro F1"]
    assert better.one_sided < 0.5 < worse.one_sided <= 1
    assert better.one_sided + worse.one_sided == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("n_with", "expected"),
    [
        (3, "too few documents to tell"),
        (5, "too few documents to tell"),
        (6, "better"),
        (8, "better"),
    ],
)
def test_a_type_in_few_documents_is_not_tested(n_with, expected):
    """A type that the method always finds and the baseline never."""
    base = rows(*[[(0, 0, 1)]] * n_with, *[[(0, 0, 0)]] * (100 - n_with))
    ours = rows(*[[(1, 1, 1)]] * n_with, *[[(0, 0, 0)]] * (100 - n_with))
    found = compare(base, ours, F1, primary="F1 of A", n_draws=999)["F1 of A"]
    assert found.value == 1
    assert found.outcome == expected
    assert found.n_with == n_with


def test_the_number_of_documents_needed_gives_six_with_the_type():
    base = rows(*[[(0, 0, 1)]] * 3, *[[(0, 0, 0)]] * 97)
    found = compare(base, base, F1, primary="F1 of A", n_draws=99)["F1 of A"]
    assert found.n_needed == 200
    assert outcome_in_words(found) == (
        "too few documents to tell (3 of 100 documents count; about 200 documents like these are needed)"
    )


def test_a_rare_type_adds_its_noise_to_macro_f1():
    """A type in one document moves macro F1 by half, and no draw may leave that out."""
    metrics = named_metrics(["A", "B"])
    base, ours = np.zeros((50, 1, 3, 3)), np.zeros((50, 1, 3, 3))
    base[:, 0, 0], ours[:, 0, 0] = (5, 10, 10), (5, 10, 10)
    base[0, 0, 1], ours[0, 0, 1] = (0, 0, 1), (1, 1, 1)
    found = compare(base, ours, metrics, n_draws=999)["macro F1"]
    assert found.value == pytest.approx(0.5)
    assert found.p > 0.4 and found.low < 0


def test_the_primary_score_is_tested_alone_and_the_others_together():
    base, ours = simulated([0.5] * 3, n=40), simulated([0.62] * 3, n=40)
    found = compare(base, ours, METRICS, n_draws=999)
    others = {name: own for name, own in found.items() if name != "macro F1" and own.n_with >= 6}
    assert found["macro F1"].adjusted == found["macro F1"].p
    adjusted = holm([own.p for own in others.values()])
    assert [own.adjusted for own in others.values()] == pytest.approx(adjusted)
    assert {own.n_comparisons for own in others.values()} == {len(others)}


def test_scores_that_cannot_be_tested_are_not_counted():
    base = rows(*[[(5, 10, 10)]] * 20)
    ours = rows(*[[(7, 10, 10)]] * 20)
    tested = compare(base, ours, F1, primary="F1 of A", n_draws=999)["F1 of A"]
    few = compare(base[:3], ours[:3], F1, primary="F1 of A", n_draws=999)["F1 of A"]
    found = correct({"A": tested, "B": few})
    assert found["A"].adjusted == tested.p and found["B"] == few


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms())
def test_holm_keeps_the_order_it_is_given(p, shuffler):
    order = list(range(len(p)))
    shuffler.shuffle(order)
    found = holm(p)
    assert holm([p[i] for i in order]) == pytest.approx(found[order])
    assert (found >= np.array(p)).all() and (found <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all()


def test_equal_systems_on_19_documents_are_rarely_called_different():
    """With sentences as units 29.5 % of such pairs were called different."""
    rng, alarms = np.random.default_rng(0), 0
    for i in range(200):
        ease = rng.normal(0, 1, (2, 19, 1))
        right = rng.binomial(60, 1 / (1 + np.exp(-ease)))
        base, ours = np.zeros((2, 19, 1, 2, 3))
        base[:, :, 0, 0], ours[:, :, 0, 0] = right[0], right[1]
        base[:, :, 0, 1:] = ours[:, :, 0, 1:] = 60
        alarms += compare(base, ours, {"macro F1": ONE["macro F1"]}, n_draws=199, seed=i)[
            "macro F1"
        ].is_significant
    assert alarms <= 20  # 5 % are 10


# intervals of one system


def test_an_interval_of_many_documents_is_that_of_a_proportion():
    counts = rows(*[[(1, 1, 1)]] * 80, *[[(0, 1, 1)]] * 20)
    found = intervals(counts, {"recall of A": ONE["recall of A"]})["recall of A"]
    theirs = stats.binomtest(80, 100).proportion_ci(method="wilson")
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(theirs.low, abs=0.01)
    assert found.high == pytest.approx(theirs.high, abs=0.01)


def test_an_interval_of_a_weighted_score_adds_the_variances_of_its_types():
    """Half of the mentions are found: 30 documents have A, and 10 others B."""
    counts = np.zeros((40, 1, 3, 3))
    counts[:30, 0, 0, 1:], counts[30:, 0, 1, 1:] = 1, 1
    counts[:15, 0, 0, 0], counts[30:35, 0, 1, 0] = 1, 1
    metric = named_metrics(["A", "B"])["weighted F1"]
    found = intervals(counts, {"weighted F1": metric})["weighted F1"]
    variance = sum(w**2 * n * (0.5 / (n - 1)) ** 2 for n, w in ((30, 0.75), (10, 0.25)))
    n, z = 0.25 / variance, stats.t.ppf(0.975, 39)
    half = z * math.sqrt(0.25 / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


@pytest.mark.parametrize(("n", "low"), [(3, 0.14), (5, 0.39), (50, 0.92)])
def test_a_perfect_score_in_few_documents_is_uncertain_and_not_unknown(n, low):
    counts = rows(*[[(1, 1, 1)]] * n, *[[(0, 0, 0)]] * (100 - n))
    found = intervals(counts, F1)["F1 of A"]
    assert found.high == 1
    assert found.low == pytest.approx(low, abs=0.01)


def test_a_score_without_any_mention_has_no_interval():
    counts = rows(*[[(0, 0, 0)]] * 30)
    assert intervals(counts, F1)["F1 of A"] == (0, 0, 0)


# words


def test_decisions_in_words():
    base, ours = simulated([0.4] * 2, n=60), simulated([0.8] * 2, n=60)
    found = compare(base, ours, METRICS, n_draws=999)
    macro = found["macro F1"]
    worded = describe("crf", {"macro F1": macro})
    assert worded[0].startswith("crf improves macro F1 from ") and "95 % interval +" in worded[0]
    assert worded[1] == "Test: paired randomisation over 60 documents and 2 seeds, two-sided."
    unclear = macro._replace(value=-0.002, p=0.234, adjusted=0.234, outcome="not significant")
    assert outcome_in_words(unclear) == "not significant (p = 0.23)"
    assert outcome_in_words(unclear._replace(n_comparisons=2)).endswith(
        "p = 0.23, corrected for 2 comparisons)"
    )


def test_a_headline_names_what_is_better_and_what_is_not_shown():
    base, ours = simulated([0.4] * 2, n=60), simulated([0.8] * 2, n=60)
    macro = compare(base, ours, METRICS, n_draws=999)["macro F1"]
    unclear = macro._replace(outcome="not significant")
    assert headline("crf", "ner", {"macro F1": macro, "tail F1": unclear}) == (
        "crf is better than ner on macro F1 (tail F1: not significant)."
    )
    assert headline("crf", "ner", {"macro F1": unclear}) == (
        "crf is not shown to differ from ner (macro F1: not significant)."
    )


def test_one_seed_is_said_to_have_an_assumed_spread():
    one, two = simulated([0.5], n=30), simulated([0.5, 0.6], n=30)
    texts = how_tested(compare(one, two, METRICS, n_draws=99))
    assert "1 and 2 seeds" in texts[0]
    assert "assumed" in texts[1] and "primary score" in texts[2]


def test_a_primary_score_of_several_models_is_not_said_to_be_tested_alone():
    one, two = simulated([0.5], n=30), simulated([0.6], n=30)
    decisions = compare(one, two, METRICS, n_draws=99)
    several = decisions["macro F1"]._replace(n_comparisons=3)

    assert "is tested alone" in how_tested(decisions)[-1]
    assert "is corrected for 3 models (Holm)" in how_tested({**decisions, "macro F1": several})[-1]


def test_a_score_that_is_not_tested_is_described_without_an_interval():
    one, two = simulated([0.5], n=3), simulated([0.9], n=3)

    text = describe("crf", compare(one, two, METRICS, n_draws=99))[0]

    assert text.startswith("macro F1: too few documents to tell") and "; from " in text
    assert "interval" not in text


def test_units_that_are_groups_are_called_groups():
    one, two = simulated([0.5], n=3), simulated([0.9], n=3)
    found = compare(one, two, METRICS, n_draws=99)["macro F1"]

    assert outcome_in_words(found, "group").startswith("too few groups to tell (")


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_a_difference_is_that_of_the_two_scores(seed):
    baseline, ours = simulated([0.5, 0.6], 20, seed), simulated([0.7], 20, seed)

    for decision in compare(baseline, ours, METRICS, n_draws=39).values():
        assert decision.value == pytest.approx(decision.method - decision.baseline, abs=1e-12)
