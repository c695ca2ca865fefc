"""Best paths, path sums and losses on chains against every path written out, ragged batches included."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail import chains
from spacy_longtail.chains import PathSums, Transitions, best_legal, pack, path_score, viterbi
from spacy_longtail.losses import CrossEntropy, Dice, Focal, LabelWeights, LogitAdjusted, MoM
from spacy_longtail.losses.chain import chain_loss
from spacy_longtail.tags import TagCodec

K = 3
LEGAL = TagCodec(("X",), "BIO").legality()  # O, B, I
RAGGED = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)


def chain(lengths, seed, scale=2.0, legal=False):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(sum(lengths), K)) * scale
    transitions = Transitions(rng.normal(size=K), rng.normal(size=(K, K)), rng.normal(size=K))
    return scores, np.array(lengths), transitions.plus(LEGAL) if legal else transitions


def paths_of(scores, lengths, transitions):
    """For each sequence that is not empty: its first token, and every path with its score."""
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


def test_ties_go_to_the_lowest_tag():
    zero = Transitions(np.zeros(K), np.zeros((K, K)), np.zeros(K))
    assert not viterbi(np.zeros((5, K)), np.array([2, 0, 3]), zero).any()


@given(lengths=RAGGED, seed=st.integers(0, 10**6), legal=st.booleans())
def test_path_sums_and_marginals(lengths, seed, legal):
    scores, lengths, transitions = chain(lengths, seed, legal=legal)
    sums = PathSums(scores, lengths, transitions)
    expected = []
    for start, paths in paths_of(scores, lengths, transitions):
        log_z = np.logaddexp.reduce(list(paths.values()))
        expected.append((-len(next(iter(paths))), start, log_z))
        mu = np.zeros((len(next(iter(paths))), K))
        for path, score in paths.items():
            mu[np.arange(len(path)), path] += np.exp(score - log_z)
        own = np.exp(sums.log_marginals[start : start + len(mu)])
        assert own == pytest.approx(mu, abs=1e-9)
    assert sums.log_z == pytest.approx([z for *_, z in sorted(expected)])


def test_the_packed_order():
    packing = pack(np.array([1, 3, 0, 2]))
    assert packing.token.tolist() == [1, 4, 0, 2, 5, 3]
    assert packing.starts == [0, 3, 5, 6]
    assert packing.token[packing.row].tolist() == list(range(6))
    assert packing.sequence.tolist() == [0, 1, 2, 0, 1, 0]
    assert packing.previous.tolist() == [0, 1, 3]
    assert packing.last.tolist() == [5, 4, 2]


def test_worked_example():
    scores = np.array([[1.0, 0.0], [0.0, 2.0]])
    transitions = Transitions(np.zeros(2), np.array([[0.5, -0.5], [0.0, 0.0]]), np.zeros(2))
    sums = PathSums(scores, np.array([2]), transitions)
    assert sums.log_z[0] == pytest.approx(3.2210, abs=1e-4)
    assert np.exp(sums.log_marginals)[0, 0] == pytest.approx(0.6652, abs=1e-4)
    assert np.exp(sums.log_marginals)[1, 1] == pytest.approx(0.7812, abs=1e-4)
    gold = np.eye(2)
    result = chain_loss(CrossEntropy(), scores, gold, np.ones(2), np.array([2]), transitions)
    assert 2 * result.loss == pytest.approx(0.7210, abs=1e-4)


FIXED = LabelWeights({"x": 1.0})
VALUES = np.array([0.5, 2.0, 4.0])
LOSSES = [
    CrossEntropy(),
    CrossEntropy(FIXED).bind(VALUES),
    Focal(2.0),
    Focal(1.5, FIXED).bind(VALUES),
    MoM(lam=0.3),
    MoM(Focal(1.0), 0.4),
    Dice(terms="gold"),
    Dice(0.05, terms="gold"),
    LogitAdjusted(1.5).bind(np.array([0.8, 0.15, 0.05])),
    LogitAdjusted(apply="prediction").bind(np.array([0.8, 0.15, 0.05])),
]


def annotated(lengths, seed, partial):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    gold = np.eye(K)[rng.integers(0, K, n)]
    if partial:
        gold = np.maximum(gold, rng.random((n, K)) < 0.2)
        return gold, (rng.random(n) < 0.7).astype(float)
    return gold, np.ones(n)


def by_enumeration(loss, scores, gold, mask, lengths, transitions):
    """The definition: every path written out."""
    if loss.training_offset() is not None:
        scores = scores + loss.training_offset()
    allowed = (gold > 0) | (mask == 0)[:, None]
    total = 0.0
    for start, paths in paths_of(scores, lengths, transitions):
        log_z = np.logaddexp.reduce(list(paths.values()))
        n = len(next(iter(paths)))
        if loss.log_likelihood:
            inside = [s for p, s in paths.items() if all(allowed[start + i, t] for i, t in enumerate(p))]
            total += log_z - np.logaddexp.reduce(inside)
            continue
        for i in range(n):
            if mask[start + i]:
                mass = np.zeros(K)
                for path, score in paths.items():
                    mass[path[i]] += np.exp(score - log_z)
                q = mass * allowed[start + i]
                x, q = q.sum(), q / q.sum()
                f, _ = loss.of_gold(
                    np.log([min(x, 1.0)]), np.array([float(q[0] > 0.5)]), loss.weight(q[None])
                )
                total += float(f[0])
    return total / max(mask.sum(), 1)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(lengths=RAGGED, seed=st.integers(0, 10**6), partial=st.booleans())
def test_a_chain_loss_is_its_definition(loss, lengths, seed, partial):
    scores, lengths, transitions = chain(lengths, seed)
    gold, mask = annotated(lengths, seed, partial)
    result = chain_loss(loss, scores, gold, mask, lengths, transitions)
    expected = by_enumeration(loss, scores, gold, mask, lengths, transitions)
    assert result.loss == pytest.approx(expected if mask.any() else 0.0, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("legal", [False, True])
@pytest.mark.parametrize("scale", [1.0, 15.0])
def test_the_gradient_of_a_chain_loss_is_its_slope(loss, partial, scale, legal):
    if partial and loss.preset is FIXED:
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


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_saturated_chains_stay_finite_and_illegal_paths_have_no_mass(loss):
    rng = np.random.default_rng(0)
    scores = rng.choice([-30.0, 30.0], size=(12, K)).astype("float32")
    lengths = np.array([7, 5])
    gold = np.eye(K, dtype="float32")[[0, 1, 2, 0, 0, 1, 2, 1, 1, 2, 2, 0]]
    mask = np.ones(12, dtype="float32")
    transitions = Transitions(*(np.zeros_like(t) for t in LEGAL)).plus(LEGAL)
    result = chain_loss(loss, scores, gold, mask, lengths, transitions)
    wide = chain_loss(loss, scores.astype("float64"), gold, mask, lengths, transitions)
    assert np.isfinite(result.loss) and result.loss >= 0
    assert all(np.isfinite(d).all() for d in (result.d_scores, *result.d_transitions))
    assert result.loss == pytest.approx(wide.loss, rel=1e-5)
    assert result.d_scores == pytest.approx(wide.d_scores, abs=1e-5)
    assert result.d_scores.dtype == np.float32
    sums = PathSums(scores, lengths, transitions)
    assert np.exp(sums.log_marginals[[0, 7], 2]) == pytest.approx(0.0, abs=1e-12)  # I opens nothing
    assert result.d_transitions.trans[0, 2] == pytest.approx(0.0, abs=1e-12)


def test_large_transitions_do_not_overflow():
    scores, lengths, transitions = chain([3, 2], 4)
    large = transitions._replace(trans=transitions.trans + 900.0)
    gold = np.eye(K)[[0, 1, 2, 0, 1]]
    for loss in (CrossEntropy(), Focal()):  # a constant for every pair of tags changes nothing
        a = chain_loss(loss, scores, gold, np.ones(5), lengths, transitions)
        b = chain_loss(loss, scores, gold, np.ones(5), lengths, large)
        assert b.loss == pytest.approx(a.loss) and b.d_scores == pytest.approx(a.d_scores)
        assert b.d_transitions.trans == pytest.approx(a.d_transitions.trans)


def test_path_score_counts_tags_and_pairs():
    scores, lengths, transitions = chain([3, 1, 0, 2], 5)
    tags = np.array([0, 1, 2, 2, 0, 0])
    total, d_scores, counts = path_score(scores, tags, lengths, transitions)
    expected = [
        paths[p]
        for (_, paths), p in zip(paths_of(scores, lengths, transitions), [(0, 1, 2), (2,), (0, 0)])
    ]
    assert total == pytest.approx(sum(expected))
    assert d_scores.argmax(1).tolist() == tags.tolist() and d_scores.sum() == 6
    assert counts.start.tolist() == [2, 0, 1] and counts.end.tolist() == [1, 0, 2]
    assert counts.trans.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_the_likelihood_against_pytorch_crf():
    torch = pytest.importorskip("torch")
    torchcrf = pytest.importorskip("torchcrf")
    rng = np.random.default_rng(2)
    lengths = np.array([5, 2, 4])
    scores, lengths, transitions = chain(lengths.tolist(), 2)
    tags = rng.integers(0, K, 11)
    theirs = torchcrf.CRF(K, batch_first=True).double()
    for name, value in zip(
        ("start_transitions", "transitions", "end_transitions"), transitions, strict=True
    ):
        getattr(theirs, name).data = torch.tensor(value)
    padded, gold = torch.zeros(3, 5, K, dtype=torch.float64), torch.zeros(3, 5, dtype=torch.long)
    inside = torch.arange(5)[None] < torch.tensor(lengths)[:, None]
    padded[inside], gold[inside] = torch.tensor(scores), torch.tensor(tags)
    padded.requires_grad_()
    loss = -theirs(padded, gold, mask=inside, reduction="sum") / 11
    loss.backward()
    ours = chain_loss(CrossEntropy(), scores, np.eye(K)[tags], np.ones(11), lengths, transitions)
    assert ours.loss == pytest.approx(loss.item())
    assert ours.d_scores == pytest.approx(padded.grad[inside].numpy())
    assert ours.d_transitions.trans == pytest.approx(theirs.transitions.grad.numpy())
    assert ours.d_transitions.start == pytest.approx(theirs.start_transitions.grad.numpy())
    assert ours.d_transitions.end == pytest.approx(theirs.end_transitions.grad.numpy())
    decoded = [tag for path in theirs.decode(padded, inside) for tag in path]
    assert viterbi(scores, lengths, transitions).tolist() == decoded


def test_a_batch_without_annotation_costs_nothing():
    scores, lengths, transitions = chain([2, 1], 0)
    for loss in LOSSES:
        result = chain_loss(loss, scores, np.eye(K), np.zeros(3), lengths, transitions)
        assert result.loss == 0.0 and not result.d_scores.any()
        assert not any(d.any() for d in result.d_transitions)
