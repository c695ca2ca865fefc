"""Command `matrix`: trains and compares all methods of a plan."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from typer import Argument, Option

from ..extras import require
from ..output.console import echo, number
from ..studies.comparison.folds import HELD_OUT, fold_plan
from ..studies.comparison.summary import summarize_trials
from ..studies.comparison.writing import summary_tables, write_matrix_report
from ..studies.trials.plan import list_presets, read_plan
from ..studies.trials.study import TrialOptions, create_study
from .app import METHOD_PANEL, Code, GpuId, Json, app, print_json
from .boundary import FAILED, tell_failures
from .options import (
    DryRun,
    Minutes,
    Output,
    Retry,
    Set,
    Steps,
    Workers,
    naming_options,
    read_numbers,
    read_settings,
)


@app.command(rich_help_panel=METHOD_PANEL)
def matrix(
    plan: Annotated[str, Argument(help=f"Plan: a YAML file or a preset ({', '.join(list_presets())}).")],
    corpora: Annotated[
        list[Path] | None,
        Argument(help="Folders of converted corpora.", show_default="those of the plan"),
    ] = None,
    output: Output = Path("training/matrix"),
    steps: Steps = None,
    patience: Annotated[
        int | None,
        Option(min=1, help="Number of steps without improvement on dev after which a trial stops."),
    ] = None,
    seeds: Annotated[str | None, Option(help="Random seeds of the trials, such as 0,1,2.")] = None,
    sizes: Annotated[
        str | None,
        Option(help="Numbers of training sentences for learning curves, such as 100,400."),
    ] = None,
    partitions: Annotated[
        int | None,
        Option(min=1, help="Number of random samples of each size. A significance test needs six."),
    ] = None,
    folds: Annotated[
        int | None,
        Option(min=3, help="Number of cross-validation folds of train and dev to compare on."),
    ] = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    keep_models: Annotated[bool, Option(help="Keep the trained pipelines of all trials.")] = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Train each method of a plan on each corpus with each seed, compare them and recommend one.

    The same command resumes a run, because finished trials are skipped. A trial is repeated if its
    config, its corpus, an installed version or a file of --code has changed.
    """
    require("scipy", "report")  # now, because the comparison comes hours later
    given = {
        "corpora": [str(corpus) for corpus in corpora or []] or None,
        "steps": steps,
        "patience": patience,
        "seeds": read_numbers("--seeds", seeds),
        "sizes": read_numbers("--sizes", sizes),
        "partitions": partitions,
        "settings": read_settings(settings),
    }
    with naming_options():
        read = read_plan(plan, given)
    options = TrialOptions(
        workers=workers or 1,
        gpu_id=gpu_id,
        minutes=minutes,
        keep_models=keep_models,
        retry_failed=retry_failed,
    )
    with TemporaryDirectory(prefix="longtail-") as place:
        # trials are identified by their data, so a dry run needs the folds
        target = Path(place) if dry_run else output
        plan_on_folds, folds_by_corpus = (
            (read, None) if folds is None else fold_plan(read, target, folds)
        )
        test_name = "test" if folds is None else HELD_OUT
        study = create_study(plan_on_folds, output, read.corpora, test_name)
        if dry_run:
            trials = study.list_trials(options)
            if as_json:
                return print_json({"trials": trials})
            for trial in trials:
                echo(f"{trial['key']}  {trial['title']}, {trial['status']}")
            return echo(f"{number(len(trials), 'trial')}, {plan_on_folds.schedule}")
    records = study.run(options)
    summary = summarize_trials(study, records, folds_by_corpus)
    page = write_matrix_report(summary, output / "report") if summary.corpora else None
    if as_json:
        listed = [records[key].data() for key in study.trials if key in records]
        sys.stdout.write(f"{json.dumps(listed)}\n")
    else:
        sys.stdout.write(summary_tables(summary))
        if page is not None:
            sys.stdout.write(f"Report: {page.resolve()}\n")
    tell_failures(summary.failed)
    if summary.failed:
        raise typer.Exit(FAILED)
