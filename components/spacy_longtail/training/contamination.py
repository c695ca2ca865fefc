"""Whether what a config begins with has seen the sentences that its models are scored on."""

import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from thinc.api import Config

from ..corpus.folder import part_path
from ..corpus.seen import FILE, MOST, seen_share
from ..encoders import located
from ..errors import Warnings

SCORED = ("dev", "test")


def warn_seen(config: Config, corpus: Path) -> None:
    """Warn of an encoder that was pretrained on the parts of a corpus that models are scored on.

    config (Config): Interpolated; an encoder is a folder that a component or [initialize] begins with.
    corpus (Path): A folder that `convert` wrote.
    """
    named = {name: config.get(name, {}) for name in ("components", "initialize")}
    for folder in sorted(set(_texts(named))):
        if not _remembers(folder):
            continue
        parts = [path for part in SCORED if (path := part_path(corpus, part)).exists()]
        share = _share(folder, tuple((path, _changed(path)) for path in parts))
        if share > MOST:
            shown = {"path": folder, "corpus": corpus, "share": f"{100 * share:.0f} %"}
            warnings.warn(Warnings.W103.format(**shown), stacklevel=3)


def _texts(block: Mapping[str, object]) -> Iterator[str]:
    """The values of a config that may name a folder."""
    for value in block.values():
        if isinstance(value, Mapping):
            yield from _texts(value)
        elif isinstance(value, str) and value and "\n" not in value and "\0" not in value:
            yield value


def _remembers(folder: str) -> bool:
    """Whether a folder says what was read; a text that can be no path is none."""
    try:
        return (located(folder) / FILE).is_file()
    except OSError:  # too long for a path
        return False


def _changed(path: Path) -> int:
    """When a file, or one of a folder, was last changed."""
    return max(own.stat().st_mtime_ns for own in (path, *path.rglob("*.spacy")))


@lru_cache(maxsize=64)
def _share(folder: str, parts: tuple[tuple[Path, int], ...]) -> float:
    """As `seen_share`, once for all methods of a plan. parts: Files, and when they were changed."""
    return seen_share(Path(folder), [path for path, _ in parts])
