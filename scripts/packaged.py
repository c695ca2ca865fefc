"""Print where the package of a run is, and why it is that of this model."""

from pathlib import Path
from typing import Annotated

import typer

from spacy_longtail.studies.packaging import read_packaged


def main(
    packages: Annotated[Path, typer.Argument(help="Folder of the package.")],
) -> None:
    """The last words of a workflow; none where it built no package."""
    if (found := read_packaged(packages)) is not None:
        typer.echo(f"Package: {Path(found.package).resolve()} ({found.model})")
        typer.echo(found.reason)


if __name__ == "__main__":
    typer.run(main)
