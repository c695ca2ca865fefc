"""Write configs/ from the recipes of `spacy_longtail.studies.configs`."""

from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer
from thinc.api import Config
from wasabi import msg

from spacy_longtail.studies.configs.commented import WIDTH
from spacy_longtail.studies.configs.recipes import FILES, format_recipe, make_config, read_recipes

ROOT = Path(__file__).parents[1]
# configs that commands and workflows of project.yml train; the command `recipe` trains all others
TOPS = ("components", "corpora", "training")  # sections whose blocks tell configs apart
COMMANDS = ("baseline", "pretrained_cnn", "config", "transformer")


def render(name: str) -> str:
    """Return the text of a recipe's config."""
    recipe = read_recipes()[name]
    config = make_config(recipe)
    train = f"spacy train configs/{name}.cfg --paths.train ... --paths.dev ... {recipe.options}".rstrip()
    command = f"recipe . --vars.recipe {name} {recipe.options.replace('--paths.', '--vars.')}".rstrip()
    use = [
        "Train it:",
        f"  {train}",
        "or, with the paths filled in:",
        f"  weasel run {name if name in COMMANDS else command}",
        "The paths and rare types are those of Field Notes. For your corpus, write this config with",
        f"`longtail init-config {name}`, or override them, as in --longtail.tail '[\"SHIP\"]'.",
    ]
    if other := ", ".join(different(config, make_config(read_recipes()["baseline"]))):
        use += wrap(f"Blocks that baseline.cfg does not have, or has with other values: {other}.", WIDTH)
    return format_recipe(recipe, config, "\n".join(use))


def different(config: Config, base: Config) -> list[str]:
    """Return the names of the blocks that another config lacks or has with other values."""
    blocks = ((f"{top}.{name}", top, name) for top in TOPS for name in config[top])
    return [full for full, top, name in blocks if config[top][name] != base[top].get(name)]


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
