"""What a plan would train."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ..trials.ledger import read_finished
from ..trials.plan import Plan
from ..trials.run import Matrix
from .cutting import fold_plan


def list_trials(plan: Plan, output: Path, n_folds: int | None = None) -> list[dict[str, object]]:
    """The trials of a plan, checked as before a run. Nothing is written.

    plan (Plan): The plan; of one with steps = "needed" the trials of the first seed.
    output (Path): The folder of its results.
    n_folds (Optional[int]): Of train and dev, to compare on; null compares on dev.
    RETURNS (List[Dict[str, object]]): As JSON data, each with its content key and its status.
    RAISES (ValueError): Those of `Matrix`, its `check`, and `fold_plan`.
    """
    if n_folds is None:
        return _listed(Matrix(plan.first_seed() if plan.is_needed else plan, output))
    with TemporaryDirectory(prefix="longtail-") as place:  # a key is of data, which is cut for it
        cut, _ = fold_plan(plan, Path(place), n_folds)
        return _listed(Matrix(cut, output, inputs=plan.corpora))


def _listed(matrix: Matrix) -> list[dict[str, object]]:
    finished = read_finished(matrix.output)
    matrix.check(key for key in matrix.trials if key not in finished)
    return [
        {
            "key": key,
            "title": trial.title,
            "corpus": trial.corpus.name,
            "method": trial.method.name,
            "seed": trial.seed,
            "status": finished[key].status if key in finished else "open",
        }
        for key, trial in matrix.trials.items()
    ]
