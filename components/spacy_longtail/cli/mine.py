"""`mine`: which sentences of a pool to label next."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from wasabi import msg

from ..output.amounts import number
from ..training.startup import use_gpu
from ..unlabelled.mining import Mined, MiningRequest, mine
from ..unlabelled.pool import PoolOptions
from ..unlabelled.proposals import DEFAULT_NAMES, ProposalFormat
from ..unlabelled.scan import RANDOM
from .app import UNLABELLED_PANEL, Code, GpuId, Json, app, print_json, print_table
from .options import BatchSize, Encoding, Pool, PoolFormat, Processes, Seed, Split, read_names

SUFFIXES = {Path(name).suffix for name in DEFAULT_NAMES.values()}


@app.command("mine", rich_help_panel=UNLABELLED_PANEL)
def mine_command(
    pipeline: Annotated[str, Argument(help="A pipeline, or an encoder such as en_longtail_trf.")],
    pool: Pool,
    output: Annotated[Path | None, Option("--output", "-o", help="File for an annotation tool.")] = None,
    labels: Annotated[int, Option(min=1, help="Sentences to propose.")] = 200,
    corpus: Annotated[Path | None, Option(help="Its rare types count, its text is left out.")] = None,
    exclude: Annotated[
        list[Path] | None, Option(help="Sentences to leave out: files or folders of them; repeatable.")
    ] = None,
    types: Annotated[str | None, Option(help="Types to look for, as EVE,NAT.")] = None,
    quota: Annotated[str | None, Option(help="Labels by type, as EVE=50,NAT=30.")] = None,
    random: Annotated[float, Option(min=0, max=0.9, help="Share drawn by lot, to evaluate on.")] = 0.1,
    diversity: Annotated[
        float, Option(min=0, max=1, help="How much likeness counts against a sentence.")
    ] = 0.5,
    format: Annotated[ProposalFormat, Option(help="The tool that opens the file.")] = "prodigy",
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    split: Split = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    seed: Seed = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Find the sentences of a pool that are most likely to hold rare types, for you to label."""
    output = output or Path(DEFAULT_NAMES[format])
    suffix = Path(DEFAULT_NAMES[format]).suffix
    if output.suffix != suffix and (format == "spacy" or output.suffix in SUFFIXES):
        raise typer.BadParameter(f"--format {format} is not written to {output.name}.")
    use_gpu(gpu_id)
    request = MiningRequest(
        labels=labels,
        types=read_names("--types", types),
        corpus=corpus,
        quotas=_quotas(quota),
        random=random,
        diversity=diversity,
        seed=seed,
        batch_size=batch_size,
        n_process=n_process,
        split=split,
        exclude=tuple(exclude or ()),
    )
    options = PoolOptions(format=pool_format, encoding=encoding)
    mined = mine(pipeline, pool, output, request, options, format)
    scan, left_out, n_chosen = mined.scan, mined.events.summary(), len(mined.proposals)
    if as_json:
        proposals = [
            {"text": p.unit.text, "chosen_for": p.chosen_for, "expected": round(float(p.score), 4)}
            for p in mined.proposals
        ]
        counts = {"texts": scan.n_texts, "sentences": scan.n_sentences, "known": scan.n_known}
        return print_json({**counts, "left_out": left_out, "proposals": proposals})
    _print(mined)
    if left_out:
        msg.warn(f"Left out: {left_out}")
    if n_chosen < labels:
        missing = labels - n_chosen
        msg.warn(f"{missing} are missing: quotas are full, or the rest of the pool is like these.")
    return msg.good(f"Wrote {output}: {number(n_chosen, 'sentence')} to label")


def _quotas(text: str | None) -> dict[str, int]:
    """EVE=50,NAT=30 of the command line."""
    items = [tuple(map(str.strip, item.partition("=")[::2])) for item in read_names("--quota", text)]
    quotas = {name: int(number) for name, number in items if number.isdecimal()}
    if len(quotas) < len(items):
        raise typer.BadParameter(f"--quota takes TYPE=NUMBER, each type once, found {text!r}.")
    return quotas


def _print(mined: Mined) -> None:
    scan = mined.scan
    counts = Counter(p.chosen_for for p in mined.proposals)
    rows = []
    for label, expected in zip(mined.types, scan.expected, strict=True):
        scores = [p.score for p in mined.proposals if p.chosen_for == label]
        mean = f"{sum(scores) / len(scores):.2f}" if scores else "-"
        base = expected / max(1, scan.n_sentences - scan.n_known)
        rows.append((label, f"{counts[label]:,}", mean, f"{base:.4f}"))
    if counts[RANDOM]:
        rows.append((RANDOM, f"{counts[RANDOM]:,}", "-", "-"))
    texts, sentences = number(scan.n_texts, "text"), number(scan.n_sentences, "sentence")
    msg.divider(f"{texts}, {sentences}, {scan.n_known:,} known")
    print_table(("type", "proposed", "expected mentions each", "in the pool"), rows)
