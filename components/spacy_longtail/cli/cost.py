"""`cost`: what texts would cost, before they are given to an expensive secondary."""

from typing import Annotated

import typer

from ..corpus.formats.context import Settings
from ..training.device import use_gpu
from .app import PIPELINE_PANEL, Code, GpuId, Json, app, print_json, print_table
from .pool_options import BatchSize, Encoding, Pool, PoolFormat


@app.command(rich_help_panel=PIPELINE_PANEL)
def cost(
    pipeline: Annotated[
        str, typer.Argument(help="A pipeline with a longtail_gated_pipe: a folder or a package.")
    ],
    texts: Pool,
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    batch_size: BatchSize = 64,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Count the sentences that would go to a longtail_gated_pipe's secondary, without calling it."""
    from ..unlabelled.cost import estimate

    use_gpu(gpu_id)
    found = estimate(pipeline, texts, Settings(pool_format, encoding), batch_size)
    if as_json:
        shown = {name: own.as_json() for name, own in found.items()}
        print_json(shown)
        return
    rows = [
        (
            name,
            f"{own.texts:,}",
            f"{own.sentences:,}",
            f"{own.flagged:,}",
            f"{100 * own.share:.1f}",
            f"{own.words:,}",
            f"{own.calls:,}",
        )
        for name, own in found.items()
    ]
    print_table(("component", "texts", "sentences", "flagged", "%", "their words", "calls"), rows)
