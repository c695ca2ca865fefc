"""Options that the commands share which read text without labels: `mine` and `distil`."""

from pathlib import Path
from typing import Annotated

import typer

from .app import MOST_PROCESSES

POOL = "Text: .txt, .jsonl, .spacy, a folder of files."
Pool = Annotated[Path, typer.Argument(help=POOL)]
PoolFormat = Annotated[str | None, typer.Option(help="As --format of `convert`, if not found.")]
Encoding = Annotated[str, typer.Option(help="Of text files, as cp1252.")]
Split = Annotated[
    bool, typer.Option("--split", help="Cut texts into sentences, where the pipeline does not.")
]
BatchSize = Annotated[int, typer.Option(min=1, help="Texts at a time.")]


def _processes(n: int) -> int:
    if n == 0 or n < -1 or n > MOST_PROCESSES:
        limits = f"from 1 to {MOST_PROCESSES}, or -1 for one per core"
        raise typer.BadParameter(f"--n-process is {limits}.")
    return n


Processes = Annotated[
    int, typer.Option(help="Processes that run the pipeline; -1 is one per core.", callback=_processes)
]
