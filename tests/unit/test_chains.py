"""Best paths, path sums and losses on chains, also ragged, against every path written out."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp
from thinc.api import Ragged

from spacy_longtail.chains import packing as chains
from spacy_longtail.chains import sums as path_sums
from spacy_longtail.chains.packing import Transitions, best_legal, path_score, viterbi
from spacy_longtail.chains.sums import PathSums
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses import CrossEntropy, Dice, Focal, LabelWeights, MoM
from spacy_longtail.losses.chain import chain_loss

K = 3
CODEC = TagCodec(("X",), "BIO")
LEGAL = CODEC.legality()  # O, B, I
RAGGED = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)


def chain(lengths, seed, scale=2.0, legal=False):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(sum(lengths), K)) * scale
    transitions = Transitions(rng.normal(size=K), rng.normal(size=(K, K)), rng.normal(size=K))
    return scores, np.array(lengths), transitions.plus(LEGAL) if legal else transitions


def wide(scores, transitions):
    return scores.astype("float64"), Transitions(*(t.astype("float64") for t in transitions))


def paths_of(scores, lengths, transitions):
    """For each sequence that is not empty: its first token, and every path with its score."""
    scores, transitions = wide(scores, transitions)
    start = 0
    for n in lengths:
        if n:
            em = scores[start : start + n]
            found = {}
            for path in itertools.product(range(K), repeat=int(n)):
                total = transitions.start[path[0]] + transitions.end[path[-1]]
                total += sum(em[i, t] for i, t in enumerate(path))
                total += sum(transitions.trans[a, b] for a, b in itertools.pairwise(path))
                found[path] = total
            yield start, found
        start += n


@given(lengths=RAGGED, seed=st.integers(0, 10**6), legal=st.booleans())
def test_viterbi_finds_the_best_path(lengths, seed, legal):
    scores, lengths, transitions = chain(lengths, seed, legal=legal)
    tags = viterbi(scores, lengths, transitions)
    for start, paths in paths_of(scores, lengths, transitions):
        best = max(paths, key=paths.get)
        assert tuple(tags[start : start + len(best)]) == best


@given(lengths=RAGGED, seed=st.integers(0, 10**6))
def test_best_legal_is_viterbi_over_legal_transitions(lengths, seed):
    scores, lengths, _ = chain(lengths, seed)
    assert np.array_equal(best_legal(scores, lengths, LEGAL), viterbi(scores, lengths, LEGAL))


def test_many_sequences_are_taken_in_blocks(monkeypatch):
    scores, lengths, transitions = chain([3, 0, 2, 1, 4, 2], 1)
    whole = viterbi(scores, lengths, transitions)
    for block in (1, 2, 4):
        monkeypatch.setattr(chains, "MOST_PAIRS", block * K**2)
        assert np.array_equal(viterbi(scores, lengths, transitions), whole)


FIXED = LabelWeights({"x": 1.0})
VALUES = np.array([0.5, 2.0, 4.0])
LOSSES = [
    *(CrossEntropy(), CrossEntropy(FIXED).bind(VALUES), Focal(2.0), Dice(terms="gold")),
    *(MoM(lam=0.3), MoM(Focal(1.5, FIXED).bind(VALUES), 0.4)),
]


def annotated(lengths, seed, partial):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    gold = np.eye(K)[rng.integers(0, K, n)]
    if partial:
        gold = np.maximum(gold, rng.random((n, K)) < 0.2)
        return gold, (rng.random(n) < 0.7).astype(float)
    return gold, np.ones(n)


def expected(paths, n, kept=None):
    """Over the paths of one sequence, or those kept: log sum, expected tags, expected tag pairs."""
    ids, totals = np.array(list(paths)), np.array(list(paths.values()))
    if kept is not None:
        ids, totals = ids[kept], totals[kept]
    log_z = logsumexp(totals) if len(totals) else -np.inf
    p = np.exp(totals - log_z) if log_z > -np.inf else np.zeros(len(totals))
    tags, pairs = np.zeros((n, K)), np.zeros((K, K))
    for path, share in zip(ids, p):
        tags[np.arange(n), path] += share
        np.add.at(pairs, (path[:-1], path[1:]), share)
    return log_z, tags, pairs


def by_enumeration(loss, scores, gold, mask, lengths, transitions):
    """The definition and its gradient, on scores and on tag pairs: every path written out."""
    allowed = (gold > 0) | (mask == 0)[:, None]
    total, d_scores, d_trans = 0.0, np.zeros((len(scores), K)), np.zeros((K, K))
    for start, paths in paths_of(scores, lengths, transitions):
        ids = np.array(list(paths))
        n = ids.shape[1]
        own, at = allowed[start : start + n], np.arange(n)
        log_z, tags, pairs = expected(paths, n)
        if loss.log_likelihood:
            log_inside, *inside = expected(paths, n, own[at, ids].all(axis=1))
            total += log_z - log_inside
            d_scores[start : start + n] += tags - inside[0]
            d_trans += pairs - inside[1]
            continue
        for i in np.flatnonzero(mask[start : start + n]):
            log_x, *inside = expected(paths, n, own[i, ids[:, i]])
            q = inside[0][i]
            assume(not (loss.lam < 1 and 0.49 < q[0] < 0.51))  # O or not is a step
            f, u = (a * loss.weight(q[None]) for a in loss.of_gold(np.minimum([log_x - log_z], 0.0)))
            total += float(f[0])
            d_scores[start : start + n] += u[0] * (tags - inside[0])
            d_trans += u[0] * (pairs - inside[1])
    n_tokens = max(mask.sum(), 1)
    return total / n_tokens, d_scores / n_tokens, d_trans / n_tokens


def test_only_what_is_a_likelihood_is_trained_as_one():
    """By the loss itself: the oracle asks it, too."""
    weighted = LOSSES[1]
    likelihoods = [CrossEntropy(), MoM(lam=1.0)]
    others = [weighted, Focal(0.0), MoM(lam=0.5), MoM(weighted, 1.0)]
    others += [MoM(Focal(), 1.0)]
    assert [loss.log_likelihood for loss in likelihoods] == [True] * len(likelihoods)
    assert [loss.log_likelihood for loss in others] == [False] * len(others)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=25)
@given(lengths=RAGGED, seed=st.integers(0, 10**6), partial=st.booleans())
def test_a_chain_loss_is_its_definition(loss, lengths, seed, partial):
    scores, lengths, transitions = chain(lengths, seed)
    gold, mask = annotated(lengths, seed, partial)
    result = chain_loss(loss, scores, gold, mask, lengths, transitions)
    value, d_scores, d_trans = by_enumeration(loss, scores, gold, mask, lengths, transitions)
    assert result.loss == pytest.approx(value if mask.any() else 0.0, abs=1e-9)
    assert result.d_scores == pytest.approx(d_scores if mask.any() else 0 * d_scores, abs=1e-9)
    assert result.d_transitions.trans == pytest.approx(d_trans if mask.any() else 0 * d_trans, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("legal", [False, True])
@pytest.mark.parametrize("scale", [1.0, 15.0, 400.0])
def test_the_gradient_of_a_chain_loss_is_its_slope(loss, partial, scale, legal):
    if partial and loss.preset is not None:
        return  # class weights of several acceptable tags are held constant
    for seed in range(6):
        lengths = [4, 0, 2, 1, 3]
        scores, lengths, transitions = chain(lengths, seed, scale, legal)
        gold, mask = annotated(lengths, seed, partial)
        if legal:  # an illegal gold path has no slope to speak of
            path = viterbi(np.random.default_rng(seed + 1).normal(size=scores.shape), lengths, LEGAL)
            gold = np.maximum(np.eye(K)[path], gold if partial else 0)
        result = chain_loss(loss, scores, gold, mask, lengths, transitions)
        rng = np.random.default_rng(seed)
        step = rng.normal(size=scores.shape)
        moves = Transitions(*(rng.normal(size=t.shape) for t in transitions))

        def at(size):
            moved = Transitions(*(t + size * m for t, m in zip(transitions, moves)))
            return chain_loss(loss, scores + size * step, gold, mask, lengths, moved).loss

        exact = (result.d_scores * step).sum()
        exact += sum((d * m).sum() for d, m in zip(result.d_transitions, moves))
        assert (at(1e-5) - at(-1e-5)) / 2e-5 == pytest.approx(exact, rel=1e-4, abs=1e-6)


# Far apart: scores that differ by more than float64's exponentials can tell, or than any penalty

far = st.one_of(
    st.floats(-3, 3, width=32),
    st.floats(-2000, 2000, width=32),
    st.floats(-1e5, 1e5, width=32),
    st.sampled_from([0.0, -690.0, 745.0, -1e4, 2e4, 1e5, -1e5]),
)


@st.composite
def far_chains(draw, shut=False):
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any))
    scores = draw(arrays("float32", (sum(lengths), K), elements=far))
    transitions = Transitions(*(draw(arrays("float32", t.shape, elements=far)) for t in LEGAL))
    if shut and draw(st.booleans()):
        closed = draw(arrays("bool", scores.shape))
        scores[:, 1:][closed[:, 1:]] = -np.inf
    return scores, np.array(lengths), transitions.plus(LEGAL) if draw(st.booleans()) else transitions


@given(drawn=far_chains(shut=True), seed=st.integers(0, 99))
def test_path_sums_are_exact_however_far_scores_lie_apart(drawn, seed):
    scores, lengths, transitions = drawn
    sums = PathSums(scores, lengths, transitions)
    d_scores, d_transitions = sums.d_log_z()
    d_sums = np.random.default_rng(seed).normal(size=scores.shape)
    d_sums[np.isneginf(sums.log_marginals)] = 0.0
    through, d_through = sums.d_log_sums(d_sums)
    log_zs, all_pairs, all_through = [], np.zeros((K, K)), np.zeros((K, K))
    for start, paths in paths_of(scores, lengths, transitions):
        ids = np.array(list(paths))
        n = ids.shape[1]
        own = slice(start, start + n)
        log_z, tags, pairs = expected(paths, n)
        log_zs.append((-n, start, log_z))
        assert d_scores[own] == pytest.approx(tags, abs=1e-8)
        assert np.exp(sums.log_marginals[own]) == pytest.approx(tags, abs=1e-8)
        all_pairs += pairs
        total = np.zeros((n, K))
        for i, tag in itertools.product(range(n), range(K)):
            log_sum, given_tags, given_pairs = expected(paths, n, ids[:, i] == tag)
            assert sums.log_marginals[start + i, tag] == pytest.approx(log_sum - log_z, abs=1e-8)
            total += d_sums[start + i, tag] * given_tags
            all_through += d_sums[start + i, tag] * given_pairs
        assert through[own] == pytest.approx(total, abs=1e-8)
    assert sums.log_z == pytest.approx([z for *_, z in sorted(log_zs)], rel=1e-12, abs=1e-8)
    assert d_transitions.trans == pytest.approx(all_pairs, abs=1e-8)
    assert d_through.trans == pytest.approx(all_through, abs=1e-8)
    for d in (d_scores, through, *d_transitions, *d_through):
        assert np.isfinite(d).all()


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=25)
@given(drawn=far_chains(), seed=st.integers(0, 10**6), partial=st.booleans())
def test_a_chain_loss_is_its_definition_however_far_scores_lie_apart(loss, drawn, seed, partial):
    scores, lengths, transitions = drawn
    gold, mask = annotated(lengths, seed, partial)
    path = viterbi(np.random.default_rng(seed).normal(size=scores.shape), lengths, LEGAL)
    gold = np.maximum(np.eye(K)[path], gold if partial else 0)  # a legal one among them
    if partial and loss.preset is not None:
        return  # class weights of several acceptable tags are held constant
    result = chain_loss(loss, scores, gold.astype("f"), mask.astype("f"), lengths, transitions)
    value, d_scores, d_trans = by_enumeration(loss, scores, gold, mask, lengths, transitions)
    assert result.d_scores.dtype == np.float32
    if mask.any():
        assert result.loss == pytest.approx(value, rel=1e-5, abs=1e-6)
        assert result.d_scores == pytest.approx(d_scores, abs=1e-5)
        assert result.d_transitions.trans == pytest.approx(d_trans, abs=1e-5)


@given(drawn=far_chains())
def test_the_best_path_is_legal_however_far_scores_lie_apart(drawn):
    scores, lengths, transitions = drawn
    legal = transitions.plus(LEGAL)
    best = viterbi(*(wide(scores, legal)[0], lengths, wide(scores, legal)[1]))
    for start, paths in paths_of(scores, lengths, legal):
        n = len(next(iter(paths)))
        assert paths[tuple(best[start : start + n])] == pytest.approx(max(paths.values()), abs=1e-6)
    for tags in (viterbi(scores, lengths, legal), best_legal(scores, lengths, LEGAL)):
        assert path_score(scores, tags, lengths, LEGAL)[0] > -np.inf


@pytest.mark.parametrize("name", ["crf", "softmax", "sigmoid"])
def test_nothing_stands_where_nothing_may_however_its_tags_score(name):
    logits = np.array([[0, 9e4, 0], [0, 0, 1e5], [0, 2e4, 0]], dtype="float32")
    head = HEADS[name](CODEC, CrossEntropy())
    scores = Ragged(logits, np.array([3]))
    if name == "crf":
        scores = Lattice(scores, Transitions(*(np.zeros_like(t) for t in LEGAL)))
    decoded = head.decode(scores, np.array([3]), np.array([0.0, 1.0, 0.0]), True)
    assert decoded.tags.tolist() == [1, 0, 1]
    assert np.isfinite(decoded.p).all() and decoded.p[0] == 1
    assert decoded.p[1] == (0.5 if name == "sigmoid" else 1)


def mixed(seed=0):
    """Ordinary sequences with extreme ones between them."""
    lengths = [4, 3, 0, 5, 1, 5, 2, 4, 3]
    scores, lengths, transitions = chain(lengths, seed, legal=True)
    extreme = np.repeat([False, True, False, False, True, True, False, True, True], lengths)
    scores[extreme] *= 5000
    return scores, lengths, transitions, extreme


def test_only_sequences_that_need_it_are_summed_in_log_space():
    scores, lengths, transitions, extreme = mixed()
    ordinary = PathSums(np.where(extreme[:, None], scores / 5000, scores), lengths, transitions)
    assert not ordinary.lost_left and not ordinary.lost_right
    sums = PathSums(scores, lengths, transitions)
    is_extreme = extreme[sums.packing.token]
    for found in (sums.lost_left, sums.lost_right):
        assert any(found.values())
        for i, parts in found.items():
            for lost in parts:
                assert is_extreme[sums.packing.at(i)][lost.live].all()


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("block", [1, 2, 1000])
def test_ordinary_and_extreme_sequences_of_a_batch_do_not_touch_each_other(loss, block, monkeypatch):
    scores, lengths, transitions, _ = mixed()
    monkeypatch.setattr(path_sums, "MOST_PAIRS", block * K**2)
    path = viterbi(np.random.default_rng(1).normal(size=scores.shape), lengths, LEGAL)
    gold, mask = np.eye(K)[path], np.ones(len(scores))
    whole = chain_loss(loss, scores, gold, mask, lengths, transitions)
    most = max(map(len, PathSums(scores, lengths, transitions).lost_left.values()))
    assert most == {1: 3, 2: 2, 1000: 1}[block]  # parts of the three that are lost at one position
    value, d_trans, start = 0.0, np.zeros((K, K)), 0
    for n in lengths:
        own = slice(start, start + n)
        start += n
        if n:
            alone = chain_loss(loss, scores[own], gold[own], mask[own], np.array([n]), transitions)
            share = n / len(scores)
            value, d_trans = value + share * alone.loss, d_trans + share * alone.d_transitions.trans
            assert whole.d_scores[own] == pytest.approx(share * alone.d_scores, abs=1e-9)
    assert whole.loss == pytest.approx(value)
    assert whole.d_transitions.trans == pytest.approx(d_trans, abs=1e-9)


def test_a_sequence_without_a_path_has_no_sum_and_no_gradient():
    scores, lengths, transitions = chain([2, 3], 0, legal=True)
    scores[:2] = [[-np.inf, -np.inf, 0], [0, 0, 0]]  # I opens nothing
    with np.errstate(all="raise"):
        sums = PathSums(scores, lengths, transitions)
        d_scores, d_transitions = sums.d_log_z()
        gold = np.eye(K)[[2, 2, 0, 1, 2]]
        result = chain_loss(CrossEntropy(), np.zeros((5, K)), gold, np.ones(5), lengths, transitions)
    assert sums.log_z[1] == -np.inf and np.isfinite(sums.log_z[0])
    assert not any(sums.lost_left.values()) and not any(sums.lost_right.values())  # no sum to mend
    assert not d_scores[:2].any() and d_scores[2:].sum() == pytest.approx(3)
    assert d_transitions.trans.sum() == pytest.approx(2)
    assert result.loss == np.inf and np.isfinite(result.d_scores).all()
