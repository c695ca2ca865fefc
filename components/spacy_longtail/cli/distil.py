"""`distil`: a student that learns from what a teacher reads in a pool."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.formats.context import Settings
from ..evaluation.report.wording import percent
from ..output.amounts import number
from ..training.device import use_gpu
from ..unlabelled.comparison import PAGE, headline, write_comparison
from ..unlabelled.distil import Request, distil
from ..unlabelled.silver import Policy
from .app import (
    LARGEST_SEED,
    UNLABELLED_PANEL,
    Code,
    GpuId,
    Json,
    app,
    for_json,
    print_json,
    print_table,
)
from .pool_options import BatchSize, Encoding, Pool, PoolFormat, Processes, Split
from .trial_options import Set, read_settings


@app.command("distil", rich_help_panel=UNLABELLED_PANEL)
def distil_command(
    teacher: Annotated[
        str,
        typer.Argument(help="A pipeline with scores, or an encoder such as en_longtail_trf."),
    ],
    pool: Pool,
    student: Annotated[Path, typer.Option(help="Config of the student.")],
    gold: Annotated[Path, typer.Option(help="A folder that `convert` wrote, with train, dev and test.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; a run there is resumed.")
    ],
    also: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline to average the teacher with, as of another seed; repeatable."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Least score of an entity, and of O.")
    ] = 0.9,
    cap: Annotated[int, typer.Option(min=1, help="Most silver mentions of a type.")] = 2000,
    floor: Annotated[
        int, typer.Option(min=0, help="Mentions of a type to fill up with the best below the threshold.")
    ] = 0,
    empty: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of silver sentences without any entity.")
    ] = 0.2,
    gold_copies: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Copies of each gold document.",
            show_default="as many as make half of silver's words, 2 to 20",
        ),
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Keep tag distributions, for longtail.Distillation.v1.")
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, help="Self-training: the student is the next round's teacher.")
    ] = 1,
    compare: Annotated[
        bool, typer.Option("--compare/--no-compare", help="Train the student without silver, too.")
    ] = True,
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    split: Split = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    seed: Annotated[
        int,
        typer.Option(min=0, max=LARGEST_SEED, help="Fixes which sentences without entities are drawn."),
    ] = 0,
    settings: Set = None,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Train a small pipeline on what a large one reads in a pool of text, and on your own annotation.

    Teacher, student and the student without that text are compared on the gold test part.
    """
    use_gpu(gpu_id)
    request = Request(
        teacher=teacher,
        pool=pool,
        config=student,
        gold=gold,
        policy=Policy(threshold, cap, floor, empty, seed),
        settings=Settings(pool_format, encoding),
        gold_copies=gold_copies,
        soft=soft,
        rounds=rounds,
        compare=compare,
        split=split,
        batch_size=batch_size,
        n_process=n_process,
        gpu_id=gpu_id,
        also=tuple(also or ()),
        overrides=read_settings(settings or []),
    )
    with for_json(as_json):
        found, events = distil(request, output, _say)
    write_comparison(found, output)
    left_out = events.summary()
    if as_json:
        return print_json({**found.model_dump(), "left_out": left_out})
    rows = [
        (
            s.name,
            *map(percent, (s.macro, s.tail, s.micro)),
            f"{s.words_per_second:,.0f}",
            f"{s.speed_ratio:.1f}",
            f"{s.megabytes:.1f}",
        )
        for s in found.systems
    ]
    print_table(("", "macro F1", "tail F1", "micro F1", "words/s", "times teacher", "MB on disk"), rows)
    best = found.rounds[found.best - 1]
    silver = best.silver
    typer.echo(headline(found))
    typer.echo(
        f"{number(silver.silver, 'silver sentence')} of {silver.sentences:,}, {silver.known:,} known; "
        f"each gold document {number(silver.gold_copies, 'time')}."
    )
    if silver.unknown:
        shown = ", ".join(f"{label} ({n:,})" for label, n in silver.unknown.items())
        msg.warn(f"Types that {gold} does not declare were left out: {shown}")
    if silver.unscored:
        shown = ", ".join(f"{label} ({n:,})" for label, n in silver.unscored.items())
        msg.warn(f"Entities without a score, taken as missing tokens: {shown}")
    if silver.lacking:
        msg.warn(f"The teacher cannot read {', '.join(silver.lacking)}: silver says nothing about them.")
    if left_out:
        msg.warn(f"Left out: {left_out}")
    msg.good(f"The student is {best.student}. Wrote {output / PAGE}")
    return None


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
