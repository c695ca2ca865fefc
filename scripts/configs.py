"""Write configs/ from the recipes of `spacy_longtail.studies.trials`."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_longtail.studies.trials.recipes import FILES, make_config, read_recipes, written

ROOT = Path(__file__).parents[1]
# configs that commands and workflows of project.yml train; the command `recipe` trains all others
COMMANDS = ("baseline", "pretrained_cnn", "config", "transformer")


def render(name: str) -> str:
    """Return the text of a recipe's config."""
    recipe = read_recipes()[name]
    train = f"spacy train configs/{name}.cfg --paths.train ... --paths.dev ... {recipe.options}".rstrip()
    command = f"recipe . --vars.recipe {name} {recipe.options.replace('--paths.', '--vars.')}".rstrip()
    use = f"`{train}`; `weasel run {name if name in COMMANDS else command}` fills in the paths."
    other = (
        "For a corpus other than Field Notes, add its rare types, as in `--longtail.tail '[\"SHIP\"]'`, "
        "and `--longtail.labels` if not all types of the data count."
    )
    return written(recipe, make_config(recipe), f"Complete: {use}\n{other}")


def main(
    root: Annotated[Path, typer.Argument(help="Folder that has configs/.")] = ROOT,
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a config differs from what its recipe makes.")
    ] = False,
) -> None:
    """Write the configs that are files."""
    made = {root / "configs" / f"{name}.cfg": render(name) for name in FILES}
    if unknown := sorted({*(root / "configs").rglob("*.cfg")} - set(made)):
        msg.fail(f"No recipe makes {', '.join(map(str, unknown))}.", exits=1)
    written_now = {path: path.read_text(encoding="utf8") if path.is_file() else "" for path in made}
    changed = [path for path, text in made.items() if written_now[path] != text]
    if check and changed:
        names = ", ".join(path.name for path in changed)
        msg.fail(f"Not what their recipes make: {names}. Run: python scripts/configs.py", exits=1)
    for path in changed:
        path.write_text(made[path], encoding="utf8")
    msg.good(f"{len(made)} configs, {len(changed)} of them new")


if __name__ == "__main__":
    typer.run(main)
