"""Components of a pipeline that write entities, and the token NERs among them."""

from typing import Any

from spacy.language import Language

from ..heads import SOFT_HEADS
from ..pipes.gazetteer import TrainingGazetteer
from ..pipes.secondary.gated_ner import GatedNER
from ..pipes.token.tagging import TokenTagger


def entity_pipes(nlp: Language) -> list[Any]:
    """Return the components of a pipeline that write entities."""
    return [pipe for name, pipe in nlp.pipeline if "doc.ents" in nlp.get_pipe_meta(name).assigns]


def types_read_by(nlp: Language) -> list[str]:
    """Return the types of all components of a pipeline that write entities."""
    return list(dict.fromkeys(t for pipe in entity_pipes(nlp) for t in getattr(pipe, "labels", ())))


def taggers_of(nlp: Language) -> list[TokenTagger]:
    """Return the token NERs that process every sentence, so without secondaries."""
    return [p for _, p in nlp.pipeline if isinstance(p, TokenTagger) and not isinstance(p, GatedNER)]


def only_tagger(nlp: Language) -> TokenTagger | None:
    """Return the token NER that alone writes entities, or None if the pipeline is not of this kind.

    A gazetteer of training names does not count, because the token NER has learnt these names.
    """
    taggers = [tagger for tagger in taggers_of(nlp) if tagger.cfg["head"] in SOFT_HEADS]
    pipes = [pipe for pipe in entity_pipes(nlp) if not isinstance(pipe, TrainingGazetteer)]
    return taggers[0] if taggers and len(pipes) == 1 else None
