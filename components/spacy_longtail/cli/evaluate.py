"""`evaluate`: scores of a trained pipeline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.folder import part_path, read_types
from ..evaluation.changes import EntityChange, entity_changes
from ..evaluation.evaluate import evaluate_model
from ..evaluation.records import MARK, Evaluation, usage_in_words, write_evaluation
from ..evaluation.report.systems import AVERAGES
from ..output.amounts import percent
from ..output.writing import check_file
from ..training.device import use_gpu
from .app import TRAINING_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table


@app.command(rich_help_panel=TRAINING_PANEL)
def evaluate(
    model: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    part: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    name: Annotated[str | None, typer.Option(help="What reports call the model.")] = None,
    before: Annotated[
        Path | None,
        typer.Option(help="The pipeline before it was extended: count its entities that are lost."),
    ] = None,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Score a pipeline on the corpus's declared types, and keep every prediction for the report."""
    use_gpu(gpu_id)
    if output is not None:
        check_file(output, mark=MARK)
    types = read_types(corpus)
    train, data = part_path(corpus, "train"), part_path(corpus, part)
    training = train if train.exists() else None
    result = evaluate_model(model, data, types.labels, types.tail, name, training, part)
    was = evaluate_model(before, data, types.labels, types.tail) if before else None
    changes = entity_changes(was, result) if was else {}
    if output is not None:
        write_evaluation(result, output)
    if as_json:
        shown = result.model_dump(exclude={"documents"}, exclude_unset=True)
        print_json({**shown, "changes": {t: c._asdict() for t, c in changes.items()}} if was else shown)
        return
    _show(result, part)
    if was:
        _show_changes(changes, was, result)


def _show_changes(changes: Mapping[str, EntityChange], was: Evaluation, now: Evaluation) -> None:
    """A table of the entities that another pipeline found, and of what became of them."""
    msg.divider(f"since {was.model}")
    rows = []
    for label, own in changes.items():
        scores = (percent(found.scores.of_type(label).f) for found in (was, now))
        rows.append((label, own.before, own.after, own.lost, *scores))
    print_table(("type", "before", "after", "lost", "F1 before", "F1"), rows)


def _show(result: Evaluation, part: str) -> None:
    """A table of the types, and the scores that a line can hold."""
    scores, found = result.scores, result.analysis
    rows = [
        (
            t + (" *" if t in result.tail else ""),
            str(s.support),
            *(f"{100 * v:.2f}" for v in (s.p, s.r, s.f)),
        )
        for t, s in scores.ents_per_type.items()
    ]
    msg.divider(f"{result.name} on {part}")
    print_table(("type (* rare)", "support", "P", "R", "F"), rows)
    msg.text(_listed("F1", {kind: getattr(scores, name) for kind, name in AVERAGES.items()}))
    right = {"words": scores.ents_word_acc, "sentences": scores.ents_sentence_acc}
    msg.text(_listed("All right", right))
    if found is not None:
        recall = {f"{name} mentions": own["recall"] for name, own in found["seen"].items()}
        msg.text(_listed("Recall", recall))
        buckets = {name: own["macro_f"] for name, own in found["buckets"].items() if own["labels"]}
        msg.text(_listed("Macro F1 by training frequency", buckets))
    for name, used in result.secondaries.items():
        msg.text(f"{name}: {usage_in_words(used)}")
    msg.text(f"{result.words_per_second:,.0f} words/s")
    if result.own_tokens is not None and result.own_tokens < 1:
        msg.warn(
            "The corpus came in words, and the scores are of these. The pipeline's own tokenizer makes "
            f"{percent(result.own_tokens)} % of them. On raw text the scores can be much lower."
        )


def _listed(what: str, scores: Mapping[str, float | None]) -> str:
    found = [f"{name} {100 * s:.2f}" for name, s in scores.items() if s is not None]
    return f"{what}: {', '.join(found)}"
