"""Sources of a pipeline's data besides its own corpus: `sources` in meta.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from spacy.language import Language

Source = dict[str, str] | str  # name, url, author, license; or a text


def sources_of(meta: Mapping[str, Any]) -> list[Source]:
    """Return the sources in a pipeline's meta.json, where a single text is one source."""
    sources = meta.get("sources") or []
    return [sources] if isinstance(sources, str) else list(sources)


def add_sources(nlp: Language, more: Sequence[Source]) -> None:
    """Add sources to a pipeline's meta data, each once. They are saved with the pipeline."""
    for source in more:
        if source not in (sources := sources_of(nlp.meta)):
            nlp.meta["sources"] = [*sources, source]
