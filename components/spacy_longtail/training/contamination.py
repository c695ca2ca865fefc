"""Whether what a config begins with has seen the sentences that its models are scored on."""

import warnings
from pathlib import Path

from thinc.api import Config

from ..corpus.folder import part_path
from ..corpus.seen import MOST, seen_share
from ..errors import Warnings

SCORED = ("dev", "test")


def warn_seen(config: Config, corpus: Path) -> None:
    """Warn of an encoder that was pretrained on the parts of a corpus that models are scored on.

    config (Config): Interpolated; an encoder is a folder that [paths] names.
    corpus (Path): A folder that `convert` wrote.
    """
    parts = [part_path(corpus, part) for part in SCORED]
    for value in config.get("paths", {}).values():
        if isinstance(value, str) and value and (share := seen_share(Path(value), parts)) > MOST:
            shown = {"path": value, "corpus": corpus, "share": f"{100 * share:.0f} %"}
            warnings.warn(Warnings.W103.format(**shown), stacklevel=3)
