"""Command `evaluate`: scores a trained pipeline, or writes a report on several evaluations."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Context, Option
from wasabi import msg

from ..corpus.converted import ConvertedCorpus
from ..corpus.type_words import type_words
from ..errors import Errors
from ..evaluation.analysis import entity_changes
from ..evaluation.evaluate import evaluate_model
from ..evaluation.records import MARK, Evaluation, write_evaluation
from ..evaluation.report import (
    check_report,
    metrics_files,
    read_report,
    summarize,
    summary_table,
    write_card,
    write_report,
)
from ..evaluation.report.systems import AVERAGES
from ..evaluation.report.wording import usage_in_words
from ..output.console import percent
from ..output.targets import check_file
from ..training.startup import use_gpu
from .app import TRAINING_PANEL, Code, GpuId, Json, app, print_json, print_table, refuse_given
from .options import read_pairs


@app.command(rich_help_panel=TRAINING_PANEL)
def evaluate(
    context: Context,
    model: Annotated[
        Path,
        Argument(help="Folder or package of a pipeline. With --report, a folder of evaluations."),
    ],
    corpus: Annotated[
        Path | None, Argument(help="Folder of a converted corpus. Not used with --report.")
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write the evaluation to this JSON file.")
    ] = None,
    part: Annotated[str, Option(help="Part to evaluate on: train, dev or test.")] = "test",
    name: Annotated[
        str | None, Option(help="Name of the model in reports.", show_default="name of its folder")
    ] = None,
    before: Annotated[
        Path | None, Option(help="Earlier pipeline, to count the entities that only it finds.")
    ] = None,
    report: Annotated[
        Path | None,
        Option(help="Write an HTML report on a folder of evaluations to this file."),
    ] = None,
    baseline: Annotated[
        str | None,
        Option(help="With --report: name of the baseline model.", show_default="baseline"),
    ] = None,
    ours: Annotated[
        str | None,
        Option(help="With --report: name of the model to compare.", show_default="best on dev"),
    ] = None,
    card: Annotated[
        Path | None,
        Option(help="With --report: also write a model card to the folder of this pipeline."),
    ] = None,
    type_names: Annotated[
        list[str] | None,
        Option(
            "--map",
            help="PERSON=PER renames the pipeline's type PERSON to the corpus's PER. Repeatable.",
        ),
    ] = None,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Score a pipeline on the types that a corpus declares, or write a report on evaluations.

    With -o, the scores and all predictions are written to a JSON file. `evaluate METRICS --report
    PAGE.html` reads a folder of such files and writes one self-contained page, with a Markdown
    version beside it. The report describes one model or compares two. If there are more, it
    compares the best on dev with the baseline. Runs with the same name and different seeds count
    as one model.
    """
    if report is not None and corpus is None:
        refuse_given(
            context,
            ["output", "part", "name", "before", "type_names", "code", "gpu_id"],
            "--report reads evaluations",
        )
        return _report(model, report, baseline, ours, card, as_json)
    if corpus is None or report is not None:
        raise BadParameter("Give a pipeline and a CORPUS, or a folder of evaluations and --report.")
    refuse_given(context, ["baseline", "ours", "card"], "it needs --report")
    use_gpu(gpu_id)
    if output is not None:
        check_file(output, mark=MARK)
    converted = ConvertedCorpus(corpus)
    types = converted.types
    names = read_pairs("--map", type_names)
    if unknown := ", ".join(sorted(set(names.values()) - set(types.labels))):
        raise ValueError(
            Errors.L840.format(corpus=corpus, unknown=unknown, known=", ".join(types.labels))
        )
    score = partial(
        evaluate_model,
        data=converted.path(part),
        labels=types.labels,
        tail=types.tail,
        descriptions=type_words(types.labels, types.descriptions),
        names=names,
        group_by=types.group_by,
    )
    training = converted.training if converted.path("train").exists() else None
    result = score(model, name=name, training=training, part=part)
    was = score(before) if before else None
    changes = entity_changes(was, result) if was else {}
    if output is not None:
        write_evaluation(result, output)
    if as_json:
        shown = result.model_dump(exclude={"documents"}, exclude_unset=True)
        return print_json({**shown, **({"changes": changes} if was else {})})
    _show(result, part)
    if was:
        msg.divider(f"since {was.model}")
        rows = [
            (
                label,
                change["before"],
                change["after"],
                change["lost"],
                percent(was.scores.of_type(label).f),
                percent(result.scores.of_type(label).f),
            )
            for label, change in changes.items()
        ]
        print_table(("type", "before", "after", "lost", "F1 before", "F1"), rows)


def _report(
    metrics: Path, page: Path, baseline: str | None, ours: str | None, card: Path | None, as_json: bool
) -> None:
    """Write the report and the card, and print the table of results."""
    check_report(page)
    statistics, evaluations = metrics_files(metrics)
    report = read_report(statistics, evaluations, baseline, ours)
    written = {"Report": page, "Markdown": write_report(report, page)}
    if card is not None:
        written["Model card"] = write_card(report, card)
    if as_json:
        return print_json(summarize(report))
    sys.stdout.write(summary_table(report))
    for name, path in written.items():  # unwrapped, so that they can be copied
        sys.stdout.write(f"{name}: {path.resolve()}\n")


def _show(result: Evaluation, part: str) -> None:
    """Print a table of the types, then one line for each group of scores."""
    scores, analysis = result.scores, result.analysis
    rows = [
        (t + " *" * (t in result.tail), s.support, *(f"{100 * v:.2f}" for v in (s.p, s.r, s.f)))
        for t, s in scores.ents_per_type.items()
    ]
    msg.divider(f"{result.name} on {part}")
    print_table(("type (* rare)", "support", "P", "R", "F"), rows)
    msg.text(_listed("F1", {kind: getattr(scores, name) for kind, name in AVERAGES.items()}))
    msg.text(_listed("Accuracy", {"words": scores.ents_word_acc, "sentences": scores.ents_sentence_acc}))
    if analysis is not None:
        recall = {f"{name} mentions": part["recall"] for name, part in analysis["seen"].items()}
        msg.text(_listed("Recall", recall))
        buckets = {name: part["macro_f"] for name, part in analysis["buckets"].items() if part["labels"]}
        msg.text(_listed("Macro F1 by training frequency", buckets))
    for name, used in result.secondaries.items():
        msg.text(f"{name}: {usage_in_words(used)}")
    msg.text(f"{result.words_per_second:,.0f} words/s")


def _listed(what: str, scores: Mapping[str, float | None]) -> str:
    shown = [f"{name} {100 * s:.2f}" for name, s in scores.items() if s is not None]
    return f"{what}: {', '.join(shown)}"
