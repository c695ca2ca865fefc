"""`matrix`: many trainings by a plan."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg

from ..experiments.matrix import Summary, summarize_trials, summary_tables, write_matrix_report
from ..experiments.trials.plan import presets, read_plan
from ..experiments.trials.run import Matrix, Options
from .app import TEXT, GpuId, Json, app, coded_errors

Plan = Annotated[str, typer.Argument(help=f"A YAML file, or a preset: {', '.join(presets())}.")]
Corpora = Annotated[
    list[Path] | None, typer.Argument(help="Folders that `convert` wrote; else those of the plan.")
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for records and report; a run there is resumed.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="SECTION.NAME=VALUE for every config; repeatable.")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Training steps of every trial.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Trials at a time.")]
Storage = Annotated[
    str | None,
    typer.Option(
        help="Database URL or journal file, for several machines.", show_default="in the folder"
    ),
]
Minutes = Annotated[float | None, typer.Option(min=0.01, help="Time limit of a trial.")]
KeepModels = Annotated[bool, typer.Option(help="Keep the trained pipelines.")]
Retry = Annotated[bool, typer.Option(help="Run trials again that failed or ran out of time.")]


@app.command()
def matrix(
    plan: Plan,
    corpora: Corpora = None,
    output: Output = Path("training/matrix"),
    steps: Steps = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, separated by commas.")] = None,
    settings: Set = None,
    workers: WorkersOption = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: Annotated[bool, typer.Option(help="List the trials, and run none.")] = False,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Train every method of a plan on every corpus with every seed; compare them, and recommend one.

    Finished trials are skipped, so that the same command resumes. A trial is run anew when its config,
    its corpus or the code has changed.
    """
    with coded_errors():
        given: dict[str, Any] = {"corpora": [str(c) for c in corpora or []] or None, "steps": steps}
        given |= {"seeds": read_seeds(seeds), "settings": read_settings(settings or [])}
        found = Matrix(read_plan(plan, given), output)
        options = Options(workers, gpu_id, storage, minutes, keep_models, retry_failed)
        if dry_run:
            return list_trials(found)
        run_and_report(found, options, as_json)


def read_seeds(text: str | None) -> list[int] | None:
    """Seeds of the command line."""
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(
            f"--seeds takes whole numbers such as 0,1,2, found {text!r}."
        ) from error


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """SECTION.NAME=VALUE of the command line: JSON where a value can be read as it, else text."""
    found = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not (separator and "." in name):
            raise typer.BadParameter(f"--set takes SECTION.NAME=VALUE, found {text!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def list_trials(found: Matrix) -> None:
    """Print the trials of a plan, one a line, with their content keys."""
    for key, trial in found.trials.items():
        sys.stdout.write(f"{key}  {trial.title}\n")
    msg.text(f"{len(found.trials)} trials of {found.plan.steps} steps")


def run_and_report(found: Matrix, options: Options, as_json: bool) -> Summary:
    """Run a plan, print and write its report, and end with exit code 1 if a trial failed.

    found (Matrix): The plan. options (Options): How to run it.
    as_json (bool): Print the records instead of tables.
    RETURNS (Summary): What the trials show.
    """
    records = found.run(options)
    summary = summarize_trials(found, records)
    page = write_matrix_report(summary, found.output / "report") if summary.corpora else None
    if as_json:
        sys.stdout.write(json.dumps([records[key] for key in found.trials if key in records]) + "\n")
    else:
        sys.stdout.write(summary_tables(summary))
        if page is not None:
            sys.stdout.write(f"Report: {page.resolve()}\n")
    for record in summary.failed:
        title = f"{record['corpus']}, {record['method']}, seed {record['seed']}: {record['status']}"
        sys.stderr.write(f"{TEXT.fail(title)}\n{record['error']}\n")
    if summary.failed:
        retry = "They are not run again unless the command has --retry-failed."
        sys.stderr.write(f"{TEXT.text(f'{len(summary.failed)} trials failed. {retry}')}\n")
        raise typer.Exit(1)
    return summary
