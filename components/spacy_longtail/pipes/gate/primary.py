"""Settings of the NER before a posterior gate, which must write its probabilities."""

from typing import Any

from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.util import registry

from ..neighbours import components_before, is_secondary, settings_of
from ..scores.probabilities import SETTING
from ..transition.actions import has_action_probabilities

STOCK, OURS = "ner", "longtail_ner"  # factories of transition-based NERs


def ask_for_probabilities(nlp: Language, primary: str | None, pipe: object = None) -> str | None:
    """Let the primary of a posterior gate write its probabilities to the Doc.

    A stock `ner` cannot write any, so a longtail_ner of the same weights takes its place in the
    pipeline. It finds the same entities, and without a loss it learns as `ner` does.

    nlp (Language): The pipeline; a component and its config are changed in place.
    primary (Optional[str]): Name of the component; null is the last that can write some.
    pipe (object): The gate that comes after the component; null searches the whole pipeline.
    RETURNS (Optional[str]): Name of the component; null if no such component can write any.
    """
    before = components_before(nlp, pipe)
    writers = [n for n, other in before.items() if _can_write_probabilities(nlp, n, other)]
    name = next((n for n in reversed(writers) if primary in (None, n)), None)
    if name is not None:
        if nlp.get_pipe_meta(name).factory == STOCK:
            _replace_stock_ner(nlp, name)
        for settings in (settings_of(nlp.get_pipe(name)), nlp.get_pipe_config(name)):
            settings[SETTING] = True
    return name


def _can_write_probabilities(nlp: Language, name: str, pipe: object) -> bool:
    if is_secondary(pipe):  # it reads flagged sentences alone
        return False
    can_be_asked = SETTING in settings_of(pipe)
    if isinstance(pipe, EntityRecognizer):
        is_stock = nlp.get_pipe_meta(name).factory == STOCK
        return (can_be_asked or is_stock) and has_action_probabilities(pipe)
    return can_be_asked


def _replace_stock_ner(nlp: Language, name: str) -> None:
    """Put a longtail_ner that shares model and types with a stock `ner` in its place.

    `nlp.replace_pipe` cannot do this: it builds a new model from the config, whose variables have
    no values yet while a pipeline is loaded.
    """
    stock: Any = nlp.get_pipe(name)
    meta = nlp.get_factory_meta(OURS)
    ours = registry.factories.get(OURS)(
        nlp=nlp,
        name=name,
        model=stock.model,
        moves=stock.moves,
        scorer=stock.scorer,
        update_with_oracle_cut_size=stock.cfg["update_with_oracle_cut_size"],
        incorrect_spans_key=stock.cfg["incorrect_spans_key"],
    )
    ours.cfg["moves"] = stock.cfg["moves"]  # what is saved: null where they come from the data
    nlp._components[nlp.component_names.index(name)] = (name, ours)
    nlp._pipe_meta[name] = meta
    config = nlp.get_pipe_config(name)
    defaults = meta.default_config or {}
    config.update({**defaults, **config, "factory": OURS})
