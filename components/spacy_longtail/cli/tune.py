"""`tune`: the best values of a method's parameters, searched on development data."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..output.amounts import number, percent
from ..studies.tuning.search import Search, Tried, best_of
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

    The first trial is the baseline. Hopeless trials are pruned. The same command resumes.
    """
    own = read_settings(settings or [])
    if steps is not None:
        own["training.max_steps"] = steps
    found = Search(config, own, search, corpus, output, seed)
    if dry_run:
        return _list(found, trials, as_json)
    tried = found.run(trials, gpu_id=gpu_id, minutes=minutes)
    best = best_of(tried)
    if best is None:
        problem = f"no trial has finished. The last one: {tried[-1].error or tried[-1].status}"
        raise ValueError(Errors.L487.format(problem=problem, fix="Correct it, and give more --trials."))
    written = found.write_best(tried, best)
    if as_json:
        shown = [trial._asdict() for trial in tried]
        return print_json({"trials": shown, "best": best.number, "config": str(written)})
    _print(found, tried, best)
    msg.good(f"Wrote {written}")
    return None


def _list(search: Search, trials: int, as_json: bool) -> None:
    """Print what would be searched."""
    search.check()
    rows = [(p.name, p.text, str(p.baseline)) for p in search.parameters]
    if as_json:
        names = ("name", "range", "baseline")
        return print_json({"parameters": [dict(zip(names, row, strict=True)) for row in rows]})
    print_table(("parameter", "range", "baseline"), rows, "lll")
    typer.echo(f"{number(trials, 'trial')} of {number(search.steps, 'step')}")
    return None


def _print(found: Search, tried: list[Tried], best: Tried) -> None:
    names = [parameter.name for parameter in found.parameters]
    rows = []
    for trial in tried:
        marks = {"baseline": trial.is_baseline, "best": trial.number == best.number}
        mark = ", ".join(name for name, holds in marks.items() if holds)
        values = (str(trial.values.get(name, "-")) for name in names)
        rows.append((trial.number, *values, percent(trial.score), trial.status, mark))
    print_table(("trial", *names, "macro, dev", "ended", ""), rows, "r" * (len(names) + 2) + "ll")
