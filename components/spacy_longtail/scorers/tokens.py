"""Tags of words, on gold tokens: how many are right, and in which sentences all of them.

A word counts if it is annotated and no whitespace. Each word is judged by itself: unlike a mention,
a prediction that touches a word without annotation still counts on the others.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, ORTH, SENT_START
from spacy.scorer import PRFScore
from spacy.training import Example
from thinc.types import Ints1d, Ints2d

from ..corpus.counts import BEGINS, INSIDE, MISSING, OUTSIDE

GOLD = [ORTH, ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START]
PREDICTED = [ORTH, ENT_IOB, ENT_TYPE]


class TokenResults(NamedTuple):
    """Results of all words and of O, and of the gold sentences of all documents in order."""

    n_words: int  # that count
    n_right: int  # with the right tag: type, and begin or inside
    outside: PRFScore  # of O as a class
    starts: Ints1d  # (n_sentences,), first gold token, counted on from document to document
    lengths: Ints1d  # (n_sentences,), words that count
    are_right: Ints1d  # (n_sentences,), bool: a word counts, and the tags of all that do are right

    @property
    def word_accuracy(self) -> float:
        return self.n_right / self.n_words if self.n_words else 0.0

    @property
    def sentence_accuracy(self) -> float:
        """Share of right sentences among those with a word that counts; 0 without any."""
        n_sentences = int(np.count_nonzero(self.lengths))
        return int(self.are_right.sum()) / n_sentences if n_sentences else 0.0


def token_results(examples: Iterable[Example]) -> TokenResults:
    """Compare the tags of predicted and gold documents, except documents without annotation.

    Where tokens differ, a predicted entity covers the gold tokens that it aligns with, as for the
    span scores; the first of two keeps a token that both cover, and one that aligns with no gold
    token is not seen. A sentence boundary inside a gold entity does not count.
    """
    gold_rows, predicted_rows = [np.zeros((0, 5), "uint64")], [np.zeros((0, 2), "uint64")]
    for eg in examples:
        gold_rows.append(eg.reference.to_array(GOLD))
        predicted_rows.append(_predicted_tags(eg, gold_rows[-1][:, 0]))
    # a copy by column: the rows of an array are slow to walk down
    _, iob, label, is_space, sent_start = np.concatenate(gold_rows).T.copy()
    predicted_iob, predicted_label = np.concatenate(predicted_rows).T.copy()
    opens = np.zeros(len(iob) + 1, dtype=bool)  # an empty document may come last
    opens[np.cumsum([0, *map(len, gold_rows)])] = True
    opens = opens[:-1] | ((sent_start == 1) & (iob != INSIDE))

    begins = iob == BEGINS
    gold_o = (iob == OUTSIDE) | (label == 0)
    predicted_o = (predicted_iob == OUTSIDE) | (predicted_label == 0)
    counted = (iob != MISSING) & ~(begins & gold_o) & (is_space == 0)  # what begins nothing is blocked
    same = (label == predicted_label) & (begins == (predicted_iob == BEGINS))
    both_o = gold_o & predicted_o
    right = counted & (both_o | (same & ~gold_o & ~predicted_o))
    n_both, n_gold, n_predicted = (
        int(np.count_nonzero(is_o & counted)) for is_o in (both_o, gold_o, predicted_o)
    )
    starts = np.flatnonzero(opens)
    lengths, n_right = (np.add.reduceat(words.astype("int64"), starts) for words in (counted, right))
    outside = PRFScore(tp=n_both, fp=n_predicted - n_both, fn=n_gold - n_both)
    are_right = (lengths > 0) & (n_right == lengths)
    return TokenResults(int(lengths.sum()), int(n_right.sum()), outside, starts, lengths, are_right)


def _predicted_tags(eg: Example, words: Ints1d) -> Ints2d:
    """Return spaCy's code and the hash of the type of each gold token, shape (n_tokens, 2)."""
    rows = eg.predicted.to_array(PREDICTED)
    if np.array_equal(rows[:, 0], words):
        return rows[:, 1:]
    placed = np.zeros((len(words), 2), dtype="uint64")
    x2y = eg.alignment.x2y
    for ent in reversed(eg.predicted.ents):
        tokens = x2y[ent.start : ent.end]
        if len(tokens):
            placed[tokens[0] : tokens[-1] + 1] = INSIDE, ent.label
            placed[tokens[0], 0] = BEGINS
    return placed
