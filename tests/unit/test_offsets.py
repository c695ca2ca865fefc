"""Offsets chosen on folds: what is found, that no fold decides on itself, and the test over folds."""

import math

import numpy as np
import pytest
from scipy import stats

from spacy_longtail.evaluation.held_out import HeldOut
from spacy_longtail.evaluation.offsets import (
    Aim,
    Unreached,
    find_best,
    find_offsets,
    find_recall,
    mean_f1,
    shown,
)
from spacy_longtail.evaluation.significance.metrics import f1, recall
from spacy_longtail.evaluation.significance.resampled import resampled_t
from tests.pipes.test_token_ner import every_head, trained
from tests.util import HEADS, examples, words

LABELS = 3
AIM = Aim(mean_f1(range(LABELS)))


class Tokens:
    """Tokens with log odds of three types against O, decided one by one."""

    def __init__(self, seed, shift=0.0, n=600):
        rng = np.random.default_rng(seed)
        self.gold = rng.choice(LABELS + 1, n, p=[0.02, 0.08, 0.2, 0.7])  # the last is O
        self.scores = rng.normal(size=(n, LABELS)) - 2.0
        own = np.flatnonzero(self.gold < LABELS)
        self.scores[own, self.gold[own]] += 3.0
        self.scores[:, 0] -= 2.0 - shift  # the rare type is shut too often
        self.tokens = np.bincount(self.gold, minlength=LABELS + 1)

    def counts(self, offsets):
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
    *inside, outside = np.sum([fold.tokens for fold in folds], axis=0)
    prior = np.log(outside / np.array(inside))
    tau = found.offsets[0] / prior[0]
    assert 0 < tau <= 1 and np.allclose(found.offsets, tau * prior)
    for fold in folds:
        fold.tokens = np.ones(LABELS + 1)
    assert not find_offsets(folds, "prior", AIM).offsets.any()


def test_a_type_without_tokens_has_half_a_one():
    folds = [Tokens(seed) for seed in range(2)]
    for fold in folds:
        fold.tokens = np.array([0, 40, 100, 1000])
    found = find_offsets(folds, "prior", AIM).offsets
    assert found[0] / found[1] == pytest.approx(np.log(2000 / 0.5) / np.log(2000 / 80))


@pytest.mark.parametrize("family", ["types", "prior"])
def test_what_is_chosen_for_a_fold_does_not_depend_on_it(family):
    """A leak: a fold that says by itself that one type must be opened is not believed."""
    honest = [Tokens(seed, shift=2.0) for seed in range(4)]
    liar = Tokens(9, shift=2.0)
    before = find_offsets([*honest, liar], family, AIM)
    liar.scores[liar.gold == 1, 1] -= 3.0  # only large offsets would find these
    liar.tokens = liar.tokens * np.array([400, 1, 1, 1])  # and that the rare type is not rare
    after = find_offsets([*honest, liar], family, AIM)
    chosen = find_offsets(honest, family, AIM).offsets  # by the four others, whatever the liar says
    rest = [
        own.counts(find_offsets([o for o in [*honest, liar] if o is not own], family, AIM).offsets)
        for own in honest
    ]
    assert np.array_equal(after.nested, np.sum(rest, axis=0) + liar.counts(chosen))
    assert np.array_equal(before.without[-1], chosen) and np.array_equal(after.without[-1], chosen)
    assert len(before.gains) == len(after.gains) == 5


def test_a_family_is_chosen_without_the_fold_that_is_judged():
    folds = [Tokens(seed, shift=1.0, n=150) for seed in range(4)]
    found = find_best(folds, ["prior", "types"], AIM)
    every = [find_offsets(folds, family, AIM) for family in ("prior", "types")]
    best = max(every, key=lambda own: AIM.score(own.nested))
    assert found.family == best.family and np.array_equal(found.offsets, best.offsets)
    nested, families = 0, set()
    for i, fold in enumerate(folds):
        rest = [other for k, other in enumerate(folds) if k != i]
        own = find_best(rest, ["prior", "types"], AIM)
        families.add(own.family)
        assert np.array_equal(found.without[i], own.offsets)
        nested = nested + fold.counts(own.offsets)
    assert np.array_equal(found.nested, nested) and len(families) == 2
    folds[0].scores[:, 1] -= 3.0
    folds[0].tokens = folds[0].tokens * np.array([400, 1, 1, 1])
    assert np.array_equal(find_best(folds, ["prior", "types"], AIM).without[0], found.without[0])


def test_what_a_choice_of_family_promises_is_not_the_better_of_two():
    promised, better = [], []
    for seed in range(12):
        folds = [Tokens(100 * seed + i, shift=1.4, n=120) for i in range(4)]
        every = [find_offsets(folds, family, AIM) for family in ("prior", "types")]
        promised.append(AIM.score(find_best(folds, ["prior", "types"], AIM).nested))
        better.append(max(AIM.score(own.nested) for own in every))
    assert np.mean(promised) < np.mean(better)


def test_two_folds_choose_a_family_too():
    found = find_best([Tokens(0), Tokens(1)], ["prior", "types"], AIM)
    assert found.without.shape == (2, LABELS) and found.offsets[0] > 0


def test_noise_gives_no_gain_that_nested_folds_would_believe():
    shift = 1.4  # as open as it is best for F1
    many = [Tokens(9000 + i, shift, n=20_000) for i in range(3)]
    assert not find_offsets(many, "types", AIM).offsets.any()
    gains, flattering = [], []
    for seed in range(12):
        folds = [Tokens(100 * seed + i, shift, n=120) for i in range(5)]
        found = find_offsets(folds, "types", AIM)
        base = f1(found.before).mean()
        gains.append(f1(found.nested).mean() - base)
        flattering.append(f1(found.after).mean() - base)
    assert np.mean(gains) <= 0
    assert np.mean(flattering) > 0 and min(flattering) >= 0


def test_a_gain_must_be_worth_its_step():
    class Flat:
        tokens = np.ones(LABELS + 1)

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
    assert list(found.recalls) == [0] and found.recalls[0] < 0.51 and not found.is_joint


class Confused(Tokens):
    """Two types, ten mentions of each; `n_alike` of each kind look more like the first."""

    def __init__(self, n_alike):
        self.gold = np.repeat([0, 1], 10)
        self.scores = np.full((20, LABELS), -20.0)
        self.scores[:10, 0] = self.scores[10:, 1] = -1.8
        for i, n in enumerate(n_alike):
            self.scores[10 * i : 10 * i + n, :2] = -1.5, -1.6
        self.tokens = np.array([10, 10, 0, 100])


def test_wanted_recalls_are_reached_together():
    """With [2, 2], each enough by itself, half of the second type would be called the first."""
    folds = [Confused((0, 5)), Confused((0, 5))]
    assert recall(total(folds, [2.0, 0, 0]))[0] == recall(total(folds, [0, 2.0, 0]))[1] == 1.0
    assert recall(total(folds, [2.0, 2.0, 0]))[:2].tolist() == [1.0, 0.5]
    for recalls in ({0: 0.9, 1: 0.9}, {1: 0.9, 0: 0.9}):
        found = find_recall(folds, AIM._replace(recalls=recalls))
        assert found.offsets.tolist() == [2.0, 2.5, 0.0]
        assert recall(found.after)[:2].tolist() == recall(found.nested)[:2].tolist() == [1.0, 1.0]


def test_recalls_that_exclude_each_other_are_said_to():
    folds = [Confused((5, 5)), Confused((5, 5))]
    found = find_recall(folds, AIM._replace(recalls={0: 0.9, 1: 0.9}))
    assert isinstance(found, Unreached) and found.is_joint
    assert sorted(found.recalls.values()) == [0.5, 1.0]
    assert find_recall(folds, AIM._replace(recalls={0: 0.9, 1: 0.5})).offsets[0] >= 2.0


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


@pytest.mark.parametrize("name", ["softmax", "two_task-typeless"])
def test_tokens_are_the_annotated_ones(name):
    nlp, _ = trained(HEADS[name], 25)
    pipe = nlp.get_pipe("ner")
    data = examples(nlp)
    data[0].reference.set_ents(data[0].reference.ents[:1], default="missing")
    labels = pipe.labels[::-1]
    ents = [(len(e), e.label_) for eg in data for e in eg.reference.ents]
    inside = [sum(n for n, own in ents if label in (own, "ENTITY")) for label in labels]
    known = sum(token.ent_iob != 0 for eg in data for token in eg.reference)
    found = HeldOut.of(pipe, data, labels).tokens
    assert found.tolist() == [*inside, known - sum(inside)]


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
