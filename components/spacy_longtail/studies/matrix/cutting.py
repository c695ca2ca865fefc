"""A plan on folds: each of its corpora in parts, of which each is held out once."""

from pathlib import Path

from ...errors import Errors
from ..out_of_fold import write_folds
from ..trials.plan import Plan
from .summary import Folds


def fold_plan(plan: Plan, output: Path, n_folds: int) -> tuple[Plan, Folds]:
    """A plan with the folds of its corpora in their place, each trained as long as it gets better.

    plan (Plan): The plan. output (Path): Folder of the trials, in which the folds are written.
    n_folds (int): Of train and dev together, at least 3.
    RETURNS (Tuple[Plan, Mapping[Path, List[Path]]]): The plan, and the folds of each corpus.
    RAISES (ValueError): L479, L562; those of `write_folds`.
    """
    if not plan.corpora:
        raise ValueError(Errors.L479)
    if plan.draws:
        raise ValueError(Errors.L562)
    folds = {
        corpus: [fold.corpus for fold in write_folds(corpus, output, n_folds, with_dev=True)]
        for corpus in plan.corpora
    }
    every = [fold for own in folds.values() for fold in own]
    return plan._replace(corpora=every, is_needed=False), folds
