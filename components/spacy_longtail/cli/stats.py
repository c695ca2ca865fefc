"""`stats`: what a corpus holds."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg, table

from ..experiments.statistics import corpus_statistics
from .app import Corpus, Json, app, coded_errors


@app.command()
def stats(
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    as_json: Json = False,
) -> None:
    """Count tokens and mentions per type and part, and what each resampling policy would do."""
    with coded_errors():
        found = corpus_statistics(corpus)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(found, indent=2), encoding="utf8")
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    _print_statistics(found)


def _print_statistics(found: dict[str, Any]) -> None:
    parts = found["parts"]
    rows: list[tuple[str, ...]] = [
        (key, *(f"{part[key]:,}" for part in parts.values()))
        for key in ("documents", "sentences", "entity_sentences", "tokens", "entity_tokens")
    ]
    msg.divider(f"Corpus {found['corpus']}")
    sys.stdout.write(table(rows, header=("", *parts), divider=True, aligns=tuple("lrrr")) + "\n")
    rows = []
    for label in found["labels"]:
        by_part = [part["types"][label] for part in parts.values()]
        rare = by_part[0]["rareness"]
        unseen = found["unseen"][label]
        rows.append(
            (
                label + (" *" if label in found["tail"] else ""),
                *(str(t["mentions"]) for t in by_part),
                "-" if rare is None else f"{rare:.1f}",
                "-" if unseen is None else f"{100 * unseen:.0f} %",
            )
        )
    head = ("type (* rare)", *(f"{part} mentions" for part in parts), "bits", "test unseen")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrrrrr")) + "\n")
    rows = [(n, f"{p['sentences']:.2f}", f"{p['tokens']:.2f}") for n, p in found["policies"].items()]
    head = ("policy", "sentences x", "tokens x")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrr")) + "\n")
