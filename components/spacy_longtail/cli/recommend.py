"""`recommend`: which method to use on a corpus."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.folder import read_types
from ..evaluation.report.wording import percent
from ..studies.matrix import summary_tables, write_matrix_report
from ..studies.matrix.advice import advise, find_pretrained
from ..studies.trials.run import Options
from .app import METHOD_PANEL, Corpus, GpuId, app, coded_errors
from .trial_options import Output, Set, Storage, Workers, read_settings


@app.command(rich_help_panel=METHOD_PANEL)
def recommend(
    corpus: Corpus,
    output: Output = Path("training/recommend"),
    config: Annotated[
        Path | None,
        typer.Option(help="The config to write.", show_default="recommended.cfg in the folder"),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="Budget of all trainings, wall clock.")] = 30,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps of every trial.", show_default="as many as needed"),
    ] = None,
    pretrained: Annotated[
        Path | None,
        typer.Option(
            help="An encoder to try: a pipeline that `pretrain` wrote.",
            show_default="the project's own, if it has one of the language",
        ),
    ] = None,
    settings: Set = None,
    workers: Workers = 1,
    storage: Storage = None,
    gpu_id: GpuId = -1,
) -> None:
    """Try what a corpus's statistics suggest, within a budget, and write the config of what to use.

    Another method than stock spaCy is recommended only if it is shown to be better on dev.
    """
    with coded_errors():
        target = config or output / "recommended.cfg"
        found = advise(
            corpus,
            output,
            target,
            minutes=minutes,
            steps=steps,
            options=Options(workers, gpu_id, storage),
            settings=read_settings(settings or []),
            pretrained=pretrained or find_pretrained(read_types(corpus).lang),
        )
        page = write_matrix_report(found.summary, output / "report")
    msg.divider("Candidates")
    for candidate in found.candidates:
        msg.text(f"{' '.join(candidate.grid.values())}: {candidate.why}")
    msg.divider("First look: macro F1 on dev, one seed")
    for name, score in found.looks:
        msg.text(f"{name}: {percent(score)}")
    typer.echo(summary_tables(found.summary))
    msg.good(f"{target}: {found.recommendation.method}")
    typer.echo(f"Train it with: python -m spacy_longtail train {target} {corpus} training/model")
    typer.echo(f"Report: {page.resolve()}")
