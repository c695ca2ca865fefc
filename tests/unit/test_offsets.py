"""Offsets chosen on folds: what is found, that no fold decides on itself, and the test over folds."""

import math

import numpy as np
import pytest
from scipy import stats

from spacy_longtail.evaluation.held_out import HeldOut
from spacy_longtail.evaluation.offsets import (
    Aim,
    find_offsets,
    find_recall,
    mean_f1,
    shown,
)
from spacy_longtail.evaluation.significance.metrics import f1, recall
from spacy_longtail.evaluation.significance.resampled import resampled_t
from tests.pipes.test_token_ner import every_head, trained
from tests.util import examples, words

LABELS = 3
AIM = Aim(mean_f1(range(LABELS)), np.array([4.0, 2.0, 1.0]))


class Tokens:
    """Tokens with log odds of three types against O, decided one by one."""

    def __init__(self, seed, shift=0.0, n=600):
        rng = np.random.default_rng(seed)
        self.gold = rng.choice(LABELS + 1, n, p=[0.02, 0.08, 0.2, 0.7])  # the last is O
        self.scores = rng.normal(size=(n, LABELS)) - 2.0
        own = np.flatnonzero(self.gold < LABELS)
        self.scores[own, self.gold[own]] += 3.0
        self.scores[:, 0] -= 2.0 - shift  # the rare type is shut too often
        self.asked = []

    def counts(self, offsets):
        self.asked.append(tuple(offsets.tolist()))
        moved = np.append(self.scores + offsets, np.zeros((len(self.gold), 1)), axis=1)
        found = moved.argmax(axis=1)
        return np.stack(
            [
                [((found == t) & (self.gold == t)).sum(), (found == t).sum(), (self.gold == t).sum()]
                for t in range(LABELS)
            ]
        )


def total(folds, offsets):
    return np.sum([fold.counts(np.asarray(offsets)) for fold in folds], axis=0)


def test_a_type_that_is_shut_too_often_is_opened():
    folds = [Tokens(seed) for seed in range(5)]
    found = find_offsets(folds, "types", AIM)
    assert found.offsets[0] >= 1.0 and abs(found.offsets[1:]).max() <= found.offsets[0]
    assert np.array_equal(found.before, total(folds, np.zeros(LABELS)))
    assert np.array_equal(found.after, total(folds, found.offsets))
    assert f1(found.nested).mean() > f1(found.before).mean() + 0.05
    assert f1(found.after).mean() >= f1(found.nested).mean()  # what it was chosen on flatters


def test_the_prior_is_one_strength_for_all():
    folds = [Tokens(seed) for seed in range(4)]
    found = find_offsets(folds, "prior", AIM)
    tau = found.offsets[0] / AIM.prior[0]
    assert 0 < tau <= 1 and np.allclose(found.offsets, tau * AIM.prior)
    other = Aim(mean_f1(range(LABELS)), np.zeros(LABELS))
    assert not find_offsets(folds, "prior", other).offsets.any()


@pytest.mark.parametrize("family", ["types", "prior"])
def test_what_is_chosen_for_a_fold_does_not_depend_on_it(family):
    """A leak: a fold that says by itself that one type must be opened is not believed."""
    honest = [Tokens(seed, shift=2.0) for seed in range(4)]
    liar = Tokens(9, shift=2.0)
    before = find_offsets([*honest, liar], family, AIM)
    liar.scores[liar.gold == 1, 1] -= 3.0  # only large offsets would find these
    liar.known = {}
    after = find_offsets([*honest, liar], family, AIM)
    chosen = find_offsets(honest, family, AIM).offsets  # by the four others, whatever the liar says
    rest = [
        own.counts(find_offsets([o for o in [*honest, liar] if o is not own], family, AIM).offsets)
        for own in honest
    ]
    assert np.array_equal(after.nested, np.sum(rest, axis=0) + liar.counts(chosen))
    assert len(before.gains) == len(after.gains) == 5


def test_noise_gives_no_gain_that_nested_folds_would_believe():
    gains, flattering = [], []
    for seed in range(12):
        folds = [Tokens(100 * seed + i, shift=2.6, n=120) for i in range(5)]
        found = find_offsets(folds, "types", AIM)
        base = f1(found.before).mean()
        gains.append(f1(found.nested).mean() - base)
        flattering.append(f1(found.after).mean() - base)
    assert np.mean(flattering) > np.mean(gains) + 0.01
    assert min(flattering) >= 0


def test_a_gain_must_be_worth_its_step():
    class Flat:
        def counts(self, offsets):
            right = 500 + (offsets[0] > 0)
            return np.array([[right, 1000, 1000]] * LABELS)

    assert not find_offsets([Flat(), Flat()], "types", AIM).offsets.any()


def test_a_recall_is_reached_by_the_smallest_offset():
    folds = [Tokens(seed) for seed in range(4)]
    aim = AIM._replace(recalls={0: 0.9})
    found = find_recall(folds, aim)
    assert not found.offsets[1:].any()
    assert recall(found.after)[0] >= 0.9 > recall(total(folds, found.offsets - [0.5, 0, 0]))[0]
    assert 0.8 < recall(found.nested)[0] < 1.0
    assert shown(found.before)[0][1] < 0.9


def test_a_recall_out_of_reach_is_said_to_be():
    class Deaf(Tokens):
        def counts(self, offsets):
            found = super().counts(offsets)
            found[0, 0] = found[0, 2] // 2
            return found

    found = find_recall([Deaf(0), Deaf(1)], AIM._replace(recalls={0: 0.9, 1: 0.5}))
    assert list(found) == [0] and found[0] < 0.51


# What a model says, decoded again


@every_head
def test_counts_are_those_of_the_pipe(settings):
    nlp, _ = trained(settings, 25)
    pipe = nlp.get_pipe("ner")
    n = len(pipe.labels)
    data = examples(nlp, 2)
    labels = pipe.labels[::-1]  # another fold's may come in another order
    held = HeldOut.of(pipe, data, labels)
    try:
        for offsets in (np.zeros(n), np.linspace(-2.0, 3.0, n)):
            pipe.cfg["decision_offsets"] = dict(zip(labels, offsets.tolist(), strict=True))
            docs = [nlp(words(nlp, eg.reference.text)) for eg in data]
            counts = np.zeros((n, 3), dtype=int)
            for doc, eg in zip(docs, data, strict=True):
                typed = settings.get("typed", True)
                gold = {(e.start, e.end, e.label_ if typed else "ENTITY") for e in eg.reference.ents}
                for e in doc.ents:
                    t = labels.index(e.label_)
                    counts[t] += [(e.start, e.end, e.label_) in gold, 1, 0]
                for _, _, label in gold:
                    counts[labels.index(label), 2] += 1
            assert np.array_equal(held.counts(offsets), counts)
    finally:
        pipe.cfg["decision_offsets"] = None


def test_what_is_not_annotated_does_not_count():
    nlp, _ = trained({}, 60)
    pipe = nlp.get_pipe("ner")
    data = examples(nlp)
    whole = HeldOut.of(pipe, data, pipe.labels).counts(np.zeros(4))
    reference = data[0].reference  # Maria sailed to Oslo on the Fram .
    reference.set_ents([e for e in reference.ents if e.label_ != "ART"], default="missing")
    part = HeldOut.of(pipe, data, pipe.labels).counts(np.zeros(4))
    label = pipe.labels.index("ART")
    assert (whole - part).tolist() == [[int(t == label)] * 3 for t in range(4)]


# The test over folds


def test_the_resampled_t_is_that_of_nadeau_and_bengio():
    d = np.array([1.2, -0.3, 0.8, 2.0, 0.4])
    found = resampled_t(d, 0.25)
    error = math.sqrt((1 / 5 + 1 / 4) * d.var(ddof=1))
    assert found.t == pytest.approx(d.mean() / error) and found.df == 4
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.t), 4))
    assert found.p_worse == pytest.approx(stats.t.cdf(0, 4, loc=d.mean(), scale=error))
    low, high = stats.t.interval(0.95, 4, loc=d.mean(), scale=error)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.p > stats.ttest_1samp(d, 0).pvalue  # the plain test is too sure


def test_it_is_the_plain_test_where_nothing_is_shared():
    d = np.random.default_rng(0).normal(size=8)
    found = resampled_t(d, 1e-12)
    plain = stats.ttest_1samp(d, 0)
    assert (found.t, found.p) == pytest.approx((plain.statistic, plain.pvalue))


@pytest.mark.parametrize("d", [[], [1.0], [0.5, 0.5, 0.5]])
def test_there_is_no_test_of_one_difference(d):
    assert resampled_t(d, 0.25) is None


@pytest.mark.parametrize("share", [0, -1, float("nan"), float("inf")])
def test_shares_that_are_none_are_refused(share):
    with pytest.raises(ValueError, match="L001"):
        resampled_t([1.0, 2.0], share)
