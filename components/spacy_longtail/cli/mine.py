"""`mine`: which sentences of a pool to label next."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.formats.context import Settings
from ..output.amounts import number
from ..training.device import use_gpu
from ..unlabelled.mining import Mined, MiningRequest, mine
from ..unlabelled.proposals import DEFAULT_NAMES, ProposalFormat
from ..unlabelled.scan import RANDOM
from .app import (
    LARGEST_SEED,
    UNLABELLED_PANEL,
    Code,
    GpuId,
    Json,
    app,
    names_in,
    print_json,
    print_table,
)
from .pool_options import POOL, BatchSize, Encoding, PoolFormat, Processes, Split

SUFFIXES = {Path(name).suffix for name in DEFAULT_NAMES.values()}


@app.command("mine", rich_help_panel=UNLABELLED_PANEL)
def mine_command(
    pipeline: Annotated[
        str, typer.Argument(help="A trained pipeline, or an encoder such as en_longtail_trf.")
    ],
    pool: Annotated[Path, typer.Argument(help=POOL)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the annotation tool."),
    ] = None,
    labels: Annotated[int, typer.Option(min=1, help="Sentences to propose.")] = 200,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Folder with types.json: rare types, sentences to leave out."),
    ] = None,
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="Sentences to leave out, as earlier proposals: a file or folder. Repeatable."),
    ] = None,
    types: Annotated[str | None, typer.Option(help="Types to look for, as EVE,NAT.")] = None,
    quota: Annotated[str | None, typer.Option(help="Labels by type, as EVE=50,NAT=30.")] = None,
    random: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share that is drawn by lot, to evaluate on.")
    ] = 0.1,
    diversity: Annotated[float, typer.Option(min=0, max=1, help="Penalty of likeness.")] = 0.5,
    format: Annotated[ProposalFormat, typer.Option(help="The tool that opens the file.")] = "prodigy",
    pool_format: PoolFormat = None,
    encoding: Encoding = "utf8",
    split: Split = False,
    batch_size: BatchSize = 64,
    n_process: Processes = 1,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Fixes the random share.")] = 0,
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
        types=_names("types", types),
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
    read_as = Settings(pool_format, encoding)
    found = mine(pipeline, pool, output, request, read_as, format)
    if as_json:
        return print_json(_data(found))
    _print(found)
    if left_out := found.events.summary():
        msg.warn(f"Left out: {left_out}")
    if len(found.proposals) < labels:
        missing = labels - len(found.proposals)
        msg.warn(f"{missing} are missing: quotas are full, or the rest of the pool is like these.")
    msg.good(f"Wrote {output}: {number(len(found.proposals), 'sentence')} to label")
    return None


def _quotas(text: str | None) -> dict[str, int]:
    """EVE=50,NAT=30 of the command line."""
    items = [tuple(map(str.strip, item.partition("=")[::2])) for item in _names("quota", text)]
    quotas = {name: int(number) for name, number in items if number.isdecimal()}
    if len(quotas) < len(items):
        raise typer.BadParameter(f"--quota takes TYPE=NUMBER, each type once, found {text!r}.")
    return quotas


def _names(option: str, text: str | None) -> tuple[str, ...]:
    """What an option names, separated by commas."""
    names = () if text is None else names_in(text)
    if text is not None and len(names) != max(1, len({*names})):
        raise typer.BadParameter(f"--{option} takes names, each once, found {text!r}.")
    return names


def _data(found: Mined) -> dict[str, object]:
    scan = found.scan
    return {
        "texts": scan.n_texts,
        "sentences": scan.n_sentences,
        "known": scan.n_known,
        "left_out": found.events.summary(),
        "proposals": [
            {"text": p.unit.text, "chosen_for": p.chosen_for, "expected": round(float(p.score), 4)}
            for p in found.proposals
        ],
    }


def _print(found: Mined) -> None:
    scan = found.scan
    counts = Counter(p.chosen_for for p in found.proposals)
    rows = []
    for i, label in enumerate(found.types):
        own = [p.score for p in found.proposals if p.chosen_for == label]
        mean = f"{sum(own) / len(own):.2f}" if own else "-"
        base = scan.expected[i] / max(1, scan.n_sentences - scan.n_known)
        rows.append((label, f"{counts[label]:,}", mean, f"{base:.4f}"))
    if counts[RANDOM]:
        rows.append((RANDOM, f"{counts[RANDOM]:,}", "-", "-"))
    msg.divider(
        f"{number(scan.n_texts, 'text')}, {number(scan.n_sentences, 'sentence')}, {scan.n_known:,} known"
    )
    head = ("type", "proposed", "expected mentions each", "in the pool")
    print_table(head, rows)
