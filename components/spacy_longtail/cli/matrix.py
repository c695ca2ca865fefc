"""`matrix`: many trainings by a plan."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..output.amounts import number
from ..studies.matrix import (
    Folds,
    Summary,
    fold_plan,
    list_trials,
    summarize_trials,
    summary_tables,
    write_matrix_report,
)
from ..studies.trials.needed import settle_steps
from ..studies.trials.plan import Plan, presets, read_plan
from ..studies.trials.run import Matrix, Options
from ..types import Overrides
from .app import METHOD_PANEL, Code, GpuId, Json, app, print_json
from .boundary import FAILED, marked
from .trial_options import (
    DryRun,
    KeepModels,
    Minutes,
    Output,
    Patience,
    Retry,
    Set,
    StepsOrNeeded,
    Workers,
    read_numbers,
    read_settings,
    read_steps,
)

PlanName = Annotated[str, typer.Argument(help=f"A YAML file, or a preset: {', '.join(presets())}.")]
Corpora = Annotated[
    list[Path] | None, typer.Argument(help="Folders that `convert` wrote; else those of the plan.")
]
Seeds = Annotated[str | None, typer.Option(help="Seeds, separated by commas.")]


@app.command(rich_help_panel=METHOD_PANEL)
def matrix(
    plan: PlanName,
    corpora: Corpora = None,
    output: Output = Path("training/matrix"),
    steps: StepsOrNeeded = None,
    patience: Patience = None,
    seeds: Seeds = None,
    folds: Annotated[
        int | None,
        typer.Option(min=3, help="Compare on so many folds of train and dev, and not on dev alone."),
    ] = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Train every method of a plan on every corpus with every seed; compare them, and recommend one.

    Finished trials are skipped, so that the same command resumes. A trial is run again when its config,
    its corpus or the code has changed.
    """
    given: dict[str, object] = {"corpora": [str(c) for c in corpora or []] or None}
    given |= {"steps": read_steps(steps), "patience": patience}
    given["seeds"] = None if seeds is None else read_numbers("--seeds", seeds, int)
    options = Options(workers, gpu_id, minutes, keep_models, retry_failed)
    run_plan(plan, given, settings, output, options, dry_run, as_json, folds)


def run_plan(
    plan: str,
    given: Overrides,
    settings: Sequence[str] | None,
    output: Path,
    options: Options,
    dry_run: bool,
    as_json: bool,
    folds: int | None = None,
) -> None:
    """Run a plan as the command line says, or list its trials.

    plan (str): A YAML file, or a preset. given (Overrides): Values that replace the plan's.
    settings (Optional[Sequence[str]]): Of --set. output (Path): The folder of results.
    options (Options): How to run it. dry_run (bool): List the trials. as_json (bool): Print records.
    folds (Optional[int]): Of train and dev, to compare on; null compares on dev.
    """
    read = read_plan(plan, {**given, "settings": read_settings(settings or [])})
    if dry_run:
        return _list(read, output, folds, as_json)
    if folds is not None:
        cut, groups = fold_plan(read, output, folds)
        run_and_report(Matrix(cut, output, inputs=read.corpora), options, as_json, folds=groups)
        return None
    planned = Matrix(settle_steps(read, output, options, say), output)
    run_and_report(planned, options, as_json)


def _list(plan: Plan, output: Path, folds: int | None, as_json: bool) -> None:
    """Print the trials of a plan."""
    trials = list_trials(plan, output, folds)
    if as_json:
        return print_json({"trials": trials})
    for trial in trials:
        typer.echo(f"{trial['key']}  {trial['title']}, {trial['status']}")
    typer.echo(f"{number(len(trials), 'trial')}, {plan.schedule}")
    if plan.is_needed and folds is None:
        n = len(trials) * len(plan.seeds)
        typer.echo(f"Then {number(n, 'trial')} with the steps of the method that needs the most")
    return None


def say(text: str) -> None:
    """Progress, on stderr: stdout may be for JSON."""
    sys.stderr.write(f"{marked('info', text)}\n")


def run_and_report(
    found: Matrix,
    options: Options,
    as_json: bool,
    folds: Folds | None = None,
) -> Summary:
    """Run a plan, print and write its report, and end with exit code 1 if a trial failed.

    found (Matrix): The plan. options (Options): How to run it.
    as_json (bool): Print the records instead of tables.
    folds (Optional[Mapping[Path, List[Path]]]): Of each corpus, of a plan on folds.
    RETURNS (Summary): What the trials show.
    """
    records = found.run(options)
    summary = summarize_trials(found, records, folds)
    page = write_matrix_report(summary, found.output / "report") if summary.corpora else None
    if as_json:
        shown = [records[key].data() for key in found.trials if key in records]
        sys.stdout.write(f"{json.dumps(shown)}\n")
    else:
        sys.stdout.write(summary_tables(summary))
        if page is not None:
            sys.stdout.write(f"Report: {page.resolve()}\n")
    for record in summary.failed:
        title = f"{record.title}: {record.status}"
        sys.stderr.write(f"{marked('fail', title)}\n{record.error}\n")
    if summary.failed:
        retry = "They are not run again unless the command has --retry-failed."
        sys.stderr.write(f"{number(len(summary.failed), 'trial')} failed. {retry}\n")
        raise typer.Exit(FAILED)
    return summary
