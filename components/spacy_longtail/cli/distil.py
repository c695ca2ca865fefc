"""Command `distil`: trains a student on the predictions of a teacher for a pool of text."""

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

from typer import Argument, Option
from wasabi import msg

from ..output.console import echo, number
from ..unlabelled.distil import RECORD, DistilRequest, distil
from ..unlabelled.pool import PoolOptions
from ..unlabelled.pseudo_labels import PseudoLabelPolicy
from .app import (
    UNLABELLED_PANEL,
    Code,
    Gpu,
    Json,
    WithEarlierNames,
    app,
    print_json,
    print_measured,
    say,
)
from .options import BatchSize, Encoding, Pool, PoolFormat, Processes, Seed, Set, Split, read_settings


@app.command("distil", cls=WithEarlierNames, rich_help_panel=UNLABELLED_PANEL)
def distil_command(
    teacher: Annotated[
        str,
        Argument(help="Pipeline with entity scores, or a zero-shot encoder such as en_longtail_trf."),
    ],
    pool: Pool,
    student: Annotated[Path, Option(help="Config of the student.")],
    gold: Annotated[Path, Option(help="Folder of a converted corpus with train, dev and test.")],
    output: Annotated[Path, Option("--output", "-o", help="Folder for the results.")],
    threshold: Annotated[
        float, Option(min=1e-6, max=1, help="Minimum confidence for entities and for O.")
    ] = 0.9,
    max_mentions: Annotated[
        int, Option(min=1, help="Maximum number of pseudo-labelled mentions of each type.")
    ] = 2000,
    empty: Annotated[
        float, Option(min=0, max=0.9, help="Fraction of pseudo-labelled sentences without entities.")
    ] = 0.2,
    soft: Annotated[
        bool,
        Option("--soft", help="Write the teacher's tag probabilities for longtail.Distillation.v1."),
    ] = False,
    compare: Annotated[
        bool,
        Option("--compare/--no-compare", help="Also train the student only on the gold corpus."),
    ] = True,
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    split: Split = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    seed: Seed = 0,
    settings: Set = None,
    code: Code = None,
    gpu_id: Gpu = -1,
    as_json: Json = False,
) -> None:
    """Train a small pipeline on the predictions of a large one and on your annotated corpus.

    The large pipeline, the teacher, annotates a pool of unlabelled text. The small one, the
    student, is trained on its confident predictions (pseudo-labels) together with the gold corpus.
    Teacher, student and a student trained only on the gold corpus are compared on the gold test
    part.
    """
    request = DistilRequest(
        teacher=teacher,
        pool=pool,
        config=student,
        gold=gold,
        policy=PseudoLabelPolicy(threshold, max_mentions, empty, seed),
        settings=PoolOptions(format=pool_format, encoding=encoding),
        soft=soft,
        compare=compare,
        split=split,
        batch_size=batch_size,
        n_process=n_process,
        gpu_id=gpu_id,
        overrides=read_settings(settings),
    )
    # spaCy prints the progress of trainings on stdout, which may be for JSON
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        distilled, events = distil(request, output, say)
    skipped = events.summary()
    if as_json:
        return print_json({**distilled.model_dump(), "left_out": skipped})
    print_measured(distilled.systems, "test")
    counts = distilled.pseudo_labels
    echo(
        f"{number(counts.kept, 'pseudo-labelled sentence')} of {counts.sentences:,}, of which "
        f"{counts.known:,} are in the gold corpus. Each gold document is repeated "
        f"{number(counts.gold_copies, 'time')}."
    )
    if counts.unscored:
        msg.warn(
            "Tokens of entities without a score count as not annotated: "
            + ", ".join(f"{label} ({n:,})" for label, n in counts.unscored.items())
        )
    if counts.lacking:
        msg.warn(f"The teacher cannot predict {', '.join(counts.lacking)}.")
    if skipped:
        msg.warn(f"Skipped: {skipped}")
    return msg.good(f"Wrote {output / RECORD} and the student {distilled.systems[1].model}")
