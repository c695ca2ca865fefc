"""Command `pretrain`: pretrains an encoder on annotated corpora of other types."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option
from wasabi import msg

from ..output.console import echo, percent
from ..pretraining import MODEL, PretrainOptions, pretrain
from .app import KNOWLEDGE_PANEL, Code, GpuId, Json, WithEarlierNames, app, print_json, print_table
from .options import Output, Seed, read_names, read_settings


@app.command("pretrain", cls=WithEarlierNames, rich_help_panel=KNOWLEDGE_PANEL)
def pretrain_command(
    donors: Annotated[
        list[Path],
        Argument(
            help="Source corpora to pretrain on: folders of converted corpora, or of "
            "free-text types such as assets/open_types."
        ),
    ],
    output: Output,
    encoder: Annotated[
        str,
        Option(
            help="Encoder to start from: a pipeline, the name or folder of a transformer, or `cnn` for "
            "a new CNN."
        ),
    ] = "en_longtail_cnn",
    exclude: Annotated[
        list[Path] | None,
        Option(help="Corpus whose dev and test sentences are excluded from the donors. Repeatable."),
    ] = None,
    steps: Annotated[
        int | None,
        Option(min=1, help="Number of training steps.", show_default="12000, transformers 6000"),
    ] = None,
    batch_size: Annotated[
        int, Option(min=1, help="Maximum number of subwords in a batch, padding included.")
    ] = 8192,
    share: Annotated[
        float | None,
        Option(min=0, max=1, help="Fraction of the batches with free-text types.", show_default="0.6"),
    ] = None,
    parts: Annotated[
        str,
        Option(
            help="Parts to train on, such as train,dev. Every donor must have all of them. By default, "
            "a donor without parts is used as a whole."
        ),
    ] = "train",
    layers: Annotated[
        int | None,
        Option(min=1, help="Number of layers of the transformer to keep.", show_default="all"),
    ] = None,
    teacher: Annotated[
        str | None, Option(help="Pretrained transformer pipeline whose predictions are learned.")
    ] = None,
    teacher_cache: Annotated[
        Path | None,
        Option(
            help="Folder in which the teacher's states of the donors' words are stored (8 bits), so "
            "that they are computed once. Several runs may share it."
        ),
    ] = None,
    new_subwords: Annotated[
        int,
        Option(min=0, help="Number of subwords of the donors' text to add to those of a CNN."),
    ] = 0,
    bits: Annotated[tuple[float, float, float] | None, Option(hidden=True)] = None,
    evaluations: Annotated[
        int, Option(min=1, help="Number of evaluations on the donors during training.")
    ] = 10,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="Set a rate, such as training.encoder_rate=0.0001. Repeatable."),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[int, Option(min=0, help="Number of processes that prepare batches.")] = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Pretrain an encoder and an NER head that reads label descriptions, on corpora of other types.

    These source corpora are called donors. The result is a pipeline from which the configs
    pretrained_cnn and transformer start.
    """
    if bits is not None:
        echo("--bits has no effect any more, and version 0.4 will not accept it.", err=True)
    options = PretrainOptions(
        encoder=encoder,
        steps=steps,
        batch_size=batch_size,
        parts=read_names("--parts", parts),
        evaluations=evaluations,
        seed=seed,
        gpu_id=gpu_id,
        settings=read_settings(settings),
        layers=layers,
        teacher=teacher,
        teacher_cache=teacher_cache,
        share=share,
        workers=workers,
        new_subwords=new_subwords,
    )
    _, record = pretrain(
        donors, output, options, exclude=exclude or [], say=lambda text: echo(text, err=True)
    )
    if as_json:
        return print_json({**record, "model": str(output / MODEL)})
    excluded = {donor["name"]: f"{donor['excluded']:,}" for donor in record["donors"]}
    rows = [
        (
            score["name"],
            f"{score['sentences']:,}",
            excluded[score["name"]],
            percent(score["micro"]),
            percent(score["macro"]),
        )
        for score in record["scores"][-1][1]
    ]
    if rows:  # donors with free-text types are not evaluated
        print_table(("donor", "sentences evaluated", "excluded", "micro F1", "macro F1"), rows)
    return msg.text(f"Model: {output / MODEL}")
