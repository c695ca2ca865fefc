"""Which methods are worth another fold: successive halving."""

from collections.abc import Mapping

FACTOR = 2  # of the methods one in so many goes on


def is_rung(n_folds: int) -> bool:
    """Whether methods are dropped after so many folds: 1, 2, 4, ..."""
    return n_folds & (n_folds - 1) == 0


def survivors(values: Mapping[str, float]) -> set[str]:
    """The methods that go on after a fold: the better half, and what is level with the last of it.

    values (Mapping[str, float]): A score by method, over the folds so far.
    SOURCE: Jamieson and Talwalkar 2016, Non-stochastic Best Arm Identification.
    """
    ranked = sorted(values.values(), reverse=True)
    least = ranked[max(len(ranked) // FACTOR, 1) - 1] if ranked else 0.0
    return {name for name, value in values.items() if value >= least}
