"""Losses, chains and heads on a GPU give what they give on the CPU. Needs CuPy's device."""

import numpy as np
import pytest
from thinc.api import to_numpy
from thinc.types import Ragged

from spacy_longtail.chains.packing import best_legal, viterbi
from spacy_longtail.chains.sums import PathSums
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS, Gold, Head
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses.chain import chain_loss
from spacy_longtail.types import TwoTaskState
from tests.unit import test_chains, test_losses

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
if not cupy.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


@test_losses.every_case
def test_losses_of_tags_and_of_yes_or_no(loss):
    if isinstance(loss, test_losses.TwoTask):
        pytest.skip("two-task losses are run through their head")
    rng = np.random.default_rng(0)
    z, gold = rng.normal(size=(9, 3)) * 4, np.eye(3)[rng.integers(0, 3, 9)]
    mask = np.array([1.0] * 7 + [0.0] * 2)
    cpu, gpu = loss(z, gold, mask), loss(*map(cupy.asarray, (z, gold, mask)))
    assert gpu.loss == pytest.approx(cpu.loss)
    assert to_numpy(gpu.d_logits) == pytest.approx(cpu.d_logits)


@pytest.mark.parametrize("scale", [2.0, 5000.0])
@pytest.mark.parametrize("loss", test_chains.LOSSES, ids=str)
def test_chains_and_their_losses(loss, scale):
    scores, lengths, transitions = test_chains.chain([4, 0, 2, 1], 3, scale, legal=True)
    gold, mask = test_chains.annotated(lengths, 3, True)
    gold[:, 0] = 1  # a legal path
    on_gpu = type(transitions)(*map(cupy.asarray, transitions))
    data = cupy.asarray(scores)
    assert (
        to_numpy(viterbi(data, lengths, on_gpu)).tolist()
        == viterbi(scores, lengths, transitions).tolist()
    )
    legal = type(transitions)(*map(cupy.asarray, test_chains.LEGAL))
    expected = best_legal(scores, lengths, test_chains.LEGAL)
    assert to_numpy(best_legal(data, lengths, legal)).tolist() == expected.tolist()
    sums = PathSums(data, cupy.asarray(lengths), on_gpu)
    assert to_numpy(sums.log_z) == pytest.approx(PathSums(scores, lengths, transitions).log_z)
    alone = np.array([1, 1])  # no pair of tags at all
    one = chain_loss(loss, data[:2], cupy.asarray(gold[:2]), cupy.ones(2), alone, on_gpu)
    assert one.loss == pytest.approx(
        chain_loss(loss, scores[:2], gold[:2], np.ones(2), alone, transitions).loss
    )
    cpu = chain_loss(loss, scores, gold, mask, lengths, transitions)
    gpu = chain_loss(loss, data, cupy.asarray(gold), cupy.asarray(mask), lengths, on_gpu)
    assert gpu.loss == pytest.approx(cpu.loss)
    assert to_numpy(gpu.d_scores) == pytest.approx(cpu.d_scores, abs=1e-9)


@pytest.mark.parametrize("name", HEADS)
def test_heads(name):
    codec = TagCodec(("X", "Y"), "BIO")
    kind = HEADS[name]
    head: Head = kind(codec, kind.default_loss())
    data = np.random.default_rng(0).normal(size=(7, len(head.outputs))).astype("float32")
    lengths = np.array([3, 4])
    gold = Gold(
        np.array([0, 1, 2, 0, 3, 4, 0]), np.array([1, 1, 1, 1, 1, 1, 0], dtype="float32"), lengths
    )
    found = []
    for xp in (np, cupy):
        scores = Ragged(xp.asarray(data), xp.asarray(lengths))
        if name == "crf":
            zero = type(head.legality)(*(xp.zeros_like(xp.asarray(t)) for t in head.legality))
            scores = Lattice(scores, zero)
        trained = head.train(scores, gold, head.loss, TwoTaskState())
        decoded = head.decode(scores, lengths, np.array([0, 0, 0, 0, 0, 0, 1]), True)
        found.append((trained.loss, decoded))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    assert np.array_equal(found[0][1].tags, found[1][1].tags)
    assert found[1][1].p == pytest.approx(found[0][1].p, rel=1e-4)
