"""Measure peers whose weights are downloaded from a hub.

    python benchmarks/peers/hub.py NAME CORPUS...

NAME is a key of `hub` in peers.yml. `--model` loads the weights from a folder instead.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import peers  # noqa: E402


def main(
    name: Annotated[str, typer.Argument(help="Key of `hub` in peers.yml.")],
    corpora: Annotated[list[Path], typer.Argument(help="Folders that `convert` wrote.")],
    model: Annotated[str, typer.Option(help="Folder or hub name of other weights.")] = "",
    seeds: Annotated[str, typer.Option(help="Random seeds, for peers that are trained.")] = "0",
    threads: Annotated[int, typer.Option(help="Number of threads.")] = 1,
    work: Annotated[Path, typer.Option(help="Folder for environments and runs.")] = peers.WORK,
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = peers.RESULTS,
) -> None:
    """Measure a peer on each corpus."""
    settings = {"model": model} if model else {}
    chosen = peers.read_peers([name], "hub", settings)
    peers.measure(
        corpora, chosen, HERE, [int(seed) for seed in seeds.split(",")], threads, work, results
    )


if __name__ == "__main__":
    typer.run(main)
