"""What a plan would train, and how long it would take."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import JsonValue

from ...errors import Warnings
from ...output.amounts import number
from ...output.estimates import MINUTE, Outlook, duration
from ...types import Overrides
from ..trials.estimate import Say, estimate_trials
from ..trials.ledger import read_finished
from ..trials.needed import steps_trained
from ..trials.plan import Plan
from ..trials.run import Matrix, Options
from .advice import FOLDS, in_short, planned
from .cutting import fold_plan
from .rounds import Imagined, fitting
from .summary import Folds


def plan_outlook(
    plan: Plan, output: Path, options: Options, say: Say, n_folds: int | None = None
) -> Outlook:
    """The trials of a plan that are not finished, and how long they would take. Nothing is written.

    plan (Plan): The plan. output (Path): The folder of its results.
    options (Options): How it would be run. say (Callable): Gets progress.
    n_folds (Optional[int]): Of train and dev, to compare on; null compares on dev.
    RETURNS (Outlook): Its data has every trial, by content key.
    RAISES (ValueError): Those of `Matrix`, `fold_plan` and `estimate_trials`.
    """
    if n_folds is not None:
        with TemporaryDirectory(prefix="longtail-") as place:  # a key is of data, which is cut for it
            cut, folds = fold_plan(plan, Path(place), n_folds)
            matrix = Matrix(cut, output, inputs=plan.corpora)
            return _listed(matrix, estimate_trials(matrix, options, say, sources=fold_sources(folds)))
    if not plan.is_needed:
        matrix = Matrix(plan, output)
        return _listed(matrix, estimate_trials(matrix, options, say))
    first = Matrix(plan.first_seed(), output)
    records = read_finished(output)
    if not first.wanted(records, options, first.trials):
        own = (record for key, record in records.items() if key in first.trials)
        matrix = Matrix(plan.at_equal_steps(steps_trained(own) or plan.steps), output)
        return _listed(matrix, estimate_trials(matrix, options, say))
    found = _listed(first, estimate_trials(first, options, say))
    n_each = len(plan.seeds) * max(len(plan.draws), 1)
    later = [
        stage._replace(
            name=f"{stage.name}, all seeds",
            n=n_each,
            each=stage.each and stage.each._replace(at_most=True),
        )
        for stage in found.stages
    ]
    then = (
        f"Then {number(n_each * len(later), 'trial')} with the steps of the method that needs the most"
    )
    return found._replace(facts=[*found.facts, then], stages=[*found.stages, *later])


def advice_outlook(
    corpus: Path,
    output: Path,
    config: Path,
    *,
    minutes: float,
    folds: int = FOLDS,
    steps: int | None,
    options: Options,
    settings: Overrides,
    pretrained: Sequence[Path] = (),
    transformer: str | None = None,
    say: Say,
) -> Outlook:
    """The candidates of `advise`, and what of them would fit into its budget. Nothing is written.

    RETURNS (Outlook): A stage for each candidate, of all folds. RAISES (ValueError): Those of `advise`
        that come before its first training.
    """
    candidates, plan = planned(corpus, config, steps, settings, pretrained, transformer)
    with TemporaryDirectory(prefix="longtail-") as place:
        cut, groups = fold_plan(plan, Path(place), folds)
        matrix = Matrix(cut, output, inputs=[corpus])
        found = estimate_trials(matrix, options, say, sources=fold_sources(groups))
    head = in_short(candidates, cut, folds, minutes)
    lines = [
        f"{method.name}: {candidate.why}"
        for method, candidate in zip(cut.methods, candidates, strict=True)
    ]
    data: dict[str, JsonValue] = {
        "candidates": [
            {"method": method.name, "choices": dict(candidate.grid), "why": candidate.why}
            for method, candidate in zip(cut.methods, candidates, strict=True)
        ]
    }
    facts = [head, *found.facts]
    if found.open:
        said, by_fold = _fit(found, folds, minutes)
        facts += said
        data["fitting"] = [*by_fold]
    note = " for every candidate on all folds, of which the budget allows some"
    return found._replace(facts=facts, lines=lines, data=data, note=note)


def _fit(found: Outlook, n_folds: int, minutes: float) -> tuple[list[str], list[int]]:
    """What fits into a budget, in words, and how many methods by fold."""
    unknown, time = found.unknown, number(minutes, "minute")
    if unknown:
        return [f"What fits into {time} is not known without {', '.join(unknown)}."], []
    seconds = [stage.each.seconds if stage.n and stage.each else 0.0 for stage in found.stages]
    by_fold = fitting(seconds, n_folds, Imagined(minutes, found.workers))
    least = "At least " if found.at_most else "About "
    n, total = by_fold[0], len(found.stages)
    facts = []
    if seconds[0] >= minutes * MINUTE:
        least_time = duration(2 * seconds[0])
        warnings.warn(Warnings.W105.format(minutes=time, least=least_time), stacklevel=3)
    facts.append(f"{least}{n} of {total} candidates get a fold, half of the budget allowing.")
    each = ", ".join(f"{n} on fold {i}" for i, n in enumerate(by_fold, 1))
    facts.append(f"{least}{len(by_fold)} of {n_folds} folds: {each}; the better half goes on.")
    return facts, by_fold


def _listed(matrix: Matrix, outlook: Outlook) -> Outlook:
    """With the trials, and how many there are."""
    finished = read_finished(matrix.output)
    lines: list[str] = []
    trials: list[JsonValue] = []
    for key, trial in matrix.trials.items():
        status = finished[key].status if key in finished else "open"
        lines.append(f"{key}  {trial.title}" + (f", {status}" if key in finished else ""))
        trials.append(
            {
                "key": key,
                "title": trial.title,
                "corpus": trial.corpus.name,
                "method": trial.method.name,
                "seed": trial.seed,
                "status": status,
            }
        )
    count = f"{number(len(matrix.trials), 'trial')}, {matrix.plan.schedule}"
    facts = [count, *outlook.facts]
    return outlook._replace(facts=facts, lines=lines, data={"trials": trials})


def fold_sources(folds: Folds) -> dict[str, str]:
    """The name of the corpus that a fold is of, by the fold's own.

    folds (Mapping[Path, List[Path]]): Of each corpus.
    """
    return {fold.name: corpus.resolve().name for corpus, own in folds.items() for fold in own}
