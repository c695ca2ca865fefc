"""What is wrong with a corpus, or with a config for it: what `spacy debug data` skips."""

from collections.abc import Iterator
from pathlib import Path

from ...types import Overrides
from .config import check_config
from .data import Check, check_data, count_corpus

__all__ = ["Check", "debug_corpus"]


def debug_corpus(
    corpus: Path, config: Path | None = None, *, overrides: Overrides | None = None, update: bool = False
) -> Iterator[Check]:
    """Check a corpus and, if there is one, a config for it.

    corpus (Path): A folder that `convert` wrote.
    config (Optional[Path]): A config of any factories, filled in from the corpus as by `train`.
    overrides (Optional[Overrides]): Config values by dotted name.
    update (bool): Whether to initialize the pipeline of the config and make one update.
    YIELDS (Check): Level (info, good, warn, fail), section and text, section by section.
    """
    counted = count_corpus(corpus)
    yield from check_data(counted)
    if config is not None:
        yield from check_config(config, corpus, counted.statistics, overrides, update)
