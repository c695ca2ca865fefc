"""Whether a pretrained encoder has seen the sentences that models are scored on."""

import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from thinc.api import Config

from ..corpus.folder import part_path
from ..corpus.seen import FILE, MOST, seen_share
from ..encoders import located
from ..errors import Warnings


def warn_seen(config: Config, corpus: Path) -> None:
    """Warn of an encoder that was pretrained on the parts of a corpus that models are scored on.

    config (Config): Interpolated. An encoder is a folder that a component or [initialize] names.
    corpus (Path): A folder that `convert` wrote.
    """
    parts = [path for name in ("dev", "test") if (path := part_path(corpus, name)).exists()]
    changed = tuple((path, _changed(path)) for path in parts)
    blocks = {name: config.get(name, {}) for name in ("components", "initialize")}
    for folder in sorted(set(_encoders(blocks))):
        if (share := _share(folder, changed)) > MOST:
            shown = {"path": folder, "corpus": corpus, "share": f"{100 * share:.0f} %"}
            warnings.warn(Warnings.W103.format(**shown), stacklevel=3)


def _encoders(block: Mapping[str, object]) -> Iterator[str]:
    """Folders named anywhere in a block that list the sentences they were pretrained on."""
    for value in block.values():
        if isinstance(value, Mapping):
            yield from _encoders(value)
        elif isinstance(value, str) and value and "\n" not in value and "\0" not in value:
            try:
                if (located(value) / FILE).is_file():
                    yield value
            except OSError:  # a text that is too long for a path
                continue


def _changed(path: Path) -> int:
    """When a file, or one of a folder, was last changed."""
    return max(file.stat().st_mtime_ns for file in (path, *path.rglob("*.spacy")))


@lru_cache(maxsize=64)
def _share(folder: str, parts: tuple[tuple[Path, int], ...]) -> float:
    """As `seen_share`, once for all methods of a plan. parts: Files, and when they were changed."""
    return seen_share(Path(folder), [path for path, _ in parts])
