"""`evaluate`: scores of a trained pipeline."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg, table

from ..corpus.folder import part_path, read_types
from ..evaluation.evaluate import MARK, evaluate_model, write_evaluation
from ..writing import check_file
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
        if output is not None:
            check_file(output, mark=MARK)
        types = read_types(corpus)
        train = part_path(corpus, "train")
        result = evaluate_model(
            model,
            part_path(corpus, part),
            types.labels,
            types.tail,
            name,
            train if train.exists() else None,
            part,
        )
        if output is not None:
            write_evaluation(result, output)
    if as_json:
        shown = {k: v for k, v in result.items() if k != "documents"}
        sys.stdout.write(json.dumps(shown, indent=2) + "\n")
        return
    _show(result, part)


def _show(result: dict[str, Any], part: str) -> None:
    """A table of the types, and the scores that a line can hold."""
    scores = result["scores"]
    rows = [
        (
            t + (" *" if t in result["tail"] else ""),
            str(s["support"]),
            *(f"{100 * s[k]:.2f}" for k in "prf"),
        )
        for t, s in scores["ents_per_type"].items()
    ]
    msg.divider(f"{result['name']} on {part}")
    head = ("type (* rare)", "support", "P", "R", "F")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrrrr")) + "\n")
    shown = {"macro": "macro_f", "micro": "f", "weighted": "weighted_f", "tail": "tail_f"}
    msg.text(_listed("F1", {text: scores.get(f"ents_{key}") for text, key in shown.items()}))
    shown = {"words": "word_acc", "sentences": "sentence_acc"}
    msg.text(_listed("All right", {text: scores.get(f"ents_{key}") for text, key in shown.items()}))
    found = result["analysis"]
    if found is not None:
        kinds = {"bounds alone": "boundaries", "one token shared": "partial"}
        msg.text(_listed("F1, lenient", {t: found["matching"][key]["f"] for t, key in kinds.items()}))
        groups = {f"{name} mentions": found["seen"][name]["recall"] for name in ("seen", "unseen")}
        msg.text(_listed("Recall", groups))
        buckets = {name: own["macro_f"] for name, own in found["buckets"].items() if own["labels"]}
        msg.text(_listed("Macro F1 by training frequency", buckets))
    msg.text(f"{result['words_per_second']:,.0f} words/s")


def _listed(what: str, scores: dict[str, float | None]) -> str:
    found = [f"{name} {100 * s:.2f}" for name, s in scores.items() if s is not None]
    return f"{what}: {', '.join(found)}"
