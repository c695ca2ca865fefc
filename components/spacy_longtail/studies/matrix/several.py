"""Whether several trainings of a method behind one pipe are worth their time, measured on a fold."""

import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...evaluation.report.wording import signed
from ...output.writing import coded_io, write_file
from ...records import Record
from ..trials.child import MODEL
from ..trials.ledger import read_finished, trial_folder
from ..trials.plan import Plan, Trial
from ..trials.run import Matrix, Options
from .rounds import Budget

SEEDS = [1, 2, 3]  # the folds have 0
HEADS = ("softmax", "crf")  # whose probabilities have a mean
FOLDER, TOGETHER, RECORD = "ensemble", "model", "worth.json"


class Worth(Record):
    """What an ensemble is worth on a held-out fold."""

    trials: list[str]  # of its members, by content key
    macro: float  # F1 in [0, 1]
    single: float  # mean of its members
    speed: float  # words per second, those of a member being 1

    def text(self, method: str) -> str:
        """In a sentence. method (str): That of the members."""
        gain = signed(100 * (self.macro - self.single))
        return (
            f"{len(SEEDS)} trainings of {method} behind one pipe (`ensemble`): {gain} points of macro F1"
            f" beside one of them on one held-out fold, at {self.speed:.1f} times its speed."
        )


class Reading(NamedTuple):
    """What a pipeline reaches on a fold."""

    macro: float  # F1 in [0, 1]
    speed: float  # words per second, those of the first pipeline being 1


# of trained pipelines and, at the end, their ensemble, on what a fold of train and dev holds out (its
# test part; the corpus's own has no say); written to a folder
Combine = Callable[[Sequence[Path], Path, Path], Sequence[Reading]]


def worth_of_several(
    trial: Trial, plan: Plan, output: Path, options: Options, budget: Budget, combine: Combine
) -> Worth | None:
    """Train a method with three further seeds on a fold, and measure their ensemble there. Models do not
    stay: they have learnt from a part of the sentences.

    trial (Trial): The method on the fold. plan (Plan): What the trial is of.
    output (Path): Folder of the trials. options (Options): How they are run.
    budget (Budget): What is left of its time. combine (Callable): Measures the ensemble.
    RETURNS (Optional[Worth]): Null where the method has no such ensemble, or there is no time for it.
    RAISES (ValueError): Those of `Matrix` and of `build_ensemble`.
    """
    choices = trial.method.choices
    if choices.get("head") not in HEADS or choices.get("gate", "none") != "none":
        return None
    own = plan._replace(methods=[trial.method], corpora=[trial.corpus], seeds=SEEDS)
    matrix = Matrix(own, output / FOLDER)
    keys = sorted(matrix.trials)
    path = matrix.output / RECORD
    if path.is_file() and (found := Worth.model_validate_json(path.read_bytes())).trials == keys:
        return found
    earlier = [r.seconds for r in read_finished(output).values() if r.method == trial.method.name]
    missing = matrix.missing(matrix.trials)
    if not budget.allows([max(earlier, default=0.0)] * len(missing)):
        return None
    records = matrix.run(replace(options, keep_models=True))
    done = [
        trial_folder(matrix.output, key) / MODEL
        for key in keys
        if key in records and records[key].is_done
    ]
    models = [folder for folder in done if folder.is_dir()]
    if len(models) < len(SEEDS):
        return None
    together = matrix.output / TOGETHER
    *members, ensemble = combine(models, trial.corpus, together)
    single = statistics.mean(member.macro for member in members)
    worth = Worth(trials=keys, macro=ensemble.macro, single=single, speed=ensemble.speed)
    write_file(path, worth.model_dump_json(indent=2))
    with coded_io(matrix.output):
        for folder in (*models, together):
            shutil.rmtree(folder, ignore_errors=True)
    return worth
