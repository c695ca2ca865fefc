"""What `spacy debug data` skips for this package's factories: a corpus, and a config against it."""

from collections.abc import Iterator
from pathlib import Path

from ...corpus.folder import read_types
from ...corpus.statistics.columns import Words
from ...corpus.statistics.corpus import described_corpus
from ...corpus.statistics.tallies import PartTally, present_parts, read_parts
from ...types import Overrides
from .checks import Check
from .config_checks import check_config
from .data_checks import DATA_CHECKS, Counted
from .oddities import Forms, Oddities
from .token_checks import TokenizedParts, check_tokens


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
    counted = count_oddities(corpus)
    for checked in DATA_CHECKS:
        yield from checked(counted)
    yield from check_tokens(TokenizedParts(read_types(corpus), present_parts(corpus)))
    if config is not None:
        yield from check_config(config, corpus, counted.found, overrides, update)


def count_oddities(corpus: Path) -> Counted:
    """Read every part of a corpus once, for all checks.

    corpus (Path): A folder that `convert` wrote.
    RETURNS (Counted): The statistics, and what is odd.
    """
    types, words, paths = read_types(corpus), Words(), present_parts(corpus)
    forms = Forms(words)
    tallies = {part: PartTally() for part in paths}
    oddities = {part: Oddities() for part in paths}
    for part, batch, table in read_parts(paths, words):
        tallies[part].add(batch, table, words)
        oddities[part].add(batch, table, forms)
    return Counted(described_corpus(corpus, types, tallies), oddities)
