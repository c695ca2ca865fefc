"""Write a tiny trained pipeline of each component, and what it finds, for this version.

Run it once a release, in the repository's root, with all extras: python -m scripts.fixtures. Later
versions must read these pipelines and find the same (tests/contracts/test_saved_pipelines.py), so
the folder of a version is never written again.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from spacy.lang.en import English
from wasabi import msg

from spacy_longtail.about import __version__

MOST_KB = 1500  # of all pipelines of a version


def main(
    folder: Annotated[Path, typer.Argument(help="Gets a folder of the version's name.")] = Path(
        "tests/fixtures/pipelines"
    ),
    only: Annotated[str, typer.Option(help="Pipelines whose names begin so.")] = "",
) -> None:
    """Train and save all pipelines, or none."""
    target = folder / __version__
    if target.exists():
        msg.fail(
            f"{target} is there: what a version saved stays as it was.",
            "Raise the version in about.py first, or name another folder.",
            exits=1,
        )
    English.Defaults.tokenizer_exceptions = {}  # 70 KB in each pipeline
    from tests.contracts.saved import SAVED, can_save

    found = {name: save for name, save in can_save().items() if name.startswith(only)}
    if len(found) < len(SAVED) and not only:
        msg.fail("Not all components can be had here. Install the extra 'test'.", exits=1)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        made = Path(name) / __version__
        made.mkdir()
        for pipeline, save in found.items():
            save(made / pipeline)
            msg.text(f"{size_kb(made / pipeline):4.0f} KB  {pipeline}")
        if size_kb(made) > MOST_KB:
            msg.fail(f"{size_kb(made):.0f} KB are more than {MOST_KB}: make models smaller.", exits=1)
        made.rename(target)
    msg.good(f"{len(found)} pipelines, {size_kb(target):.0f} KB, in {target}")


def size_kb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1024


if __name__ == "__main__":
    typer.run(main)
