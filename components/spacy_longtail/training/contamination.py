"""Whether a pretrained encoder has seen the sentences that models are scored on."""

import warnings
from functools import lru_cache
from pathlib import Path

from spacy.util import dict_to_dot
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
    parts = tuple(path for name in ("dev", "test") if (path := part_path(corpus, name)).exists())
    blocks = (config.get(name, {}) for name in ("components", "initialize"))
    values = {str(value) for block in blocks for value in dict_to_dot(block).values()}
    for folder in sorted(filter(_lists_seen, values)):
        if (share := _share(folder, parts)) > MOST:
            shown = {"path": folder, "corpus": corpus, "share": f"{100 * share:.0f} %"}
            warnings.warn(Warnings.W103.format(**shown), stacklevel=3)


def _lists_seen(value: str) -> bool:
    """Whether a setting is a folder that lists the sentences it was pretrained on."""
    if not value or "\n" in value or "\0" in value:
        return False
    try:
        return (located(value) / FILE).is_file()
    except OSError:  # a text that is too long for a path
        return False


@lru_cache(maxsize=64)
def _share(folder: str, parts: tuple[Path, ...]) -> float:
    """As `seen_share`, once for all methods of a plan."""
    return seen_share(Path(folder), parts)
