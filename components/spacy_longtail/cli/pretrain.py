"""`pretrain`: an encoder that has seen entities of other corpora."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option
from wasabi import msg

from ..output.amounts import percent
from ..output.console import echo
from ..pretraining import MODEL, PretrainOptions, pretrain
from .app import KNOWLEDGE_PANEL, Code, GpuId, Json, app, print_json, print_table
from .options import LARGEST_SEED, Output, Set, read_names, read_settings


@app.command("pretrain", rich_help_panel=KNOWLEDGE_PANEL)
def pretrain_command(
    donors: Annotated[
        list[Path], Argument(help="Converted corpora of one language, or text as assets/open_types.")
    ],
    output: Output,
    encoder: Annotated[
        str, Option(help="Pipeline to go on from; 'cnn', a new one; or a transformer's name or folder.")
    ] = "en_longtail_cnn",
    exclude: Annotated[
        list[Path] | None,
        Option(help="A corpus whose dev and test sentences donors leave out; repeatable."),
    ] = None,
    steps: Annotated[
        int | None, Option(min=1, help="Training steps.", show_default="12000, transformers 6000")
    ] = None,
    words: Annotated[int, Option(min=1, help="Subwords of a batch, with padding.")] = 8192,
    power: Annotated[float, Option(min=0, max=1, help="Donors are drawn by size to this power.")] = 0.5,
    share: Annotated[
        float | None, Option(min=0, max=1, help="Share of batches with open types.", show_default="0.6")
    ] = None,
    parts: Annotated[str, Option(help="Parts of the donors to train on.")] = "train",
    layers: Annotated[int | None, Option(min=1, help="Layers to keep.", show_default="all")] = None,
    teacher: Annotated[str | None, Option(help="Transformer of this command to learn from.")] = None,
    bits: Annotated[
        tuple[float, float, float] | None,
        Option(help="Bits (4 to 8) on disk: layers, words, label encoder.", show_default="7 6 4"),
    ] = None,
    evaluations: Annotated[int, Option(min=1, help="How often donors are scored.")] = 10,
    settings: Set = None,
    seed: Annotated[int, Option(min=0, max=LARGEST_SEED, help="Of weights, batches and dropout.")] = 0,
    workers: Annotated[int, Option(min=0, help="Processes that make batches.")] = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Pretrain an encoder, and a head that reads label descriptions, on corpora of other types.

    It writes a pipeline, which configs/pretrained_cnn.cfg or transformer.cfg starts from.
    """
    names, overrides = read_names("--parts", parts), read_settings(settings)
    training = (encoder, steps, words, power, names, evaluations, seed, gpu_id, overrides)
    options = PretrainOptions(*training, layers, teacher, share, bits, workers)
    _, record = pretrain(donors, output, options, exclude or [], lambda text: echo(text, err=True))
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
