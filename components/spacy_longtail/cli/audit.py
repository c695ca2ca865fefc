"""`audit`: suspect annotations."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..output.amounts import number
from ..output.writing import check_file
from ..training.audit import MARK, Audit, ReviewFormat, audit_corpus, problem, write_review
from ..training.device import use_gpu
from .app import CORPUS_PANEL, LARGEST_SEED, Code, Corpus, GpuId, Json, app, print_json, print_table

SHOWN = 10
AROUND = 30  # characters of context on each side


@app.command(rich_help_panel=CORPUS_PANEL)
def audit(
    corpus: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="The review file.")] = Path(
        "review.jsonl"
    ),
    format: Annotated[ReviewFormat, typer.Option(help="The tool that is to open it.")] = "prodigy",
    limit: Annotated[int | None, typer.Option(min=1, help="Suspects to write at most.")] = None,
    part: Annotated[
        str, typer.Option(help="Part to look at; of a corpus that was not split, all.")
    ] = "train",
    config: Annotated[
        Path | None, typer.Option(help="Config with a longtail_token_ner.", show_default="a small one")
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, help="Trainings; each reads what it was not trained on.")
    ] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Fixes folds and trainings.")] = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Find annotations that models trained on the rest of the corpus contradict, rare types first."""
    use_gpu(gpu_id)
    check_file(output, mark=MARK)
    found = audit_corpus(
        corpus, part=part, config=config, folds=folds, steps=steps, seed=seed, gpu_id=gpu_id
    )
    n_records = write_review(found, output, format, limit)
    if as_json:
        return print_json(_data(found, n_records))
    _print_agreement(found)
    _print_pairs(found)
    _print_first(found)
    msg.good(f"Wrote {output}: {number(n_records, 'sentence')} with suspects")
    return None


def _data(found: Audit, n_records: int) -> dict[str, object]:
    agreement = {name: {"alike": alike, "tokens": n} for name, (alike, n) in found.agreement.items()}
    suspects = [suspect._asdict() for suspect in found.suspects]
    return {"sentences": n_records, "agreement": agreement, "suspects": suspects}


def _print_agreement(found: Audit) -> None:
    rows = [
        (name, f"{n:,}", f"{100 * alike / n:.1f} %" if n else "-")
        for name, (alike, n) in found.agreement.items()
    ]
    msg.divider("What the models read as annotated")
    print_table(("type", "tokens", "alike"), rows)


def _print_pairs(found: Audit) -> None:
    rare = {suspect.type for suspect in found.suspects if suspect.rare}
    pairs = Counter((suspect.annotated, suspect.read) for suspect in found.suspects)
    rows = [
        (*(name + (" *" if name in rare else "") for name in pair), str(n))
        for pair, n in pairs.most_common()
    ]
    msg.divider(f"{len(found.suspects)} suspects")
    print_table(("annotated (* rare)", "read", "suspects"), rows, "llr")


def _print_first(found: Audit) -> None:
    for suspect in found.suspects[:SHOWN]:
        doc = found.docs[suspect.doc_i]
        span = doc[suspect.start : suspect.end]
        before = doc.text[max(span.start_char - AROUND, 0) : span.start_char]
        after = doc.text[span.end_char : span.end_char + AROUND]
        sys.stdout.write(f"{suspect.score:.3f}  {problem(doc, suspect)}\n")
        sys.stdout.write(f"       ...{' '.join(f'{before}[{span.text}]{after}'.split())}...\n")
