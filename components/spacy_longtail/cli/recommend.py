"""`recommend`: which method to use on a corpus."""

import os
from pathlib import Path
from typing import Annotated

from typer import Option
from wasabi import msg

from ..output.console import echo
from ..studies.matrix.advice import FOLDS, advise, find_pretrained, in_short, needs_torch, planned
from ..studies.matrix.writing import summary_tables, write_matrix_report
from ..studies.trials.run import TrialOptions
from ..training.provenance import typed
from .app import METHOD_PANEL, Code, Corpus, GpuId, Json, app, print_json, say
from .options import DryRun, Output, Retry, Set, Workers, read_settings

USUAL_WORKERS = 4  # at most: each has a pipeline in memory


@app.command(rich_help_panel=METHOD_PANEL)
def recommend(
    corpus: Corpus,
    output: Output = Path("training/recommend"),
    config: Annotated[
        Path | None, Option(help="The config to write.", show_default="recommended.cfg in the folder")
    ] = None,
    minutes: Annotated[float, Option(min=0.01, help="Budget of all trainings, wall clock.")] = 30,
    folds: Annotated[int, Option(min=3, help="Folds of train and dev to compare on.")] = FOLDS,
    steps: Annotated[
        int | None, Option(min=1, help="Training steps of every trial.", show_default="until no better")
    ] = None,
    pretrained: Annotated[
        Path | None,
        Option(
            help="An encoder to try: an installed package, or a pipeline that `pretrain` wrote.",
            show_default="en_longtail_cnn and installed transformers of docs/zero_shot.md, for English",
        ),
    ] = None,
    transformer: Annotated[str | None, Option(help="A transformer to try, by name or folder.")] = None,
    settings: Set = None,
    workers: Workers = None,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Try what a corpus's statistics suggest, within a budget, and write the config of what to use.

    Methods are compared on folds of train and dev. After each fold the better half goes on. The
    command says how likely the best one is worse than stock spaCy. Without --workers it runs one
    trial a core, four at most, and one with a transformer or a GPU.
    """
    target = config or output / "recommended.cfg"
    encoders = [pretrained] if pretrained else find_pretrained(corpus, say)
    candidates, plan = planned(corpus, steps, read_settings(settings), encoders, transformer)
    reasons = list(zip(plan.methods, candidates, strict=True))
    if dry_run and as_json:
        rows = [{"method": m.name, "choices": dict(c.grid), "why": c.why} for m, c in reasons]
        return print_json({"candidates": rows})
    if dry_run:
        for method, candidate in reasons:
            echo(f"{method.name}: {candidate.why}")
        return echo(in_short(candidates, plan, folds, minutes))
    usual = usual_workers(bool(transformer) or any(map(needs_torch, encoders)), gpu_id)
    options = TrialOptions(workers or usual, gpu_id, retry_failed=retry_failed)
    summary, choice = advise(
        candidates, plan, output, target, minutes=minutes, folds=folds, options=options, say=say
    )
    page = write_matrix_report(summary, output / "report")
    if as_json:
        shown = {name: getattr(choice, name) for name in ("method", "best", "text", "evidence")}
        shown |= {"baseline": summary.baseline, "methods": []}
        for row in summary.corpora[0].rows:
            macro = row.scores["macro, held out"][0]
            shown["methods"].append({"method": row.method, "folds": row.n_trials, "macro": macro})
        shown["candidates"] = [candidate._asdict() for candidate in candidates]
        return print_json({**shown, "config": str(target), "report": str(page)})
    msg.divider("Candidates")
    for candidate in candidates:
        msg.text(f"{' '.join(candidate.grid.values())}: {candidate.why}")
    echo(summary_tables(summary))
    msg.good(f"{target}: {choice.method}")
    echo(f"Train it with: python -m spacy_longtail train {typed(target)} {typed(corpus)} training/model")
    return echo(f"Report: {page.resolve()}")


def usual_workers(has_transformer: bool, gpu_id: int) -> int:
    """Trials at a time, where nobody says: a transformer takes all cores, a GPU is one."""
    if has_transformer or gpu_id >= 0:
        return 1
    affinity = getattr(os, "sched_getaffinity", None)  # of Linux
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, USUAL_WORKERS)
