"""Answers of `longtail_mrc_ner`: gold answers, loss and gradient, predicted answers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.training import Example
from thinc.api import Model, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ints2d

from ...chains.tags import TagCodec
from ...layers.reading import Reading
from ...losses import BinaryLoss
from ...numerics import binary_cross_entropy, sigmoid
from ..scores.spans import ScoredSpan
from ..token.gold import gold_types
from .queries import Questions

WEIGHTS = np.array([1.0, 1.0, 0.1]) / 2.1  # of begins, ends and spans
MAX_PAIRS = 100  # of a query and a sentence to train on, besides the gold ones


class Answers(NamedTuple):
    last: Ints2d  # (n_tokens, n_types), last token of the entity that begins here; -1 for none
    ends: Floats2d  # (n_tokens, n_types), 1.0 where an entity ends
    mask: Floats1d  # (n_tokens,), 0.0 without annotation
    n_answers: int  # questions, a query to a sentence, that have an answer
    n_questions: int


def gold_answers(examples: list[Example], labels: Sequence[str], who: str) -> Answers:
    """Return the gold entities of the predicted tokens.

    Tokens of other types than `labels`, and of entities that cross a sentence start, count as not
    annotated.
    """
    iob, label, lengths = gold_types(examples, labels, who, others=False)
    codec = TagCodec(tuple(labels), "BILUO")
    columns, mask = codec.encode(iob, label, lengths, are_others_o=False)
    start, end, label = codec.spans(columns)
    n_types = len(labels)
    last, ends = np.full((len(iob), n_types), -1), np.zeros((len(iob), n_types), dtype="float32")
    last[start, label] = end - 1
    ends[end - 1, label] = 1.0
    sentence = np.searchsorted(np.cumsum(lengths), start, side="right")
    answered = np.unique(sentence * n_types + label)
    return Answers(last, ends, mask, len(answered), len(lengths) * n_types)


def get_batch_loss(
    model: Model,
    loss: BinaryLoss,
    entity_factor: float,
    part: Questions,
    reading: Reading,
    gold: Answers,
) -> tuple[float, Reading]:
    """Return what a part of a batch adds to its loss, and the gradient on the model's output.

    The loss is (w_s L_s + w_e L_e + w_m L_m) / (w_s + w_e + w_m), times the batch's annotated
    tokens and queries. L_s and L_e are means over these. L_m takes the mean over the pairs of a
    question. Then it takes the mean over the batch's questions with a gold answer, plus the sum
    over those without one by the number of all questions. So wrong guesses do not drown a batch of
    few answers, and both numbers are known before the encoder has read all parts.

    SOURCE: Li et al. 2020, arXiv:1910.11476, eq. 4-6 (docs/methods.md, "Reading comprehension").
    """
    ops = model.ops
    at = (part.token, part.type)
    known, last, gold_ends = gold.mask[part.token], gold.last[at], gold.ends[at]
    begins = (last >= 0).astype("float32")
    total, d_logits = 0.0, ops.alloc2f(*reading.logits.shape)
    for i, targets in enumerate((begins, gold_ends)):
        scale = WEIGHTS[i] * known * np.where(targets > 0, entity_factor, 1.0)
        rows = loss.binary_rows(reading.logits[:, i], ops.asarray1f(targets))
        f, d_logits[:, i] = rows.times(ops.asarray1f(scale.astype("float32")))
        total += float(f.sum())
    first = np.flatnonzero(begins)
    guesses = (to_numpy(reading.logits) > 0).T
    begins_here, ends_here = (known > 0) & (guesses | [begins > 0, gold_ends > 0])
    gold_pairs = np.stack([first, first + last[first] - part.token[first]], axis=1)
    pairs, is_gold = training_pairs(begins_here, ends_here, part.question, gold_pairs, MAX_PAIRS)
    if not len(pairs):
        return total, Reading(ops.alloc2f(*reading.vectors.shape), d_logits)
    scorer = model.get_ref("span_scorer")
    scores, backprop = scorer.begin_update((reading.vectors, ops.asarray2i(pairs)))
    asked = part.question[pairs[:, 0]]
    answered = np.bincount(asked, weights=is_gold)[asked] > 0
    n_rows = float(gold.mask.sum()) * gold.last.shape[1]  # annotated tokens, each once per query
    share = WEIGHTS[2] * n_rows / np.where(answered, max(gold.n_answers, 1), gold.n_questions)
    scale = ops.asarray1f((share / np.bincount(asked)[asked]).astype("float32"))
    f, d_rows = binary_cross_entropy(scores[:, 0], ops.asarray1f(is_gold))
    total += float((scale * f).sum())
    return total, Reading(backprop((scale * d_rows)[:, None]), d_logits)


def decode_answers(
    model: Model, part: Questions, reading: Reading, taken: Floats1d, space: Floats1d, doc_ends: Ints1d
) -> Iterator[tuple[int, int, ScoredSpan]]:
    """Yield predicted answers: index of the document, index of the query, and the entity untyped.

    model (Model): The model, whose span scorer rates the answers.
    part (Questions): Questions that the model has read.
    reading (Reading): Output of the model for them.
    taken (Floats1d): Whether a token is in an entity already, shape (n_rows,).
    space (Floats1d): Whether a token is whitespace, at which no entity begins or ends, shape
        (n_rows,).
    doc_ends (Ints1d): Index after the last token of each document among all, shape (n_docs,).
    """
    begins, ends = (to_numpy(reading.logits) > 0).T & ~(taken | space)
    group = part.question + np.cumsum(taken)  # no answer crosses a token that is taken
    pairs = nearest_pairs(begins, ends, group)
    if not len(pairs):
        return
    scorer = model.get_ref("span_scorer")
    z = to_numpy(scorer.predict((reading.vectors, model.ops.asarray2i(pairs))))[:, 0].astype("float64")
    pairs, scores = pairs[z > 0], sigmoid(z[z > 0])
    first, last = part.token[pairs].T
    doc_i = np.searchsorted(doc_ends, first, side="right")
    offset = np.concatenate([[0], doc_ends])[doc_i]
    columns = (doc_i, part.type[pairs[:, 0]], first - offset, last - offset, scores)
    for i, k, a, b, score in zip(*(column.tolist() for column in columns), strict=True):
        yield i, k, ScoredSpan(a, b + 1, "", score, ())


def nearest_pairs(begins: Ints1d, ends: Ints1d, group: Ints1d) -> Ints2d:
    """Return each begin with the nearest end at or after it in its group, shape (n_pairs, 2).

    begins (Ints1d): Whether an answer begins at a row, shape (n_rows,).
    ends (Ints1d): Whether one ends at a row, shape (n_rows,).
    group (Ints1d): Group of each row, in ascending order, shape (n_rows,).
    """
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    at = np.searchsorted(last, first)
    first, last = first[at < len(last)], last[at[at < len(last)]]
    together = group[first] == group[last]
    return np.stack([first[together], last[together]], axis=1)


def training_pairs(
    begins: Ints1d, ends: Ints1d, question: Ints1d, gold: Ints2d, max_pairs: int
) -> tuple[Ints2d, Floats1d]:
    """Return pairs of a begin and an end at or after it in the same question.

    Gold pairs are always kept, and of the others the shortest, which prediction would score.

    begins (Ints1d): Whether a predicted or gold entity begins at a row, shape (n_rows,).
    ends (Ints1d): Whether one ends at a row, shape (n_rows,).
    question (Ints1d): Question of each row, in ascending order, shape (n_rows,).
    gold (Ints2d): Rows of first and last token of gold entities, shape (n_gold, 2).
    max_pairs (int): Maximum number of pairs of a question, unless it has more gold ones.
    RETURNS (Tuple[Ints2d, Floats1d]): The pairs in ascending order, shape (n_pairs, 2); 1.0 for
        gold ones, shape (n_pairs,).
    """
    n_rows = len(question)
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    low = np.searchsorted(last, first)
    high = np.searchsorted(question[last], question[first], side="right")
    n_ends = np.clip(high - low, 0, max_pairs)  # the nearest are the shortest
    step = np.arange(n_ends.sum()) - np.repeat(np.cumsum(n_ends) - n_ends, n_ends)
    codes = np.repeat(first, n_ends) * n_rows + last[np.repeat(low, n_ends) + step]
    gold_codes = gold[:, 0] * n_rows + gold[:, 1]
    codes = np.union1d(codes, gold_codes).astype("int64")
    pairs = np.stack(np.divmod(codes, max(n_rows, 1)), axis=1)
    is_gold = np.isin(codes, gold_codes)
    of = question[pairs[:, 0]]
    order = np.lexsort((pairs[:, 0], pairs[:, 1] - pairs[:, 0], ~is_gold, of))
    rank = np.arange(len(of)) - np.searchsorted(of, of)  # in its question: `of` ascends as pairs do
    kept = np.zeros(len(of), dtype=bool)
    kept[order] = (rank < max_pairs) | is_gold[order]
    return pairs[kept], is_gold[kept].astype("float32")
