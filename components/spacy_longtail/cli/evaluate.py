"""`evaluate`: scores of a trained pipeline."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg, table

from ..corpora import part_path, read_types
from ..experiments.evaluation import evaluate_model, write_evaluation
from .app import Corpus, GpuId, Json, app, coded_errors


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    part: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    name: Annotated[str | None, typer.Option(help="What reports call the model.")] = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Score a pipeline on the corpus's declared types, and keep every prediction for the report."""
    from spacy.cli._util import setup_gpu

    setup_gpu(gpu_id, silent=True)
    with coded_errors():
        types = read_types(corpus)
        result = evaluate_model(model, part_path(corpus, part), types.labels, types.tail, name)
    if output is not None:
        write_evaluation(result, output)
    if as_json:
        shown = {k: v for k, v in result.items() if k != "documents"}
        sys.stdout.write(json.dumps(shown, indent=2) + "\n")
        return
    scores = result["scores"]
    rows = [
        (t + (" *" if t in types.tail else ""), str(s["support"]), *(f"{100 * s[k]:.2f}" for k in "prf"))
        for t, s in scores["ents_per_type"].items()
    ]
    msg.divider(f"{result['name']} on {part}")
    head = ("type (* rare)", "support", "P", "R", "F")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrrrr")) + "\n")
    for key, text in (
        ("macro_f", "macro"),
        ("f", "micro"),
        ("weighted_f", "weighted"),
        ("tail_f", "tail"),
    ):
        msg.text(f"{text} F1: {100 * scores[f'ents_{key}']:.2f}")
    msg.text(f"{result['words_per_second']:,.0f} words/s")
