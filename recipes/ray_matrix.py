"""A matrix on a Ray cluster, where each trial is a task. See README.md."""

import logging
from pathlib import Path
from typing import Annotated

import ray
import typer
from ray.exceptions import RayError
from wasabi import msg

from spacy_longtail.studies.comparison.summary import summarize_trials
from spacy_longtail.studies.comparison.writing import summary_tables, write_matrix_report
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.study import TrialOptions, create_study

LOCAL = "local"  # tells Ray to start a cluster on this machine


@ray.remote
def work(plan: str, corpora: list[str], output: str, options: TrialOptions, key: str) -> None:
    """Run the trial with this content key."""
    create_study(read_plan(plan, {"corpora": corpora or None}), Path(output)).run(options, [key])


def main(
    plan: Annotated[str, typer.Argument(help="A YAML file or a preset of the command `matrix`.")],
    corpora: Annotated[list[Path] | None, typer.Argument(help="Folders that `convert` wrote.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder that all nodes share.")
    ] = Path("training/matrix"),
    workers: Annotated[
        int, typer.Option(min=1, help="Trials at a time, for a cluster on this machine.")
    ] = 2,
    cpus: Annotated[float, typer.Option(min=0.1, help="CPUs that Ray reserves for each trial.")] = 1,
    gpus: Annotated[float, typer.Option(min=0, help="GPUs that Ray reserves for each trial.")] = 0,
    retries: Annotated[int, typer.Option(min=0, help="Crashes tolerated per trial.")] = 3,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Time limit of a trial, in minutes.")
    ] = None,
    address: Annotated[
        str, typer.Option(envvar="RAY_ADDRESS", help="Address of a running cluster.")
    ] = LOCAL,
) -> None:
    """Train each trial of a plan once on a cluster, even if workers crash, and write the report."""
    paths = [str(path.resolve()) for path in corpora or []]
    source = str(Path(plan).resolve()) if Path(plan).is_file() else plan
    try:
        study = create_study(read_plan(source, {"corpora": paths or None}), output.resolve())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    options = TrialOptions(gpu_id=0 if gpus else -1, minutes=minutes)
    num_cpus = workers * cpus if address == LOCAL else None
    ray.init(address, num_cpus=num_cpus, include_dashboard=False, logging_level=logging.WARNING)
    task = work.options(num_cpus=cpus, num_gpus=gpus, max_retries=retries)
    try:
        keys = study.list_missing(study.trials, options)
        ray.get([task.remote(source, paths, str(output.resolve()), options, key) for key in keys])
    except (RayError, RuntimeError, ValueError) as error:
        msg.fail(f"A worker crashed: {error} Finished trials are kept. Run the command again.", exits=1)
    finally:
        ray.shutdown()
    summary = summarize_trials(study, study.run(options))  # and what crashed workers left
    typer.echo(summary_tables(summary))
    if summary.corpora:
        typer.echo(f"Report: {write_matrix_report(summary, output / 'report')}")
    if summary.failed:
        msg.fail(f"{len(summary.failed)} trials failed: see the folder trials", exits=1)


if __name__ == "__main__":
    typer.run(main)
