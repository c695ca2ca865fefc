"""`tune`: the best values of a method's parameters, searched on development data."""

import shlex
import warnings
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors, Warnings
from ..evaluation.report.wording import percent
from ..output.amounts import number
from ..studies.tuning.best_config import write_best
from ..studies.tuning.draws import Tried, baseline_of, best_of
from ..studies.tuning.report import write_search
from ..studies.tuning.run import Options, run_search
from ..studies.tuning.search import Search, read_config
from ..studies.tuning.space import read_space
from ..training.provenance import command
from .app import LARGEST_SEED, METHOD_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table
from .trial_options import DryRun, Minutes, Set, Steps, read_settings


@app.command(rich_help_panel=METHOD_PANEL)
def tune(
    corpus: Corpus,
    config: Annotated[Path, typer.Option("--config", help="The config to start from.")],
    search: Annotated[
        list[str],
        typer.Option(help="SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C; repeatable."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; a search there is resumed.")
    ] = Path("training/tune"),
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, the baseline's too.")] = 20,
    steps: Steps = None,
    settings: Set = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Of the search; system.seed is the trainings'.")
    ] = 0,
    minutes: Minutes = None,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Search the values with the best macro F1 on dev, and write the best config.

    The first trial is the baseline. Hopeless trials are pruned. The same command resumes; given again in
    another terminal, it shares the trials.
    """
    own = read_settings(settings or [])
    if steps is not None:
        own["training.max_steps"] = steps
    space = read_space(read_config(config, own), search)
    found = Search(space, corpus, output, seed)
    options = Options(trials, gpu_id, minutes)
    if dry_run:
        return _list(found, trials, as_json)
    tried = run_search(found, options)
    best = best_of(tried)
    if best is None:
        raise ValueError(Errors.L487.format(error=_last(tried[-1])))
    given = {"config": config, "trials": trials, "steps": steps, "seed": seed}
    made = command("tune", [corpus], {k: v for k, v in given.items() if v is not None})
    for option, texts in {"--search": search, "--set": settings}.items():
        made = " ".join([made, *(shlex.join([option, text]) for text in texts or [])])
    baseline = baseline_of(tried)
    if baseline is None:
        error = next((_last(trial) for trial in tried if trial.is_baseline), "it was not run.")
        warnings.warn(Warnings.W095.format(error=error), stacklevel=2)
    written = write_best(found, tried, best, baseline, made)
    page = write_search(found, tried, best, made)
    if as_json:
        return print_json(_data(tried, best, written, page))
    _print(found, tried, best)
    msg.good(f"Wrote {written} and {page}")
    return None


def _last(trial: Tried) -> str:
    return trial.error.splitlines()[-1] if trial.error else f"it was {trial.status}."


def _list(search: Search, trials: int, as_json: bool) -> None:
    """Print what would be searched."""
    search.check()
    rows = [(p.name, p.text, str(p.baseline)) for p in search.space.parameters]
    if as_json:
        names = ("name", "range", "baseline")
        return print_json({"parameters": [dict(zip(names, row, strict=True)) for row in rows]})
    print_table(("parameter", "range", "baseline"), rows, "lll")
    typer.echo(f"{number(trials, 'trial')} of {number(search.steps, 'step')}")
    return None


def _data(tried: list[Tried], best: Tried, written: Path, page: Path) -> dict[str, object]:
    return {
        "trials": [trial.record() for trial in tried],
        "best": best.number,
        "config": str(written),
        "report": str(page),
    }


def _print(found: Search, tried: list[Tried], best: Tried) -> None:
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
