"""`distil-vectors`: static vectors of subwords from an encoder."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..training.vectors import distil_vectors
from .app import KNOWLEDGE_PANEL, LARGEST_SEED, Json, app, print_json


@app.command("distil-vectors", rich_help_panel=KNOWLEDGE_PANEL)
def distil_vectors_command(
    encoder: Annotated[str, typer.Argument(help="A transformer: a name on the hub, or a folder.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder for the vectors, or a file *.npz for a small net of them."
        ),
    ],
    width: Annotated[int, typer.Option(min=1, help="Columns of the vectors.")] = 256,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="Of a net's training, 0 by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Distil static vectors of subwords, for 'subwords' of longtail.RichEmbed.v1 (extra `distil`).

    A file *.npz gets a small net that has learnt the vectors, and needs no tokenizer.
    """
    found = distil_vectors(encoder, output, width, seed)
    if as_json:
        own = {} if found.learnt is None else {"learnt": found.learnt}
        return print_json(
            {"vectors": str(output), "pieces": found.n_pieces, "columns": found.n_columns, **own}
        )
    learnt = "" if found.learnt is None else f"; {100 * found.learnt:.0f} % of them learnt"
    msg.good(f"Wrote {output}: {found.n_pieces:,} pieces, {found.n_columns} columns{learnt}")
    if found.n_columns < width:
        msg.warn(f"{width} columns were asked for: {encoder} has no more than it gave")
    return None
