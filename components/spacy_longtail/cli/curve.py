"""`curve` and `imbalance`: methods by the size of the training data, by its share of entity tokens."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..studies.matrix import Question
from ..studies.matrix.forecasts import TARGET
from ..studies.trials.mentions import default_sizes
from ..studies.trials.plan import presets
from ..studies.trials.run import Options
from ..unlabelled.outcome import read_lift
from .app import METHOD_PANEL, Code, Corpus, GpuId, Json, app, names_in
from .matrix import run_plan
from .trial_options import (
    DryRun,
    KeepModels,
    Minutes,
    Output,
    Retry,
    Set,
    Steps,
    Storage,
    Workers,
    read_numbers,
)

METHODS, MENTIONS = "paper-auc", "mentions"  # plans
SIZES = "20,50,100,200,500,1000"
Methods = Annotated[
    str, typer.Option("--plan", help=f"Methods: a YAML file, or a preset of {', '.join(presets())}.")
]
Partitions = Annotated[int, typer.Option(min=1, help="Seeded draws of each; six or more can be tested.")]


ByMentions = Annotated[
    str | None,
    typer.Option(
        help="Types, separated by commas: draw mentions of each, keep all other data, and say how many"
        " mentions --target takes."
    ),
]
Target = Annotated[
    float | None,
    typer.Option(help="With --by-mentions: F1 in percent.", show_default=f"{100 * TARGET:g}"),
]
Mined = Annotated[
    Path | None,
    typer.Option(
        "--mine",
        help="With --by-mentions: folder of a `mine --simulate` on this corpus, for what labels cost.",
    ),
]


@app.command(rich_help_panel=METHOD_PANEL)
def curve(
    corpus: Corpus,
    output: Output = Path("training/curve"),
    plan: Annotated[
        str | None,
        typer.Option(
            help=f"Methods: a YAML file, or a preset of {', '.join(presets())}.",
            show_default=f"{METHODS}; with --by-mentions {MENTIONS}",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Training sentences; with --by-mentions mentions.",
            show_default=f"{SIZES}; of mentions 5, 10, 20 and so on, and all",
        ),
    ] = None,
    by_mentions: ByMentions = None,
    target: Target = None,
    mined: Mined = None,
    partitions: Partitions = 5,
    steps: Steps = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Learning curves: methods on the first N of shuffled training sentences, dev and test whole.

    With --by-mentions on all sentences but those with more mentions of a type; a fitted curve then
    says what more mentions would bring. Draws of one partition nest, and all methods get the same ones.
    Finished trials are skipped.
    """
    options = Options(workers, gpu_id, storage, minutes, keep_models, retry_failed)
    given: dict[str, object] = {"partitions": partitions, "steps": steps, "corpora": [str(corpus)]}
    numbers = None if sizes is None else read_numbers("--sizes", sizes, int)
    question = None
    if by_mentions is None:
        given["sizes"] = numbers or read_numbers("--sizes", SIZES, int)
        for name, value in (("target", target), ("mine", mined)):
            if value is not None:
                raise ValueError(Errors.L535.format(name=name))
    else:
        labels = list(dict.fromkeys(names_in(by_mentions)))
        if not labels:
            raise typer.BadParameter("--by-mentions takes types such as EVE,ART, found none.")
        given["mentions"] = {t: numbers or default_sizes(corpus, t) for t in labels}
        question = _question(target, mined, corpus, labels)
    plan = plan or (METHODS if by_mentions is None else MENTIONS)
    run_plan(plan, given, settings, output, options, dry_run, as_json, question=question)


def _question(target: float | None, mined: Path | None, corpus: Path, labels: list[str]) -> Question:
    """What is asked. RAISES (ValueError): L402, L430, L508, L534, L536."""
    if target is not None and not 0 < target <= 100:
        raise ValueError(Errors.L534.format(target=target))
    lift = None if mined is None else read_lift(mined, corpus, labels)
    return Question(TARGET if target is None else target / 100, lift)


@app.command(rich_help_panel=METHOD_PANEL)
def imbalance(
    corpus: Corpus,
    output: Output = Path("training/imbalance"),
    plan: Methods = METHODS,
    shares: Annotated[
        str, typer.Option(help="Percent of the training tokens that are in entities.")
    ] = "1,2,5,10,20",
    sentences: Annotated[int, typer.Option(min=1, help="Training sentences of each draw.")] = 100,
    partitions: Partitions = 5,
    steps: Steps = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Methods on training data in which entities have a given share of the tokens, dev and test whole.

    All draws have the same number of sentences. Finished trials are skipped.
    """
    found = [percent / 100 for percent in read_numbers("--shares", shares, float)]
    given = {"shares": found, "n_sentences": sentences, "partitions": partitions, "steps": steps}
    options = Options(workers, gpu_id, storage, minutes, keep_models, retry_failed)
    run_plan(plan, {**given, "corpora": [str(corpus)]}, settings, output, options, dry_run, as_json)
