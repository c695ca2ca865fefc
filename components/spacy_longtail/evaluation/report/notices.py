"""Whose work is inside a pipeline beside its owner's, and the notice that belongs to every copy."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from spacy import util

from ...layers.senses import WORDNET
from ...pipes.sources import Source
from ...types import NET_SUFFIX
from .rendering import render

NOTICES = "LICENSES_SOURCES"  # where `spacy package` looks for them
SOURCE: Source = {  # as spaCy's pipelines name theirs in meta.json
    "name": "WordNet 3.0",
    "url": "https://wordnet.princeton.edu",
    "author": "Princeton University",
    "license": "WordNet License",
}


def knows_wordnet(model: Path) -> bool:
    """Whether a pipeline's folder, or a pipeline inside it, holds senses of Princeton's WordNet.

    Senses from a folder are somebody else's wordnet, whose terms are not known here.

    model (Path): The pipeline. RETURNS (bool): By what its configs embed.
    """
    configs = (util.load_config(path, interpolate=False) for path in sorted(model.rglob("config.cfg")))
    found = (senses for own in configs for senses in _senses(own))
    return any(senses == WORDNET or senses.endswith(NET_SUFFIX) for senses in found)


def _senses(block: Mapping[str, object]) -> Iterator[str]:
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from _senses(value)
        elif key == "senses" and isinstance(value, str):
            yield value


def with_notice(text: str) -> str:
    """A pipeline's notices with WordNet's among them, once. text (str): Those it has."""
    notice = render("wordnet.txt")
    return text if notice.strip() in text else f"{text.rstrip()}\n\n{notice}".lstrip()


def others(sources: Sequence[Source]) -> list[dict[str, str]]:
    """What a pipeline was learnt from beside its corpus and WordNet.

    sources (Sequence[Dict | str]): Of its meta.json. RETURNS (List[Dict]): name, and url, license.
    """
    return [{"name": own} if isinstance(own, str) else own for own in sources if own != SOURCE]
