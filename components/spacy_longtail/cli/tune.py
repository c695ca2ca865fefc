"""Command `tune`: searches the best values of a config's settings on development data."""

from pathlib import Path
from typing import Annotated

from typer import Option
from wasabi import msg

from ..errors import Errors
from ..output.console import echo, number, percent
from ..studies.trials.study import TrialOptions
from ..studies.tuning.parameters import cannot_search
from ..studies.tuning.search import best_of, create_search
from .app import METHOD_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table
from .options import Minutes, Output, Retry, Seed, Set, Steps, read_settings


@app.command(rich_help_panel=METHOD_PANEL)
def tune(
    corpus: Corpus,
    config: Annotated[Path, Option("--config", help="Config to start from.")],
    searched: Annotated[
        list[str],
        Option(
            "--search",
            help="Setting to search: SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C. Repeatable.",
        ),
    ],
    output: Output = Path("training/tune"),
    trials: Annotated[int, Option(min=1, help="Total number of trials, including the baseline.")] = 20,
    steps: Steps = None,
    settings: Set = None,
    seed: Seed = 0,
    minutes: Minutes = None,
    retry_failed: Retry = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check the search and list its settings without running it.")
    ] = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Search for the values with the best macro F1 on dev, and write the best config.

    The first trial is the baseline. Unpromising trials are stopped early. The same command resumes
    a search. After --retry-failed, or larger --minutes, later trials may get other values.
    --seed is the random seed of the search, system.seed that of the trainings.
    """
    given = dict(read_settings(settings))
    if steps is not None:
        if "training.max_steps" in given:
            raise cannot_search(
                "--steps and --set training.max_steps set the same value.", "Use --steps only."
            )
        given["training.max_steps"] = steps
    search = create_search(config, given, searched, corpus, output, seed)
    names = [parameter.name for parameter in search.parameters]
    if dry_run:
        search.check()
        ranges = [
            {"name": p.name, "range": p.text, "baseline": str(p.baseline)} for p in search.parameters
        ]
        if as_json:
            return print_json({"parameters": ranges})
        print_table(("parameter", "range", "baseline"), [tuple(row.values()) for row in ranges], "lll")
        return echo(f"{number(trials, 'trial')} of {number(search.steps, 'step')}")
    tried = search.run(trials, TrialOptions(gpu_id=gpu_id, minutes=minutes, retry_failed=retry_failed))
    best = best_of(tried)
    if best is None:
        reason = (tried[-1].error or tried[-1].status).strip().rstrip(".")
        raise ValueError(
            Errors.L487.format(
                problem=f"no trial has finished. The last one: {reason}.",
                fix="Remove that cause, and add --retry-failed.",
            )
        )
    written = search.write_best(tried, best)
    if as_json:
        return print_json(
            {
                "trials": [trial._asdict() for trial in tried],
                "best": best.number,
                "config": str(written),
            }
        )
    rows = [
        (
            trial.number,
            *(str(trial.values[name]) for name in names),
            percent(trial.score),
            trial.status,
            ", ".join(["baseline"] * trial.is_baseline + ["best"] * (trial.number == best.number)),
        )
        for trial in tried
    ]
    print_table(("trial", *names, "macro, dev", "ended", ""), rows, "r" * (len(names) + 2) + "ll")
    return msg.good(f"Wrote {written}")
