"""Write configs/*.cfg from base.cfg, choices.yml and recipes.yml of `spacy_longtail.studies.trials`."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_longtail.studies.trials.recipes import read_recipes, render

ROOT = Path(__file__).parents[1]


def main(
    folder: Annotated[Path, typer.Argument(help="Where the configs are.")] = ROOT / "configs",
    check: Annotated[
        bool, typer.Option("--check", help="Fail if a config is not what its recipe makes.")
    ] = False,
) -> None:
    """Write the configs of all recipes."""
    made = {f"{name}.cfg": render(name, recipe) for name, recipe in read_recipes().items()}
    found = {path.name: path.read_text(encoding="utf8") for path in folder.glob("*.cfg")}
    if unknown := sorted(set(found) - set(made)):
        msg.fail(f"No recipe of recipes.yml makes {', '.join(unknown)}.", exits=1)
    changed = [name for name, text in made.items() if found.get(name) != text]
    if check and changed:
        msg.fail(
            f"Not what their recipes make: {', '.join(changed)}. Run: python scripts/configs.py", exits=1
        )
    for name in changed:
        (folder / name).write_text(made[name], encoding="utf8")
    msg.good(f"{len(made)} configs, {len(changed)} of them new")


if __name__ == "__main__":
    typer.run(main)
