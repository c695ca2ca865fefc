"""Command `mine`: proposes sentences of a pool to label next."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option
from wasabi import msg

from ..output.console import number
from ..unlabelled.mining import Mined, mine
from ..unlabelled.pool import PoolOptions
from ..unlabelled.proposals import DEFAULT_NAMES, ProposalFormat
from ..unlabelled.scan import RANDOM
from .app import UNLABELLED_PANEL, Code, Gpu, Json, app, print_json, print_table
from .options import (
    BatchSize,
    Encoding,
    Pool,
    PoolFormat,
    Processes,
    Seed,
    Split,
    read_names,
    read_pairs,
)

SUFFIXES = {Path(name).suffix for name in DEFAULT_NAMES.values()}


@app.command("mine", rich_help_panel=UNLABELLED_PANEL)
def mine_command(
    pipeline: Annotated[
        str, Argument(help="Trained pipeline, or a zero-shot encoder such as en_longtail_trf.")
    ],
    pool: Pool,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="File for the annotation tool.",
            show_default=f"{' or '.join(dict.fromkeys(DEFAULT_NAMES.values()))}",
        ),
    ] = None,
    labels: Annotated[int, Option(min=1, help="Number of sentences to propose.")] = 200,
    corpus: Annotated[
        Path | None,
        Option(
            help="Folder of a converted corpus whose rare types define the target; its sentences are "
            "excluded from the pool."
        ),
    ] = None,
    exclude: Annotated[
        list[Path] | None,
        Option(help="File or folder with more sentences to exclude from the pool. Repeatable."),
    ] = None,
    types: Annotated[
        str | None,
        Option(help="Types to look for, such as EVE,NAT.", show_default="rare types of the corpus"),
    ] = None,
    quota: Annotated[
        str | None, Option(help="Maximum number of sentences for a type, such as EVE=50,NAT=30.")
    ] = None,
    random: Annotated[
        float,
        Option(min=0, max=0.9, help="Fraction of the proposals sampled at random, to evaluate on."),
    ] = 0.1,
    diversity: Annotated[
        float,
        Option(min=0, max=1, help="Penalty for sentences similar to earlier proposals, from 0 to 1."),
    ] = 0.5,
    format: Annotated[
        ProposalFormat, Option(help="Annotation tool that will open the file.")
    ] = "prodigy",
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    split: Split = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    seed: Seed = 0,
    code: Code = None,
    gpu_id: Gpu = -1,
    as_json: Json = False,
) -> None:
    """Propose sentences of a pool for you to label: those most likely to mention rare types."""
    output = output or Path(DEFAULT_NAMES[format])
    suffix = Path(DEFAULT_NAMES[format]).suffix
    if output.suffix != suffix and (format == "spacy" or output.suffix in SUFFIXES):
        raise BadParameter(f"--format {format} writes {suffix} files, found --output {output.name}.")
    mined = mine(
        pipeline,
        pool,
        output,
        PoolOptions(format=pool_format, encoding=encoding),
        format,
        labels=labels,
        types=read_names("--types", types),
        corpus=corpus,
        quotas=read_pairs("--quota", quota.split(",") if quota else None, int, "TYPE=NUMBER"),
        random=random,
        diversity=diversity,
        seed=seed,
        batch_size=batch_size,
        n_process=n_process,
        split=split,
        exclude=exclude or (),
    )
    scan, skipped, n_chosen = mined.scan, mined.events.summary(), len(mined.proposals)
    if as_json:
        return print_json(
            {
                **vars(scan.counts),
                "left_out": skipped,
                "proposals": [
                    {
                        "text": p.unit.text,
                        "chosen_for": p.chosen_for,
                        "expected": round(float(p.score), 4),
                    }
                    for p in mined.proposals
                ],
            }
        )
    _print(mined)
    if skipped:
        msg.warn(f"Skipped: {skipped}")
    if n_chosen < labels:
        msg.warn(
            f"Proposed {labels - n_chosen} fewer than --labels: the quotas are full, or the pool has no "
            "other sentences that may mention these types, differ enough from the proposed ones and "
            "come from other documents."
        )
    return msg.good(f"Wrote {output}: {number(n_chosen, 'sentence')} to label")


def _print(mined: Mined) -> None:
    scan, seen = mined.scan, mined.scan.counts
    counts = Counter(p.chosen_for for p in mined.proposals)
    rows = []
    for label, expected in zip(mined.types, scan.expected, strict=True):
        scores = [p.score for p in mined.proposals if p.chosen_for == label]
        mean = f"{sum(scores) / len(scores):.2f}" if scores else "-"
        base = expected / max(1, seen.sentences - seen.known)
        rows.append((label, f"{counts[label]:,}", mean, f"{base:.4f}"))
    if counts[RANDOM]:
        rows.append((RANDOM, f"{counts[RANDOM]:,}", "-", "-"))
    texts, sentences = number(seen.texts, "text"), number(seen.sentences, "sentence")
    msg.divider(f"{texts}, {sentences}, {seen.known:,} excluded")
    print_table(("type", "proposed", "expected mentions per proposal", "per pool sentence"), rows)
