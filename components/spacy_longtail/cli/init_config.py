"""Command `init-config`: writes one of the package's configs."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option
from wasabi import msg

from ..corpus.folder import read_types
from ..errors import Errors
from ..output.console import echo
from ..output.targets import check_file
from ..output.writing import write_file
from ..studies.configs.recipes import (
    choose_transformer,
    corpus_config,
    format_recipe,
    named_recipe,
    read_recipes,
)
from ..training.provenance import shell_path
from .app import TRAINING_PANEL, app, print_table


def _print_list(wanted: bool) -> None:
    if wanted:
        print_table(
            ["name", "what it trains"],
            [(name, first_sentence(recipe.comment)) for name, recipe in read_recipes().items()],
            "ll",
        )
        raise Exit


def first_sentence(comment: str) -> str:
    """Return the first sentence of a recipe's comment.

    comment (str): The comment, whose lines are joined.
    RETURNS (str): The sentence with its full stop.
    """
    return f"{' '.join(comment.split()).removesuffix('.').partition('. ')[0]}."


@app.command("init-config", rich_help_panel=TRAINING_PANEL)
def init_config(
    name: Annotated[str, Argument(help="Name of a config, or an unambiguous start of one.")],
    output: Annotated[Path, Option("--output", "-o", help="File for the config.")],
    corpus: Annotated[
        Path | None,
        Option(help="Folder of a converted corpus, to fill in paths and types for `spacy train`."),
    ] = None,
    force: Annotated[bool, Option("--force", "-F", help="Replace an existing file.")] = False,
    listed: Annotated[
        bool, Option("--list", help="List the configs and exit.", callback=_print_list, is_eager=True)
    ] = False,
) -> None:
    """Write one of the package's configs, complete, for `longtail train` or `spacy train`."""
    recipe = named_recipe(name)
    check_file(output)
    if output.exists() and not force:
        raise ValueError(Errors.L437.format(path=output, problem="it exists and --force is not set"))
    if corpus is not None and "transformer" in recipe.options:
        recipe = choose_transformer(recipe, read_types(corpus).lang)
    needed = f" {recipe.options}" if recipe.options else ""
    use = (
        f"longtail train {shell_path(output)} {shell_path(corpus) if corpus else 'CORPUS'} "
        f"OUTPUT{needed}"
    )
    if corpus is not None:
        use = f"{use}` or `spacy train {shell_path(output)} --output OUTPUT{needed}"
    write_file(output, format_recipe(recipe, corpus_config(recipe, corpus), f"Train it with `{use}`."))
    msg.good(f"{output}: {first_sentence(recipe.comment)}")
    echo(f"Train it with: {use.replace('`', '')}")
    if corpus is None:
        echo("`longtail train` fills in paths and types. `spacy train` needs them: give --corpus.")
