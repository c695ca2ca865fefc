"""Best paths, path sums and losses on ragged chains, against an enumeration of all paths."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp
from thinc.api import Ragged

from spacy_longtail.chains import packing as chains
from spacy_longtail.chains import sums as path_sums
from spacy_longtail.chains.packing import Transitions, best_legal, path_score, viterbi
from spacy_longtail.chains.sums import PathSums, tag_marginals
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS
from spacy_longtail.heads.crf import likelihood_loss, marginal_loss
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses import CrossEntropy, Dice, Focal, LabelWeights, MoM

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


@given(
    lengths=RAGGED,
    seed=st.integers(0, 10**6),
    legal=st.booleans(),
    block=st.sampled_from([1, 2, 4, 1000]),
)
def test_viterbi_finds_the_best_path(lengths, seed, legal, block):
    scores, lengths, transitions = chain(lengths, seed, legal=legal)
    with patch.object(chains, "MAX_PAIRS", block * K**2):  # sequences are taken in blocks
        tags = viterbi(scores, lengths, transitions)
    for start, paths in paths_of(scores, lengths, transitions):
        best = max(paths, key=paths.get)
        assert tuple(tags[start : start + len(best)]) == best


@given(lengths=RAGGED, seed=st.integers(0, 10**6))
def test_best_legal_is_viterbi_over_legal_transitions(lengths, seed):
    scores, lengths, _ = chain(lengths, seed)
    assert np.array_equal(best_legal(scores, lengths, LEGAL), viterbi(scores, lengths, LEGAL))


@pytest.mark.parametrize(
    ("scheme", "likely", "legal"),
    [
        ("BIO", ["O", "B-X"], True),
        ("BILUO", ["O", "B-X"], False),  # B cannot be last
        ("BIO", ["I-X"], False),  # I cannot be first
    ],
)
def test_an_entity_that_no_sentence_can_begin_or_end_with_is_not_decoded(scheme, likely, legal):
    codec = TagCodec(("X",), scheme)
    columns = [codec.tags.index(tag) for tag in likely]
    scores = np.eye(len(codec.tags), dtype="float32")[columns]
    tags = best_legal(scores, np.array([len(likely)]), codec.legality())
    assert (tags.tolist() == columns) == legal


# Losses of a CRF: the likelihood, functions of marginals, with and without weights
LOSSES = [
    CrossEntropy(),
    CrossEntropy(LabelWeights({"X": 2.0})),
    Focal(2.0),
    Dice(terms="gold"),
    MoM(lam=0.3),
    MoM(Focal(1.5, LabelWeights({"X": 2.0})), 0.4),
]
CLASS_VALUES = np.array([0.5, 2.0, 4.0])
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def weigh(loss, tags, mask):
    weights = mask * np.where(tags > 0, loss.entity_factor, 1.0)
    return weights if loss.class_weights is None else weights * CLASS_VALUES[tags]


def chain_loss(loss, scores, tags, mask, lengths, transitions):
    if loss.is_likelihood:
        return likelihood_loss(scores, tags, mask, lengths, transitions)
    return marginal_loss(loss.formula, scores, tags, weigh(loss, tags, mask), lengths, transitions)


def annotate(lengths, seed, partial):
    """Random gold tags, and a mask: with `partial` some tokens have no annotation."""
    rng = np.random.default_rng(seed)
    tags = rng.integers(0, K, sum(lengths))
    return tags, (rng.random(len(tags)) < 0.7).astype(float) if partial else np.ones(len(tags))


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


def by_enumeration(loss, scores, tags, mask, lengths, transitions):
    """The definition of the loss and its gradient, on scores and on tag pairs."""
    total, d_scores, d_trans = 0.0, np.zeros((len(scores), K)), np.zeros((K, K))
    weights = weigh(loss, tags, mask)
    for start, paths in paths_of(scores, lengths, transitions):
        ids = np.array(list(paths))
        n = ids.shape[1]
        own = slice(start, start + n)
        log_z, expected_tags, expected_pairs = expected(paths, n)
        if loss.is_likelihood:
            is_gold = ((ids == tags[own]) | (mask[own] == 0)).all(axis=1)
            log_gold, gold_tags, gold_pairs = expected(paths, n, is_gold)
            total += log_z - log_gold
            d_scores[own] += expected_tags - gold_tags
            d_trans += expected_pairs - gold_pairs
            continue
        for i in np.flatnonzero(mask[own]):
            log_sum, gold_tags, gold_pairs = expected(paths, n, ids[:, i] == tags[start + i])
            f, u = loss.formula.of_gold(np.minimum([log_sum - log_z], 0.0))
            weight = weights[start + i]
            total += weight * f[0]
            d_scores[own] += weight * u[0] * (expected_tags - gold_tags)
            d_trans += weight * u[0] * (expected_pairs - gold_pairs)
    return total, d_scores, d_trans


def check_definition(loss, *batch, **tolerance):
    """Compare a loss and its gradients with the enumeration of all paths."""
    result = chain_loss(loss, *batch)
    value, d_scores, d_trans = by_enumeration(loss, *batch)
    assert result.loss == pytest.approx(value, **tolerance)
    assert result.d_scores == pytest.approx(d_scores, **tolerance)
    assert result.d_transitions.trans == pytest.approx(d_trans, **tolerance)
    # the first token's score and the transition to it are added to the same paths
    lengths = batch[3][batch[3] > 0]
    ends = np.cumsum(lengths)
    assert result.d_transitions.start == pytest.approx(d_scores[ends - lengths].sum(axis=0), **tolerance)
    assert result.d_transitions.end == pytest.approx(d_scores[ends - 1].sum(axis=0), **tolerance)


@every_loss
@settings(max_examples=25)
@given(lengths=RAGGED, seed=st.integers(0, 10**6), partial=st.booleans())
def test_a_chain_loss_is_its_definition(loss, lengths, seed, partial):
    scores, lengths, transitions = chain(lengths, seed)
    tags, mask = annotate(lengths, seed, partial)
    check_definition(loss, scores, tags, mask, lengths, transitions, abs=1e-9)


# Far apart: scores that differ by more than float64's exponentials can tell, or than any penalty

far = st.one_of(
    st.floats(-3, 3, width=32),
    st.floats(-2000, 2000, width=32),
    st.floats(-1e5, 1e5, width=32),
    st.sampled_from([0.0, -690.0, 745.0, -1e4, 2e4, 1e5, -1e5]),
)


def test_tag_marginals_of_a_token_whose_starts_and_ends_exclude_each_other():
    start, end = np.array([0.0, -727.0, -np.inf]), np.array([0.0, 738.0, 738.0])

    p = tag_marginals(np.zeros((1, 3)), np.array([1]), Transitions(start, np.zeros((3, 3)), end))

    assert p[0] == pytest.approx([1 / (1 + np.exp(11)), 1 / (1 + np.exp(-11)), 0.0])


@st.composite
def far_chains(draw):
    """Draw chains with scores that may lie far apart, and tags other than O that may be masked."""
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any))
    scores = draw(arrays("float32", (sum(lengths), K), elements=far))
    transitions = Transitions(*(draw(arrays("float32", t.shape, elements=far)) for t in LEGAL))
    if draw(st.booleans()):
        closed = draw(arrays("bool", scores.shape))
        scores[:, 1:][closed[:, 1:]] = -np.inf
    return scores, np.array(lengths), transitions.plus(LEGAL) if draw(st.booleans()) else transitions


@given(drawn=st.one_of(far_chains(), st.builds(chain, RAGGED, st.integers(0, 99), legal=st.booleans())))
def test_tag_marginals_are_the_sums_over_all_paths(drawn):
    scores, lengths, transitions = drawn
    p = tag_marginals(scores, lengths, transitions)
    for start, paths in paths_of(scores, lengths, transitions):
        tags = expected(paths, len(next(iter(paths))))[1]
        assert p[start : start + len(tags)] == pytest.approx(tags, abs=1e-8)


@every_loss
@settings(max_examples=30)
@given(
    drawn=far_chains(),
    seed=st.integers(0, 10**6),
    partial=st.booleans(),
    block=st.sampled_from([1, 2, 1000]),
)
def test_a_chain_loss_is_its_definition_however_far_scores_lie_apart(loss, drawn, seed, partial, block):
    scores, lengths, transitions = drawn
    drawn_scores = np.random.default_rng(seed).normal(size=scores.shape)
    tags = viterbi(np.where(np.isneginf(scores), -np.inf, drawn_scores), lengths, LEGAL)
    _, mask = annotate(lengths, seed, partial)
    in_float64, exact = wide(scores, transitions)
    with patch.object(path_sums, "MAX_PAIRS", block * K**2):  # sequences are taken in blocks
        check_definition(loss, in_float64, tags, mask, lengths, exact, abs=1e-8)
    assert chain_loss(loss, scores, tags, mask, lengths, transitions).d_scores.dtype == np.float32


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
def test_a_token_outside_of_entities_gets_o_however_its_tags_score(name):
    logits = np.array([[0, 9e4, 0], [0, 0, 1e5], [0, 2e4, 0]], dtype="float32")
    head = HEADS[name](CODEC, CrossEntropy())
    scores = Ragged(logits, np.array([3]))
    if name == "crf":
        scores = Lattice(scores, Transitions(*(np.zeros_like(t) for t in LEGAL)))
    decoded = head.decode(scores, np.array([3]), np.array([0.0, 1.0, 0.0]), True)
    assert decoded.tags.tolist() == [1, 0, 1]
    assert np.isfinite(decoded.p).all() and decoded.p[0] == 1
    assert decoded.p[1] == (0.5 if name == "sigmoid" else 1)


def test_only_sequences_that_need_it_are_summed_in_log_space():
    lengths = [4, 3, 0, 5, 1, 5, 2, 4, 3]  # ordinary sequences with extreme ones between them
    scores, lengths, transitions = chain(lengths, 0, legal=True)
    extreme = np.repeat([False, True, False, False, True, True, False, True, True], lengths)
    scores[extreme] *= 5000

    ordinary = PathSums(np.where(extreme[:, None], scores / 5000, scores), lengths, transitions)
    sums = PathSums(scores, lengths, transitions)

    assert not ordinary.lost_left and not ordinary.lost_right
    is_extreme = extreme[sums.packing.token]
    for found in (sums.lost_left, sums.lost_right):
        assert any(found.values())
        for i, parts in found.items():
            assert all(is_extreme[sums.packing.at(i)][lost.live].all() for lost in parts)


@pytest.mark.parametrize("one", [2, 2.0, np.float32(2), np.array(2)])
def test_one_number_weights_all_sequences_and_an_array_the_longest_first(one):
    sums = PathSums(*chain([1, 0, 3, 2], 0))
    d_scores, d_transitions = sums.d_log_z(one)
    assert d_scores.sum(axis=1) == pytest.approx([2.0] * 6)  # one tag a token
    assert d_transitions.trans.sum() == pytest.approx(6.0)  # two pairs and one
    each, _ = sums.d_log_z(np.array([3.0, 2.0, 1.0]))
    assert each.sum(axis=1) == pytest.approx([1.0, 3.0, 3.0, 3.0, 2.0, 2.0])


def test_a_sequence_without_a_path_has_no_sum_and_no_gradient():
    scores, lengths, transitions = chain([2, 3], 0, legal=True)
    scores[:2] = [[-np.inf, -np.inf, 0], [0, 0, 0]]  # I opens nothing
    with np.errstate(all="raise"):
        sums = PathSums(scores, lengths, transitions)
        d_scores, d_transitions = sums.d_log_z()
        tags = np.array([2, 2, 0, 1, 2])
        result = likelihood_loss(np.zeros((5, K)), tags, np.ones(5), lengths, transitions)
    assert sums.log_z[1] == -np.inf and np.isfinite(sums.log_z[0])
    assert not d_scores[:2].any() and d_scores[2:].sum() == pytest.approx(3)
    assert d_transitions.trans.sum() == pytest.approx(2)
    assert result.loss == np.inf and np.isfinite(result.d_scores).all()
