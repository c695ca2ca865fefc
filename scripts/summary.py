"""Print the result table of a run, and where its report and its package are."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_longtail.evaluation.report import metrics_files, read_report, summarize, summary_table
from spacy_longtail.studies.packaging import read_packaged


def main(
    metrics: Annotated[Path, typer.Argument(help="Folder with the evaluations of a run.")],
    report: Annotated[Path, typer.Argument(help="The report.")],
    packages: Annotated[Path, typer.Argument(help="Folder of the package.")],
    baseline: Annotated[str, typer.Option(help="Name of the model to compare with.")] = "baseline",
) -> None:
    """The last words of a workflow."""
    try:
        typer.echo(summary_table(summarize(read_report(*metrics_files(metrics), baseline))))
    except ValueError as error:
        msg.fail(str(error), exits=1)
    typer.echo(f"Report:  {report.resolve()}")
    if (found := read_packaged(packages)) is not None:
        typer.echo(f"Package: {Path(found.package).resolve()} ({found.model})")
        typer.echo(found.reason)


if __name__ == "__main__":
    typer.run(main)
