"""`tune`: the best values of a method's parameters, searched on development data."""

import shlex
import warnings
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors, Warnings
from ..evaluation.report.wording import percent
from ..studies.tuning.best_config import write_best
from ..studies.tuning.draws import Tried, baseline_of, best_of
from ..studies.tuning.dry_run import search_outlook
from ..studies.tuning.holdout import Holdout, hold_out
from ..studies.tuning.report import write_search
from ..studies.tuning.run import Options, run_search
from ..studies.tuning.search import Search, read_config
from ..studies.tuning.space import read_space
from ..training.provenance import command
from .app import LARGEST_SEED, METHOD_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table
from .dry_run import show
from .matrix import say
from .trial_options import DryRun, Minutes, Set, Steps, Storage, Workers, read_settings

Choice = Annotated[str | None, typer.Option(help="A choice of docs/matrix.md, set in the config.")]


@app.command(rich_help_panel=METHOD_PANEL)
def tune(
    corpus: Corpus,
    config: Annotated[
        Path | None, typer.Option("--config", help="A config.", show_default="the package's own")
    ] = None,
    head: Choice = None,
    gate: Choice = None,
    encoder: Choice = None,
    outputs: Choice = None,
    reader: Choice = None,
    loss: Choice = None,
    gazetteer: Choice = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME, NAME=LOW:HIGH, SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C; repeatable.",
            show_default="named parameters that the config has",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; a search there is resumed.")
    ] = Path("training/tune"),
    trials: Annotated[int, typer.Option(min=1, help="Trials of all machines, the baseline's too.")] = 20,
    steps: Steps = None,
    settings: Set = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Of the search; system.seed is the trainings'.")
    ] = 0,
    workers: Workers = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    test: Annotated[
        bool, typer.Option("--test", help="At the end, compare the best with the baseline on test.")
    ] = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Search the values with the best macro F1 on dev, and write the best config.

    Trial 0 is the baseline. Hopeless trials are pruned. The same command resumes, and shares the trials
    with other machines that have the same --storage.
    """
    axes = {"head": head, "gate": gate, "encoder": encoder, "outputs": outputs}
    axes |= {"reader": reader, "loss": loss, "gazetteer": gazetteer}
    choices = {axis: name for axis, name in axes.items() if name is not None}
    own = read_settings(settings or [])
    if steps is not None:
        own["training.max_steps"] = steps
    space = read_space(read_config(config, choices, own), search or [])
    found = Search(space, corpus, output, seed)
    options = Options(trials, workers, gpu_id, storage, minutes)
    if dry_run:
        return show(search_outlook(found, options, say), as_json)
    tried = run_search(found, options)
    best = best_of(tried)
    if best is None:
        raise ValueError(Errors.L487.format(error=_last(tried[-1])))
    given = {"config": config, **choices, "trials": trials, "steps": steps, "seed": seed}
    made = command("tune", [corpus], {k: v for k, v in given.items() if v is not None})
    for option, texts in {"--search": search, "--set": settings}.items():
        made = " ".join([made, *(shlex.join([option, text]) for text in texts or [])])
    baseline = baseline_of(tried)
    if baseline is None:
        error = next((_last(trial) for trial in tried if trial.is_baseline), "it was not run.")
        warnings.warn(Warnings.W095.format(error=error), stacklevel=2)
    written = write_best(found, tried, best, baseline, made)
    holdout = hold_out(found, best, baseline, gpu_id) if test and baseline is not None else None
    page = write_search(found, tried, best, holdout, made)
    if as_json:
        return print_json(_data(tried, best, holdout, written, page))
    _print(found, tried, best, holdout)
    msg.good(f"Wrote {written} and {page}")
    return None


def _last(trial: Tried) -> str:
    return trial.error.splitlines()[-1] if trial.error else f"it was {trial.status}."


def _data(
    tried: list[Tried], best: Tried, holdout: Holdout | None, written: Path, page: Path
) -> dict[str, object]:
    return {
        "trials": [trial.record() for trial in tried],
        "best": best.number,
        "test": None
        if holdout is None
        else {"baseline": holdout.baseline, "best": holdout.best, "findings": holdout.findings},
        "config": str(written),
        "report": str(page),
    }


def _print(found: Search, tried: list[Tried], best: Tried, holdout: Holdout | None) -> None:
    names = [parameter.name for parameter in found.space.parameters]
    rows = []
    for trial in tried:
        marks = {"baseline": trial.is_baseline, "best": trial.number == best.number}
        mark = ", ".join(name for name, holds in marks.items() if holds)
        values = (str(trial.values.get(name, "-")) for name in names)
        rows.append((trial.number, *values, percent(trial.score), trial.status, mark))
    print_table(("trial", *names, "macro, dev", "ended", ""), rows, "r" * (len(names) + 2) + "ll")
    if best.is_baseline:
        msg.text("No trial was better on dev than the baseline.")
    if holdout is not None:
        for name, score in holdout.baseline.items():
            msg.text(f"{name} on test: baseline {percent(score)}, best {percent(holdout.best[name])}")
        for text in holdout.findings:
            msg.text(text)
