"""Print where the package of a run is, and why it is that of this model."""

from pathlib import Path
from typing import Annotated

import srsly
import typer


def main(packages: Annotated[Path, typer.Argument(help="Folder of the package.")]) -> None:
    """The last words of a workflow; none where it built no package."""
    if (path := packages / "package.json").is_file():
        found = srsly.read_json(path)
        typer.echo(f"Package: {Path(found['package']).resolve()} ({found['model']})")
        typer.echo(found["reason"])


if __name__ == "__main__":
    typer.run(main)
