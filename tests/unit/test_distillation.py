"""Soft targets: the loss against its definition and its slope, and how they are kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import Ragged

from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.corpus.cutting import SOFT, bare, read_soft, write_soft
from spacy_longtail.corpus.parts import write_docs
from spacy_longtail.heads import Gold, SoftmaxHead
from spacy_longtail.losses import CrossEntropy, Dice, Distillation, Focal, LabelWeights, MoM
from spacy_longtail.pipes.token.gold import soft_targets
from spacy_longtail.readers.sampled import joined
from spacy_longtail.types import SoftTargets, TwoTaskState
from tests.util import TOKEN_MODEL, blank, examples, one_pipe

BASES = [None, Focal(1.5), Focal(1.5, LabelWeights({"PER": 3.0})), MoM(lam=0.3), Dice()]
CLASS_VALUES = np.array([0.7, 0.2, 0.1])  # of O, B-PER, I-PER
CODEC = TagCodec(("PER",), "BIO")
every_base = pytest.mark.parametrize("base", BASES, ids=str)


def train(loss, logits, gold):
    """Loss and gradient of a softmax head on one sentence."""
    values = None if loss.class_weights is None else CLASS_VALUES
    scores = Ragged(logits, np.array([len(logits)]))
    trained = SoftmaxHead(CODEC, loss, values).train(scores, gold, TwoTaskState())
    return trained.loss, trained.d_scores.dataXd


def drawn_batch(seed, gap=False):
    """Logits and gold tags of five tokens; the last three have a teacher.

    gap: Whether the teacher lacks the third tag.
    """
    rng = np.random.default_rng(seed)
    logits, tags = rng.normal(size=(5, 3)) * 3, rng.integers(0, 3, 5)
    mask = (rng.random(5) < 0.6).astype("float64")
    log_p = np.log(rng.dirichlet(np.ones(3), 5))
    if gap:
        log_p[:, 2] = -np.inf
    log_p[:2] = -np.inf
    soft = SoftTargets(log_p, np.array([0.0, 0.0, 1.0, 1.0, 1.0]))
    return logits, Gold(tags, mask, np.array([5]), soft=soft)


def hand_worked(mask):
    """T = 2: the student gives 1/2 each, the teacher 0.8 and 0.2, softened 2/3 and 1/3."""
    log_p = np.log([[0.8, 0.2, 1e-300]])
    log_p[0, 2] = -np.inf
    soft = SoftTargets(log_p, np.ones(1))
    gold = Gold(np.array([1]), np.array([mask]), np.array([1]), soft=soft)
    return np.array([[0.0, 0.0, -np.inf]]), gold


def test_an_annotated_token_learns_from_gold_and_from_the_teacher():
    loss, gradient = train(Distillation(temperature=2.0, share=0.25), *hand_worked(1.0))

    base, soft = np.log(2), 4 * np.log(2)  # H(q, 1/2) is log 2 for every q, times T^2
    assert loss == pytest.approx(0.75 * base + 0.25 * soft)
    # base: p - gold = (1/2, -1/2); soft: T^2 / T (p - q) = 2 (-1/6, 1/6)
    expected = [0.75 * 0.5 + 0.25 * 2 * (-1 / 6), 0.75 * -0.5 + 0.25 * 2 / 6, 0.0]
    assert gradient[0] == pytest.approx(expected)


def test_a_tag_that_the_student_may_not_have_is_not_learnt():
    """The teacher gives it one half, and its other tags the odds of the example worked by hand."""
    logits, gold = hand_worked(0.0)
    soft = SoftTargets(np.log([[0.4, 0.1, 0.5]]), np.ones(1))

    found = train(Distillation(temperature=2.0), logits, gold._replace(soft=soft))

    expected = train(Distillation(temperature=2.0), logits, gold)
    assert found[0] == pytest.approx(expected[0])
    assert found[1] == pytest.approx(expected[1])


def test_a_token_that_the_teacher_has_not_read_learns_nothing_from_it():
    logits, gold = hand_worked(0.0)

    loss, gradient = train(
        Distillation(), logits, gold._replace(soft=gold.soft._replace(known=np.zeros(1)))
    )

    assert loss == 0.0 and not gradient.any()


def test_a_token_without_annotation_learns_from_the_teacher():
    loss, _ = train(Distillation(temperature=2.0, share=0.25), *hand_worked(0.0))

    assert loss == pytest.approx(0.25 * 4 * np.log(2))


@every_base
@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), gap=st.booleans(), temperature=st.floats(1.0, 8.0))
def test_the_gradient_is_the_slope(base, seed, gap, temperature):
    loss = Distillation(base, temperature=temperature, share=0.4)
    logits, gold = drawn_batch(seed, gap)
    step = np.random.default_rng(seed).normal(size=logits.shape)

    above, _ = train(loss, logits + 1e-6 * step, gold)
    below, _ = train(loss, logits - 1e-6 * step, gold)
    _, gradient = train(loss, logits, gold)

    assert (above - below) / 2e-6 == pytest.approx((gradient * step).sum(), abs=1e-4, rel=1e-4)


def test_a_student_like_its_teacher_learns_nothing():
    logits, gold = drawn_batch(1)
    soft = SoftTargets(logits - 5.0, np.ones(5))  # not normalised: it is softened anyway

    _, gradient = train(Distillation(share=1.0, temperature=3.0), logits, gold._replace(soft=soft))

    assert np.abs(gradient).max() < 1e-12


def test_tags_that_the_teacher_lacks_are_not_learnt_from_it():
    logits, gold = drawn_batch(5, gap=True)
    gold = gold._replace(mask=np.zeros(5))

    loss, gradient = train(Distillation(share=1.0), logits, gold)
    moved_loss, _ = train(Distillation(share=1.0), logits + np.array([0.0, 0.0, 9.0]), gold)

    assert not gradient[:, 2].any() and gradient[2:, :2].any()
    assert moved_loss == loss


@every_base
def test_share_0_is_the_base_loss_bit_for_bit(base):
    logits, gold = drawn_batch(3)
    loss = Distillation(base, share=0.0)

    own, own_gradient = train(loss, logits, gold)
    plain, gradient = train(loss.inner, logits, gold)

    assert own == plain
    assert own_gradient.tolist() == gradient.tolist()


def test_share_0_reads_no_soft_targets():
    assert not Distillation(share=0.0).reads_soft
    assert Distillation().reads_soft and not CrossEntropy().reads_soft


TAGS = ["O", "B-PER", "I-PER", "B-GEO", "I-GEO"]


def taught(words, tags=TAGS, seed=0):
    doc = Doc(blank().vocab, words=words)
    p = np.random.default_rng(seed).dirichlet(np.ones(len(tags)), len(words))
    write_soft(doc, tags, np.log(p))
    return doc, p


def test_soft_targets_survive_files_and_joining(tmp_path):
    doc, p = taught(["Maria", "sailed", "."])
    write_docs(tmp_path / "a.spacy", [doc, Doc(doc.vocab, words=["x"])])
    back, other = DocBin().from_disk(tmp_path / "a.spacy").get_docs(blank().vocab)
    found = read_soft(back)
    assert found.tags == TAGS and np.exp(found.log_p) == pytest.approx(p, rel=5e-3)
    assert isinstance(back.user_data[SOFT]["log_p"], bytes) and read_soft(other) is None
    vocab, soft = blank().vocab, [taught(["a", "b"], seed=0)[0], taught(["c"], seed=1)[0]]
    docs = [Doc(vocab, words=words) for words in (["a", "b"], ["c"], ["d"])]
    for doc, own in zip(docs, soft):
        doc.user_data[SOFT] = own.user_data[SOFT]
    one, other = (eg.reference for eg in joined([Example(bare(doc), doc) for doc in docs], 3))
    expected = np.concatenate([read_soft(doc).log_p for doc in docs[:2]])
    assert np.array_equal(read_soft(one).log_p, expected) and read_soft(other) is None


@pytest.mark.parametrize("words", [["a", "b"], ["a", "b", "c", "d"], []])
def test_changed_tokens_are_refused(words):
    doc, _ = taught(["a", "b", "c"])
    other = Doc(doc.vocab, words=words, user_data=doc.user_data)
    with pytest.raises(ValueError, match=rf"L745.*15 numbers.*{len(words)} tokens"):
        read_soft(other)


@pytest.mark.parametrize(
    ("codec", "columns"),
    [
        (TagCodec(("PER",), "BILUO"), [[0], [1], [2], [3], [4]]),  # as the teacher has them
        # by name, in another order; BILUO becomes BIO; a type that the teacher has not is open
        (TagCodec(("GEO", "PER"), "BIO"), [[0], [], [], [1, 4], [2, 3]]),
    ],
    ids=str,
)
def test_columns_follow_the_student(codec, columns):
    doc, p = taught(["a", "b"], ["O", "B-PER", "I-PER", "L-PER", "U-PER"])
    found = soft_targets([Example(bare(doc), doc)], codec, "ner")
    expected = np.stack([p[:, own].sum(axis=1) for own in columns], axis=1)
    assert np.exp(found.log_p) == pytest.approx(expected, rel=5e-3)
    assert found.known.tolist() == [1.0, 1.0]


def test_a_student_of_more_prefixes_than_its_teacher_is_refused():
    doc, _ = taught(["a"])
    with pytest.raises(ValueError, match=r"L513.*BIO.*ner.*BILUO"):
        soft_targets([Example(bare(doc), doc)], TagCodec(("PER", "GEO")), "ner")


def test_tokens_that_the_teacher_has_not_read_are_unknown():
    doc, p = taught(["New", "York", "is", "big"])
    predicted = Doc(doc.vocab, words=["New", "York", "is", "b", "ig"], spaces=[True] * 3 + [False] * 2)
    plain = Example(Doc(doc.vocab, words=["x"]), Doc(doc.vocab, words=["x"]))
    found = soft_targets([plain, Example(predicted, doc)], TagCodec(("PER", "GEO"), "BIO"), "ner")
    assert found.known.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert np.exp(found.log_p[1:4]) == pytest.approx(p[:3], rel=5e-3)
    assert soft_targets([plain], TagCodec(("PER",)), "ner") is None


def test_a_pipe_learns_from_soft_targets_and_needs_some():
    nlp = one_pipe(model=TOKEN_MODEL, loss={"@losses": "longtail.Distillation.v1"})
    data = examples(nlp)
    with pytest.raises(ValueError, match="L513"):
        nlp.initialize(lambda: data)
    doc = data[0].reference
    write_soft(doc, TAGS, np.log([[0.6, 0.1, 0.1, 0.1, 0.1]] * len(doc)))
    nlp.initialize(lambda: data)
    doc.set_ents([], default="missing")  # the soft targets alone teach
    pipe = nlp.get_pipe("ner")
    _, d_scores = pipe.get_loss(data[:1], pipe.model.predict([data[0].predicted]))
    assert pipe.tokens.head.logits(d_scores).dataXd.any()
