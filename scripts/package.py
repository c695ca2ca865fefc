"""Package what dev shows to be better than the baseline, else the baseline, with its card."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_longtail.studies.packaging import build_package


def main(
    metrics: Annotated[Path, typer.Argument(help="Folder with the evaluations of a run.")],
    output: Annotated[
        Path, typer.Argument(help="Folder for the package; an earlier one there is replaced.")
    ],
    baseline: Annotated[
        str, typer.Option(help="Name of the model that is packaged unless another beats it.")
    ] = "baseline",
    version: Annotated[str, typer.Option(help="Version of the package.")] = "0.1.0",
) -> None:
    """Build an sdist with the pipeline inside, and write where it is to package.json."""
    try:
        found = build_package(metrics, output, baseline, version)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    msg.good(found.reason)


if __name__ == "__main__":
    typer.run(main)
