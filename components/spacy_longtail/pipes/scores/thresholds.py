"""Operating points and calibration curves, as functions of scores and outcomes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import srsly
from thinc.types import Floats1d, Floats2d, Ints1d

from ...numerics import log_sigmoid, sigmoid

SLACK = 1e-4  # a threshold lies this far below the last score it keeps: rounding must not drop that one
N_DIGITS = 8  # of what is written; spaCy's JSON keeps ten
TIE = 1e-6  # scores this close are the same, up to rounding
MIN_SLOPE = 1e-3
N_STEPS, SMALL, RIDGE = 100, 1e-9, 1e-9
EDGE = 1e-6  # scores nearer to 0 and 1 are cut: their log odds stay finite


class OperatingPoint(NamedTuple):
    """Precision and recall of a threshold on the data that it was chosen on."""

    threshold: float
    precision: float
    recall: float
    n_kept: int

    def f(self, beta: float = 1.0) -> float:
        """Return F-beta; 0 if no candidate is right."""
        p, r = self.precision, self.recall
        return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0


def points(scores: Floats1d, right: Ints1d, n_gold: int) -> list[OperatingPoint]:
    """Return all operating points, from keeping the best candidate to keeping all (threshold 0).

    scores (Floats1d): Score of each candidate, shape (n_candidates,).
    right (Ints1d): Whether each candidate is right, shape (n_candidates,).
    n_gold (int): Number of gold mentions.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    last = np.flatnonzero(np.append(ranked[:-1] - ranked[1:] > TIE, True)[: len(ranked)])
    cuts = []
    for i in last.tolist():
        threshold = 0.0
        if i + 1 < len(ranked):
            threshold = as_stored(ranked[i] - min(SLACK, (ranked[i] - ranked[i + 1]) / 2))
        recall = float(hits[i] / n_gold) if n_gold else 0.0
        cuts.append(OperatingPoint(threshold, float(hits[i] / (i + 1)), recall, i + 1))
    return cuts


def as_stored(number: float) -> float:
    """Return a number as spaCy loads it from disk, so that a pipeline equals its saved copy.

    Rounding is not enough, because the JSON reader of srsly changes the last bit of a third of all
    numbers with one digit, such as 0.3. A number that it has loaded once stays the same.
    """
    return float(srsly.json_loads(srsly.json_dumps(round(float(number), N_DIGITS))))


def best_f(points: list[OperatingPoint], beta: float = 1.0) -> OperatingPoint | None:
    """Return the point with the highest F-beta; of equal ones the one that keeps most."""
    return max(points, key=lambda point: (point.f(beta), point.n_kept), default=None)


def for_recall(points: list[OperatingPoint], target: float) -> OperatingPoint | None:
    """Return the highest threshold with at least this recall; None if no point reaches it."""
    return next((point for point in points if point.recall >= target), None)


def for_precision(points: list[OperatingPoint], target: float) -> OperatingPoint | None:
    """Return the point with at least this precision that keeps most; None if there is none."""
    return next((point for point in reversed(points) if point.precision >= target), None)


def for_share(points: list[OperatingPoint], share: float) -> OperatingPoint | None:
    """Return the point that keeps most, but at most this fraction; None if there is none."""
    n = points[-1].n_kept if points else 0
    return next((point for point in reversed(points) if point.n_kept <= share * n), None)


def log_odds(p: Floats1d) -> Floats1d:
    """Return the log odds of probabilities, which are finite for 0 and 1 as well."""
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p / (1 - p))


class CalibrationCurve(NamedTuple):
    """Line that makes a score a probability: sigmoid(slope * log odds of the score + shift)."""

    slope: float = 1.0
    shift: float = 0.0


def calibrated(logits: Floats1d, curve: CalibrationCurve | Sequence[float] | None) -> Floats1d:
    """Return the probabilities of log odds, by a calibration curve if there is one.

    logits (Floats1d): Log odds of the scores, of any shape.
    curve (Optional[CalibrationCurve | Sequence[float]]): The curve, as `fit_curve` returns it or as
        a saved component has it.
    """
    slope, shift = curve or CalibrationCurve()
    return sigmoid(slope * logits + shift)


def fit_curve(logits: Floats1d, right: Ints1d) -> CalibrationCurve:
    """Fit slope and shift of the log odds that make scores probabilities, by maximum likelihood.

    logits (Floats1d): Log odds of the scores, shape (n,).
    right (Ints1d): Whether each scored candidate is right, shape (n,).
    RETURNS (CalibrationCurve): The curve. Its slope is 1 where higher scores are not right more
        often, so that the order of scores stays.
    SOURCE: Platt 1999, with targets (n+ + 1)/(n+ + 2) and 1/(n- + 2); with a shift of 0 the
        temperature 1 / slope of Guo et al. 2017.
    """
    n_right = int(right.sum())
    target = np.where(right > 0, (n_right + 1) / (n_right + 2), 1 / (len(right) - n_right + 2))
    ones = np.ones((len(logits), 1))
    slope, shift = _newton(np.append(logits[:, None], ones, axis=1), target, np.zeros(len(logits)))
    if slope > MIN_SLOPE:
        return CalibrationCurve(slope, shift)
    return CalibrationCurve(shift=_newton(ones, target, logits)[0])


def _newton(inputs: Floats2d, target: Floats1d, offset: Floats1d) -> list[float]:
    """Fit a logistic regression by Newton steps, which are halved until the loss decreases."""

    def loss(weights: Floats1d) -> float:
        z = inputs @ weights + offset
        return float((-log_sigmoid(-z) - target * z).sum())

    weights = np.zeros(inputs.shape[1])
    for _ in range(N_STEPS):
        p = sigmoid(inputs @ weights + offset)
        gradient = inputs.T @ (p - target)
        hessian = inputs.T @ (inputs * (p * (1 - p))[:, None]) + RIDGE * np.eye(len(weights))
        step, before = np.linalg.solve(hessian, gradient), loss(weights)
        while loss(weights - step) > before and np.abs(step).max() > SMALL:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() <= SMALL:
            break
    return [as_stored(w) for w in weights]


def calibration_error(p: Floats1d, right: Ints1d, n_bins: int = 10) -> float:
    """Return the expected calibration error: the mean over bins, weighted by size.

    The error of a bin is the difference between its accuracy and its mean score.

    p (Floats1d): Scores in [0, 1], shape (n,).
    right (Ints1d): Whether each scored candidate is right, shape (n,).
    n_bins (int): Number of bins.
    SOURCE: Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017, eq. 3.
    """
    at = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(at, weights=right - p, minlength=n_bins)
    return float(np.abs(gaps).sum() / max(len(p), 1))
