"""Budget of flagged sentences, as a fraction of all sentences of a stream that is seen once."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence
from threading import Lock

import numpy as np
from thinc.types import Floats1d

WINDOW = 10_000  # recent scores that a new one is compared with, those of the start included
N_START = 2_000  # scores that are kept of development data
BURST = 5  # sentences that may be flagged ahead of the budget
N_DIGITS = 6  # of a score: sentences that say the same tie, whatever batch they were in
ROUNDING = 1e-9
_deciding = Lock()  # of all budgets, because a lock of their own could not be pickled


class Budget:
    """Budget that flags the highest scores of a stream, at most a fraction of them.

    A score is flagged if at most `share` of the recent scores, itself included, are as high. In no
    particular order this happens with a probability of at most `share`, however they are
    distributed. Beside BURST sentences, never more than `share` of all so far are flagged.

    share (float): Maximum fraction of all sentences, above 0 and at most 1.
    start (Iterable[float]): Scores of development data. Without any the first 1 / share never flag.
    SOURCE: Vovk et al. 2005; the cap is ours (docs/methods.md, "Budget of the posterior gate").
    """

    def __init__(self, share: float, start: Iterable[float] = ()) -> None:
        self.share = share
        self.n_seen = self.n_flagged = 0
        self._recent = deque(np.round(list(start), N_DIGITS).tolist(), WINDOW)  # in order of arrival
        self._sorted = sorted(self._recent)

    def flag(self, scores: Floats1d) -> np.ndarray:
        """Return whether each of the next sentences of the stream is flagged, shape (n_sentences,).

        One thread decides at a time, so that the sentences of one call are adjacent in the stream.
        """
        rounded = np.round(np.asarray(scores, dtype="float64"), N_DIGITS).tolist()
        with _deciding:
            return np.fromiter(map(self._decide, rounded), dtype=bool, count=len(rounded))

    def _decide(self, score: float) -> bool:
        as_high = len(self._sorted) - bisect_left(self._sorted, score) + 1
        is_high = as_high <= self.share * (len(self._sorted) + 1) + ROUNDING
        is_flagged = is_high and self.n_flagged + 1 <= self.share * (self.n_seen + 1) + BURST
        if len(self._recent) == WINDOW:
            del self._sorted[bisect_left(self._sorted, self._recent[0])]
        self._recent.append(score)
        insort(self._sorted, score)
        self.n_seen, self.n_flagged = self.n_seen + 1, self.n_flagged + is_flagged
        return is_flagged


def start_scores(scores: Sequence[float] | Floats1d) -> list[float]:
    """Return the development scores that a budget starts from: all, or evenly spaced quantiles.

    RETURNS (List[float]): At most N_START scores, shuffled, because the first are forgotten first.
    """
    ranked = np.sort(np.asarray(scores, dtype="float64"))
    if len(ranked) > N_START:
        ranked = ranked[((np.arange(N_START) + 0.5) * len(ranked) / N_START).astype("int64")]
    return np.round(np.random.default_rng(0).permutation(ranked), N_DIGITS).tolist()
