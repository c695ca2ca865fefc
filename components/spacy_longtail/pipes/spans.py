"""Which begin and which end make a span: in training, to learn from it; in prediction, to judge it."""

import numpy as np
from thinc.types import Floats1d, Ints1d, Ints2d


def nearest_pairs(begins: Ints1d, ends: Ints1d, group: Ints1d) -> Ints2d:
    """Each begin with the nearest end at or after it, if both are of one group.

    begins, ends (Ints1d): (n_rows,), whether one is predicted there.
    group (Ints1d): (n_rows,), ascending: where it changes, no span continues.
    RETURNS (Ints2d): (n_pairs, 2), rows of first and last token, ascending.
    """
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    at = np.searchsorted(last, first)
    first, last = first[at < len(last)], last[at[at < len(last)]]
    together = group[first] == group[last]
    return np.stack([first[together], last[together]], axis=1)


def training_pairs(
    begins: Ints1d, ends: Ints1d, question: Ints1d, gold: Ints2d, most: int
) -> tuple[Ints2d, Floats1d]:
    """All begins with all ends at or after them in their question, at most `most` per question.

    Gold pairs are kept in any case; of the others the shortest, which prediction would ask about.

    begins, ends (Ints1d): (n_rows,), whether one is predicted there, or is gold.
    question (Ints1d): (n_rows,), ascending.
    gold (Ints2d): (n_gold, 2), rows of first and last token.
    most (int): Pairs per question.
    RETURNS (Tuple[Ints2d, Floats1d]): (n_pairs, 2), ascending; (n_pairs,) 1.0 for gold ones.
    """
    n_rows = len(question)
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    low = np.searchsorted(last, first)
    high = np.searchsorted(question[last], question[first], side="right")
    n_ends = np.clip(high - low, 0, most)  # the nearest are the shortest
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
    kept[order] = (rank < most) | is_gold[order]
    return pairs[kept], is_gold[kept].astype("float32")
