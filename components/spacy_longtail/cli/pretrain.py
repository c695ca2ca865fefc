"""`pretrain`: an encoder that has seen entities of other corpora."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..output.amounts import percent
from ..pretraining import MODEL, PretrainOptions, pretrain
from .app import KNOWLEDGE_PANEL, Code, GpuId, Json, app, print_json, print_table
from .options import LARGEST_SEED, Set, read_names, read_settings


@app.command("pretrain", rich_help_panel=KNOWLEDGE_PANEL)
def pretrain_command(
    donors: Annotated[
        list[Path],
        typer.Argument(
            help="Folders that `convert` wrote, of one language, or of text files as assets/open_types."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; a run there is resumed.")
    ],
    encoder: Annotated[
        str,
        typer.Option(
            help="A pipeline that this command wrote, to go on from it; 'cnn' for a new CNN; or a "
            "transformer, a name on the hub or a folder."
        ),
    ] = "en_longtail_cnn",
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="Corpus whose dev and test sentences no donor may have; repeatable."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps.", show_default="12000, transformers 6000")
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="Subwords of a batch, with padding.")] = 8192,
    power: Annotated[
        float, typer.Option(min=0, max=1, help="Donors are drawn by their size to this power.")
    ] = 0.5,
    share: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of batches with open types, beside other donors.",
            show_default="0.6",
        ),
    ] = None,
    parts: Annotated[str, typer.Option(help="Parts of the donors to train on.")] = "train",
    layers: Annotated[
        int | None,
        typer.Option(min=1, help="Layers of the transformer to keep.", show_default="all"),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            help="Pipeline that this command wrote of a transformer: its predictions are learnt, too."
        ),
    ] = None,
    bits: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            help="Bits (4 to 8) of a transformer on disk: layers, word embeddings, label encoder.",
            show_default="7 6 4",
        ),
    ] = None,
    evaluations: Annotated[int, typer.Option(min=1, help="How often donors are scored.")] = 10,
    settings: Set = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Of weights, batches and dropout.")
    ] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that make batches.")] = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Pretrain an encoder, and a head that reads label descriptions, on corpora with types of their own.

    It writes a pipeline, which configs/pretrained_cnn.cfg or transformer.cfg starts from.
    """
    options = PretrainOptions(
        encoder,
        steps,
        words,
        power,
        read_names("--parts", parts),
        evaluations,
        seed,
        gpu_id,
        read_settings(settings),
        layers,
        teacher,
        share,
        bits,
        workers,
    )
    _, record = pretrain(donors, output, options, exclude or [], lambda text: typer.echo(text, err=True))
    if as_json:
        return print_json({**record, "model": str(output / MODEL)})
    left_out = {donor["name"]: f"{donor['left_out']:,}" for donor in record["donors"]}
    rows = []
    for score in record["scores"][-1][1]:
        f1 = [percent(score[name]) for name in ("micro", "macro")]
        rows.append((score["name"], f"{score['sentences']:,}", left_out[score["name"]], *f1))
    if rows:  # of open types no F1 is measured
        print_table(("donor", "measured on", "left out", "micro F1", "macro F1"), rows)
    return msg.text(f"model: {output / MODEL}")
