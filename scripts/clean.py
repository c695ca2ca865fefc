"""Delete what the workflows write, and nothing else."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

WRITTEN = (
    "corpus",
    "training",
    "metrics",
    "report",
    "packages",
    "vectors",
)  # by the commands of project.yml and the docs


def main(
    folders: Annotated[list[str], typer.Argument(help=f"Of {', '.join(WRITTEN)}.")],
) -> None:
    """Delete folders of the project that its commands write."""
    for name in folders:
        if name not in WRITTEN:
            raise typer.BadParameter(f"{name} is not one of {', '.join(WRITTEN)}")
        if Path(name).is_symlink():
            raise typer.BadParameter(f"{name} is a link. Delete it yourself.")
    if not Path("project.yml").is_file():
        raise typer.BadParameter("There is no project.yml here. Run it from the folder of the project.")
    for path in map(Path, folders):
        if path.is_dir():
            shutil.rmtree(path)
            typer.echo(f"Deleted {path}")


if __name__ == "__main__":
    typer.run(main)
