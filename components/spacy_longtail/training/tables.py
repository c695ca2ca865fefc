"""What a saved pipeline has read from files, for a training of its config: they may be gone since."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from thinc.api import Config, Model

from ..describers import HashedDescriptions
from ..encoders import META
from ..hub import SAVED_TABLES
from ..types import Overrides
from .loading import load_pipeline

RICH = "longtail.RichEmbed.v1"
HELD = {"cluster_prefixes": "clusters", "subword_vectors": "subwords"}  # attribute by layer


def tables_beside(path: Path, config: Config) -> Overrides:
    """The overrides with which a saved pipeline's config trains again without its files.

    path (Path): Of the config. config (Config): Not interpolated.
    """
    is_saved = path.with_name(META).is_file() and RICH in config.to_str(interpolate=False)
    if not is_saved or config.get("initialize", {}).get("before_init") is not None:
        return {}
    return {"initialize.before_init": {"@callbacks": SAVED_TABLES, "path": str(path.parent)}}


def without_tables(config: Config) -> None:
    """Undo `tables_beside` in the config of a pipeline that was trained with it."""
    block = config["initialize"].get("before_init") or {}
    if block.get("@callbacks") == SAVED_TABLES:
        config["initialize"]["before_init"] = None


def create_saved_tables(path: str) -> Callable[[Language], Language]:
    """For [initialize] before_init: take the tables that a saved pipeline holds, and read no files.

    Tables are word clusters and vectors of subwords. One is taken where both configs name the
    same source for it.

    path (str): The folder of the pipeline.
    RETURNS (Callable[[Language], Language]): Changes the pipeline, and returns it.
    """

    def take(nlp: Language) -> Language:
        saved = load_pipeline(path)
        found = {(node.name, node.attrs["source"]): node for node in _layers(saved) if node.name in HELD}
        for node in _layers(nlp):
            own = found.get((node.name, node.attrs.get("source")))
            if own is not None:
                for name in {HELD[node.name], "lang"} & set(node.attrs):
                    node.attrs[name] = own.attrs[name]
        for _, pipe in nlp.pipeline:
            describe = getattr(pipe, "describe", None)
            if isinstance(describe, HashedDescriptions):
                own = found.get(("cluster_prefixes", describe.clusters))
                if own is not None and len(own.attrs["clusters"].paths):
                    describe.__dict__["_table"] = own.attrs["clusters"]  # as the cached property does
        return nlp

    return take


def _layers(nlp: Language) -> Iterator[Model]:
    for _, pipe in nlp.components:
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            yield from model.walk()
