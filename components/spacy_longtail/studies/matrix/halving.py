"""Which methods are worth another fold: successive halving, by Optuna's pruner."""

from collections.abc import Mapping

from ..trials.storage import import_optuna

FACTOR = 2  # of the methods one in so many goes on


def is_rung(n_folds: int) -> bool:
    """Whether methods are dropped after so many folds: 1, 2, 4, ..."""
    return n_folds & (n_folds - 1) == 0


def survivors(values: Mapping[str, float], n_folds: int) -> set[str]:
    """The methods that go on after a fold.

    Each is judged by the pruner as the last to arrive, so that their order makes no difference.

    values (Mapping[str, float]): A score by method, over the folds so far. n_folds (int): How many.
    RAISES (ValueError): L406.
    SOURCE: Jamieson and Talwalkar 2016, Non-stochastic Best Arm Identification; Optuna's
        SuccessiveHalvingPruner.
    """
    optuna = import_optuna()
    kept = set()
    for name in values:
        pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=n_folds, reduction_factor=FACTOR)
        study = optuna.create_study(direction="maximize", pruner=pruner)
        for other in [*(n for n in values if n != name), name]:
            trial = study.ask()
            trial.report(values[other], n_folds)
            is_pruned = trial.should_prune()
        if not is_pruned:
            kept.add(name)
    return kept
