"""Losses, chains and heads give the same on a GPU as on the CPU. Needs CuPy's device."""

import numpy as np
import pytest
from thinc.api import to_numpy
from thinc.types import Ragged

from spacy_longtail.chains.packing import Transitions, best_legal, viterbi
from spacy_longtail.chains.sums import PathSums
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS, Gold
from spacy_longtail.layers.transitions import Lattice
from spacy_longtail.losses import (
    AUCMargin,
    CompositionalAUC,
    CrossEntropy,
    Dice,
    Distillation,
    Focal,
    LabelWeights,
    MoM,
    OneVersusRestFocal,
    TwoTaskCrossEntropy,
)
from spacy_longtail.pipes.base import check_finite
from spacy_longtail.types import SoftTargets, TwoTaskState

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
if not cupy.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

CODEC = TagCodec(("X", "Y"), "BIO")
LENGTHS = np.array([3, 0, 4])
TAGS = np.array([0, 1, 2, 0, 3, 4, 0])
MASK = np.array([1, 1, 1, 1, 1, 1, 0], dtype="float32")
CLASS_VALUES = np.array([0.5, 2.0, 3.0, 4.0, 5.0])
WEIGHTED = Focal(1.5, LabelWeights({"X": 2.0}))
CASES = [
    ("softmax", CrossEntropy()),
    ("softmax", MoM(WEIGHTED, 0.3)),
    ("softmax", Dice(alpha=0.6)),
    ("softmax", Distillation()),
    ("sigmoid", OneVersusRestFocal()),
    ("crf", CrossEntropy()),
    ("crf", MoM(WEIGHTED, 0.3)),
    ("two_task", AUCMargin("running")),
    ("two_task", CompositionalAUC()),
    ("two_task", TwoTaskCrossEntropy()),
]


def draw_scores(head, xp):
    """The same random scores on either device, as the model of a head gives them."""
    rng = np.random.default_rng(0)
    n_outputs = len(head.outputs)
    scores = Ragged(xp.asarray(rng.normal(size=(7, n_outputs)).astype("float32")), xp.asarray(LENGTHS))
    if head.name != "crf":
        return scores
    shapes = (n_outputs,), (n_outputs, n_outputs), (n_outputs,)
    return Lattice(scores, Transitions(*(xp.asarray(rng.normal(size=shape)) for shape in shapes)))


@pytest.mark.parametrize(("name", "loss"), CASES, ids=str)
def test_training(name, loss):
    head = HEADS[name](CODEC, loss, None if loss.class_weights is None else CLASS_VALUES)
    log_p = np.log(np.random.default_rng(1).dirichlet(np.ones(5), 7))
    soft = SoftTargets(log_p, np.array([0, 0, 0, 1, 1, 1, 1])) if loss.reads_soft else None
    gold = Gold(TAGS, MASK, LENGTHS, soft=soft)

    cpu, gpu = (head.train(draw_scores(head, xp), gold, TwoTaskState()) for xp in (np, cupy))

    assert gpu.loss == pytest.approx(cpu.loss, rel=1e-5)
    rows, expected = head.logits(gpu.d_scores).dataXd, head.logits(cpu.d_scores).dataXd
    assert to_numpy(rows) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    check_finite(name, 7, *gpu.numbers)


@pytest.mark.parametrize("outside", [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]], ids=str)
@pytest.mark.parametrize("name", HEADS)
def test_decoding(name, outside):
    head = HEADS[name](CODEC, HEADS[name].default_loss())
    outside = np.array(outside)

    cpu, gpu = (head.decode(draw_scores(head, xp), LENGTHS, outside, True) for xp in (np, cupy))

    assert gpu.tags.tolist() == cpu.tags.tolist()
    assert gpu.p == pytest.approx(cpu.p, rel=1e-4)


@pytest.mark.parametrize("scale", [2.0, 5000.0])
def test_paths(scale):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(7, 5)) * scale
    transitions = Transitions(rng.normal(size=5), rng.normal(size=(5, 5)), rng.normal(size=5))
    legal = transitions.plus(CODEC.legality())
    on_gpu, data = Transitions(*map(cupy.asarray, legal)), cupy.asarray(scores)
    legality = Transitions(*map(cupy.asarray, CODEC.legality()))

    assert to_numpy(viterbi(data, LENGTHS, on_gpu)).tolist() == viterbi(scores, LENGTHS, legal).tolist()
    best = best_legal(scores, LENGTHS, CODEC.legality())
    assert to_numpy(best_legal(data, LENGTHS, legality)).tolist() == best.tolist()
    log_z = PathSums(scores, LENGTHS, legal).log_z
    assert to_numpy(PathSums(data, cupy.asarray(LENGTHS), on_gpu).log_z) == pytest.approx(log_z)


def test_sequences_of_one_token_have_no_pairs():
    head = HEADS["crf"](CODEC, CrossEntropy())
    gold = Gold(np.array([0, 1]), np.ones(2, dtype="float32"), np.array([1, 1]))

    losses = []
    for xp in (np, cupy):
        scores = Ragged(xp.zeros((2, 5), dtype="float32"), xp.asarray([1, 1]))
        zero = Transitions(*(xp.zeros_like(xp.asarray(t)) for t in head.legality))
        losses.append(head.train(Lattice(scores, zero), gold, TwoTaskState()).loss)

    assert losses[1] == pytest.approx(losses[0])
