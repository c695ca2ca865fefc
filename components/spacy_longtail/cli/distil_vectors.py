"""`distil-vectors`: static vectors of subwords from an encoder."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..training.vectors import distil_vectors
from .app import KNOWLEDGE_PANEL, Json, app, print_json


@app.command("distil-vectors", rich_help_panel=KNOWLEDGE_PANEL)
def distil_vectors_command(
    encoder: Annotated[str, typer.Argument(help="A transformer: a name on the hub, or a folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the vectors.")],
    width: Annotated[int, typer.Option(min=1, help="Columns of the vectors.")] = 256,
    as_json: Json = False,
) -> None:
    """Distil static vectors of subwords, for 'subwords' of longtail.RichEmbed.v1 (extra `distil`)."""
    n_pieces, n_columns = distil_vectors(encoder, output, width)
    if as_json:
        return print_json({"vectors": str(output), "pieces": n_pieces, "columns": n_columns})
    msg.good(f"Wrote {output}: {n_pieces:,} pieces, {n_columns} columns")
    return None
