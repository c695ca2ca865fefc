"""Whose data is inside a pipeline beside its own corpus: `sources` in meta.json, as spaCy has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from spacy.language import Language

Source = dict[str, str] | str  # name, url, author, license; or a text


def sources_of(meta: Mapping[str, Any]) -> list[Source]:
    """What a pipeline's meta.json says; one text is one source."""
    found = meta.get("sources") or []
    return [found] if isinstance(found, str) else list(found)


def add_sources(nlp: Language, more: Sequence[Source]) -> None:
    """Add what has come into a pipeline, each source once; it is saved with it."""
    sources = sources_of(nlp.meta)
    for source in more:
        if source not in sources:
            sources.append(source)
            nlp.meta["sources"] = sources
