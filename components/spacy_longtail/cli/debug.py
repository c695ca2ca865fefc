"""`debug`: what is wrong with a corpus, or with a config for it."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..training.debugging import Check, debug_corpus
from .app import CORPUS_PANEL, Code, Corpus, Json, app, config_overrides, print_json
from .boundary import FAILED

N_SHOWN = 200  # characters of a text, unless --verbose


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    rich_help_panel=CORPUS_PANEL,
)
def debug(
    context: typer.Context,
    corpus: Corpus,
    config: Annotated[Path | None, typer.Option(help="A config to check against the corpus.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="With --config: initialize, and train one batch.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-V", help="Print long texts whole.")] = False,
    code: Code = None,
    as_json: Json = False,
) -> None:
    """Check a corpus, and a config for it. Exit code 1 if something fails. Config values can follow."""
    overrides = config_overrides(context)
    if config is None and (update or overrides):
        name = "update" if update else next(iter(overrides))
        raise ValueError(Errors.L420.format(name=name, problem="it is about a config: name --config"))
    checks = list(debug_corpus(corpus, config, overrides=overrides, update=update))
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        _print_checks(checks, verbose)
    if any(check.level == "fail" for check in checks):
        raise typer.Exit(FAILED)


def _print_checks(checks: list[Check], verbose: bool) -> None:
    section = ""
    for check in checks:
        if check.section != section:
            section = check.section
            msg.divider(section)
        text = check.text
        if not verbose and len(text) > N_SHOWN:
            text = f"{text[:N_SHOWN]} ..."
        getattr(msg, check.level)(text)
    counts = {level: sum(check.level == level for check in checks) for level in ("fail", "warn", "good")}
    msg.divider("Summary")
    msg.text(", ".join(f"{n} {level}" for level, n in counts.items()))
