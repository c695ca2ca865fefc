"""Write configs/ and configs/papers/ from the recipes of `spacy_longtail.studies.trials`."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_longtail.studies.trials.recipes import Recipe, config_path, make_config, read_recipes, written

ROOT = Path(__file__).parents[1]
# the recipes that commands and workflows of project.yml train; `recipe` trains all others
COMMANDS = ("baseline", "pretrained_cnn", "config", "transformer")


def render(name: str, recipe: Recipe) -> str:
    """The text of a recipe's config."""
    path, options = config_path(name), recipe.options.replace("--paths.", "--vars.")
    train = f"spacy train {path} --paths.train ... --paths.dev ... {recipe.options}".rstrip()
    folder = "--vars.folder configs/papers " if "/papers/" in path else ""
    command = f"recipe . --vars.recipe {name} {folder}{options}".rstrip()
    use = f"`{train}`; `weasel run {name if name in COMMANDS else command}` fills in the paths."
    return written(recipe, make_config(recipe), f"Complete: {use}")


def main(
    root: Annotated[Path, typer.Argument(help="The folder of configs/.")] = ROOT,
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a config is not what its recipe makes.")
    ] = False,
) -> None:
    """Write the configs of all recipes."""
    made = {config_path(name): render(name, recipe) for name, recipe in read_recipes().items()}
    found = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf8")
        for path in (root / "configs").rglob("*.cfg")
    }
    if unknown := sorted(set(found) - set(made)):
        msg.fail(f"No recipe of recipes.yml makes {', '.join(unknown)}.", exits=1)
    changed = [name for name, text in made.items() if found.get(name) != text]
    if check and changed:
        msg.fail(
            f"Not what their recipes make: {', '.join(changed)}. Run: python scripts/configs.py", exits=1
        )
    for name in changed:
        (root / name).write_text(made[name], encoding="utf8")
    msg.good(f"{len(made)} configs, {len(changed)} of them new")


if __name__ == "__main__":
    typer.run(main)
