"""Whose data is inside a pipeline beside its own corpus: `sources` in meta.json, as in spaCy."""

from collections.abc import Mapping, Sequence
from typing import Any

from spacy.language import Language

Source = dict[str, str] | str  # name, url, author, license; or a text


def sources_of(meta: Mapping[str, Any]) -> list[Source]:
    """What a pipeline's meta.json says; one text is one source."""
    sources = meta.get("sources") or []
    return [sources] if isinstance(sources, str) else list(sources)


def add_sources(nlp: Language, more: Sequence[Source]) -> None:
    """Add what has come into a pipeline, each source once; it is saved with it."""
    for source in more:
        if source not in (sources := sources_of(nlp.meta)):
            nlp.meta["sources"] = [*sources, source]
