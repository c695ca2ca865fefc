"""`recommend`: which method to use on a corpus."""

from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg

from ..studies.matrix import summary_tables, write_matrix_report
from ..studies.matrix.advice import FOLDS, advise, find_pretrained
from ..studies.matrix.dry_run import advice_outlook
from ..studies.matrix.refit import refit
from ..studies.trials.run import Options
from .app import METHOD_PANEL, Corpus, GpuId, app
from .dry_run import show
from .matrix import say
from .trial_options import DryRun, Output, Set, Storage, Workers, read_settings


@app.command(rich_help_panel=METHOD_PANEL)
def recommend(
    corpus: Corpus,
    output: Output = Path("training/recommend"),
    config: Annotated[
        Path | None,
        typer.Option(help="The config to write.", show_default="recommended.cfg in the folder"),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="Budget of all trainings, wall clock.")] = 30,
    folds: Annotated[int, typer.Option(min=3, help="Folds of train and dev to compare on.")] = FOLDS,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps of every trial.", show_default="until no better"),
    ] = None,
    pretrained: Annotated[
        Path | None,
        typer.Option(
            help="An encoder to try: a pipeline that `pretrain` wrote.",
            show_default="the project's own, if it has one of the language",
        ),
    ] = None,
    transformer: Annotated[
        str | None, typer.Option(help="A transformer to try: its name on the hub, or its folder.")
    ] = None,
    refit_model: Annotated[
        bool, typer.Option("--refit", help="Train the method on train and dev afterwards, into model/.")
    ] = False,
    settings: Set = None,
    workers: Workers = 1,
    storage: Storage = None,
    dry_run: DryRun = False,
    gpu_id: GpuId = -1,
) -> None:
    """Try what a corpus's statistics suggest, within a budget, and write the config of what to use.

    Methods are compared on folds of train and dev; the better half goes on after 1, 2 and 4 folds. It is
    said how likely the best one is worse than stock spaCy.
    """
    target = config or output / "recommended.cfg"
    given: dict[str, Any] = {
        "minutes": minutes,
        "folds": folds,
        "steps": steps,
        "options": Options(workers, gpu_id, storage),
        "settings": read_settings(settings or []),
        "transformer": transformer,
        "pretrained": pretrained or find_pretrained(corpus),
    }
    if dry_run:
        return show(advice_outlook(corpus, output, target, say=say, **given))
    found = advise(corpus, output, target, **given)
    page = write_matrix_report(found.summary, output / "report")
    model = refit(target, corpus, output, found.steps, gpu_id) if refit_model else None
    msg.divider("Candidates")
    for candidate in found.candidates:
        msg.text(f"{' '.join(candidate.grid.values())}: {candidate.why}")
    typer.echo(summary_tables(found.summary))
    msg.good(f"{target}: {found.recommendation.method}")
    if model is not None:
        msg.good(f"Trained on train and dev for {found.steps:,} steps: {model}")
    else:
        typer.echo(f"Train it with: python -m spacy_longtail train {target} {corpus} training/model")
    typer.echo(f"Report: {page.resolve()}")
    return None
