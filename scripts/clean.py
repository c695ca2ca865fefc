"""Delete folders and files, and fail if something is left."""

import shutil
from pathlib import Path
from typing import Annotated

import typer


def main(
    paths: Annotated[list[Path], typer.Argument(help="Folders and files below this one.")],
) -> None:
    """Delete paths inside the current folder."""
    here = Path.cwd().resolve()
    for path in paths:
        full = path.resolve()
        if here not in full.parents:
            raise typer.BadParameter(f"{path} is not inside {here}")
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
            typer.echo(f"Deleted {path}")
        elif path.exists():
            path.unlink()
            typer.echo(f"Deleted {path}")


if __name__ == "__main__":
    typer.run(main)
