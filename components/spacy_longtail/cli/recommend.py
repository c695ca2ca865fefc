"""Command `recommend`: recommends a method for a corpus."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from typer import Option
from wasabi import msg

from ..output.console import echo
from ..studies.advice.advice import N_FOLDS, advise, describe_comparison, find_candidates
from ..studies.advice.candidates import plan_comparison
from ..studies.advice.pretrained_candidates import find_pretrained, needs_torch
from ..studies.comparison.folds import fold_plan
from ..studies.comparison.writing import summary_tables, write_matrix_report
from ..studies.trials.study import TrialOptions
from ..training.provenance import shell_path
from .app import METHOD_PANEL, Code, Corpus, GpuId, Json, app, print_json, say
from .boundary import tell_failures
from .options import Output, Retry, Set, Workers, naming_options, read_settings

MAX_DEFAULT_WORKERS = 4  # because each has a pipeline in memory


@app.command(rich_help_panel=METHOD_PANEL)
def recommend(
    corpus: Corpus,
    output: Output = Path("training/recommend"),
    config: Annotated[
        Path | None,
        Option(
            help="File for the recommended config.", show_default="recommended.cfg in the output folder"
        ),
    ] = None,
    minutes: Annotated[
        float, Option(min=0.01, help="Number of minutes after which no trial starts.")
    ] = 30,
    folds: Annotated[
        int, Option(min=3, help="Number of cross-validation folds of train and dev to compare on.")
    ] = N_FOLDS,
    steps: Annotated[
        int | None,
        Option(
            min=1,
            help="Number of training steps of each trial.",
            show_default="until the score on dev stops improving; shipped transformers 400",
        ),
    ] = None,
    pretrained: Annotated[
        str | None,
        Option(
            help="Pretrained encoder to try: an installed package or a pipeline that `pretrain` wrote.",
            show_default="en_longtail_cnn, and for English installed transformers of docs/zero_shot.md",
        ),
    ] = None,
    transformer: Annotated[
        str | None, Option(help="Transformer to try: its name on the Hugging Face hub or a folder.")
    ] = None,
    settings: Set = None,
    best_guess: Annotated[
        bool,
        Option(
            "--best-guess", help="Write the config of the best method even without sufficient evidence."
        ),
    ] = False,
    workers: Workers = None,
    retry_failed: Retry = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="List the candidates without training them.")
    ] = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Compare the methods that a corpus's statistics suggest, and write the config of the best.

    The methods are compared by cross-validation on train and dev. No trial starts after --minutes.
    A trial that takes longer than two fifths of that time is stopped, unless it trains stock spaCy.
    After each fold the better half continues, and with it the methods that are not significantly
    worse than the best one. Another method than stock spaCy is recommended only if the evidence
    suffices (docs/matrix.md). By default it runs one trial per core, at most four, or a single one
    with a transformer or a GPU.
    """
    target = config or output / "recommended.cfg"
    encoders = [pretrained] if pretrained else find_pretrained(corpus, say)
    candidates = find_candidates(corpus, encoders, transformer)
    with naming_options():
        plan = plan_comparison(candidates, corpus, read_settings(settings), steps)
    if dry_run:  # the corpus may not have enough documents
        with TemporaryDirectory(prefix="longtail-") as place:
            fold_plan(plan, Path(place), folds)
    listed = [{"method": own.name, "choices": own.choices, "why": own.why} for own in candidates]
    if dry_run and as_json:
        return print_json({"candidates": listed})
    if dry_run:
        for candidate in candidates:
            echo(f"{candidate.name}: {candidate.why}")
        return echo(describe_comparison(len(candidates), plan.schedule, folds, minutes))
    default = default_workers(bool(transformer) or any(map(needs_torch, encoders)), gpu_id)
    options = TrialOptions(workers=workers or default, gpu_id=gpu_id, retry_failed=retry_failed)
    advice = advise(
        candidates,
        plan,
        output,
        target,
        total_minutes=minutes,
        folds=folds,
        best_guess=best_guess,
        options=options,
        say=say,
    )
    summary, choice = advice.summary, advice.recommendation
    page = write_matrix_report(summary, output / "report")
    tell_failures(summary.failed)
    if as_json:
        return print_json(
            {
                "method": choice.method,
                "best": choice.best,
                "text": choice.text,
                "evidence": choice.evidence,
                "baseline": summary.baseline,
                "methods": [
                    {
                        "method": row.method,
                        "folds": row.n_trials,
                        "macro": row.scores["macro, held out"][0],
                    }
                    for row in summary.corpora[0].rows
                ],
                "candidates": listed,
                "failed": [{"title": r.title, "reason": r.reason} for r in summary.failed],
                "config": str(target),
                "written": advice.written,
                "note": advice.note,
                "report": str(page),
            }
        )
    msg.divider("Candidates")
    for candidate in candidates:
        msg.text(f"{candidate.name}: {candidate.why}")
    echo(summary_tables(summary))
    msg.good(f"{target} trains {advice.written}")
    echo(
        f"Train it with: python -m spacy_longtail train {shell_path(target)} {shell_path(corpus)} "
        "training/model"
    )
    echo(f"Report: {page.resolve()}")
    if advice.note:
        msg.warn(advice.note)


def default_workers(has_transformer: bool, gpu_id: int) -> int:
    """Return how many trials run at the same time by default.

    has_transformer (bool): Whether a candidate has a transformer, which uses all cores by itself.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    RETURNS (int): 1 with a transformer or a GPU, otherwise one per core, at most four.
    """
    if has_transformer or gpu_id >= 0:
        return 1
    affinity = getattr(os, "sched_getaffinity", None)  # exists on Linux only
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, MAX_DEFAULT_WORKERS)
