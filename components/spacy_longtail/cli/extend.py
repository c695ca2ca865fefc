"""`extend`: new types for a pipeline that exists."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..evaluation.report.wording import percent
from ..output.amounts import number
from ..studies.extending.run import MODEL, RECORD, Extended, Request, extend
from .app import (
    PIPELINE_PANEL,
    Code,
    Corpus,
    GpuId,
    Json,
    app,
    for_json,
    names_in,
    print_json,
    print_table,
)
from .trial_options import Set, read_settings


@app.command("extend", rich_help_panel=PIPELINE_PANEL)
def extend_command(
    base: Annotated[str, typer.Argument(help="A trained pipeline: a folder or an installed package.")],
    corpus: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the extended pipeline.")],
    types: Annotated[
        str | None,
        typer.Option(help="Types to add, separated by commas.", show_default="those it does not know"),
    ] = None,
    gate: Annotated[
        bool, typer.Option(help="Train a gate, so that not all sentences are read: faster, less found.")
    ] = False,
    pretrained: Annotated[
        Path | None, typer.Option(help="An encoder to start from, as `pretrain` writes it.")
    ] = None,
    thresholds: Annotated[bool, typer.Option(help="Choose thresholds on dev.")] = True,
    settings: Set = None,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Teach a pipeline new entity types without training it again: what it finds today stays.

    Its components are frozen. A NER for the new types is trained beside them, with --gate one that reads
    the sentences alone which a gate flags. Its entities fill in where the pipeline has none.
    """
    request = Request(
        base=base,
        corpus=corpus,
        types=names_in(types),
        gated=gate,
        pretrained=pretrained,
        thresholds=thresholds,
        overrides=read_settings(settings or []),
        gpu_id=gpu_id,
    )
    with for_json(as_json):
        found = extend(request, output, _say)
    if as_json:
        return print_json(found.model_dump())
    _print(found)
    if found.lost:
        msg.warn(f"Not where they were: {number(found.lost, 'entity', 'entities')} of {base}.")
    else:
        n = sum(own.before for own in found.entities.values())
        msg.good(f"All {n:,} entities that {base} found on {found.part} are where they were.")
    for label, own in found.types.items():
        if label in found.added and not own.f:
            msg.warn(
                f"{label} has F1 0: none of its {number(own.mentions, 'mention')} was found."
                " Annotate more. Or train on all types, if"
                f" {base} has entities where they stand: these stay."
            )
    msg.good(f"Wrote {output / MODEL} and {output / RECORD}")
    return None


def _print(found: Extended) -> None:
    msg.divider(f"new types, on {found.part}")
    rows = [
        (label, f"{own.mentions:,}", *map(percent, (own.before, own.f, own.p, own.r)))
        for label, own in found.types.items()
        if label in found.added
    ]
    print_table(("type", "mentions", "F1 before", "F1", "P", "R"), rows)
    msg.divider("entities of the other types")
    rows = [
        (label, own.before, own.after, own.lost, *_f1(found, label))
        for label, own in found.entities.items()
        if label not in found.added
    ]
    print_table(("type", "before", "after", "lost", "F1 before", "F1"), rows)
    before, after = found.words_per_second
    typer.echo(f"{before:,.0f} words/s before, {after:,.0f} after.")


def _f1(found: Extended, label: str) -> tuple[str, str]:
    """Before and after; nothing for a type that the corpus does not annotate."""
    own = found.types.get(label)
    return ("-", "-") if own is None else (percent(own.before), percent(own.f))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
