"""Listeners: layers that take the rows of an encoder in another component."""

from thinc.api import Model


def listener_in(model: Model) -> str | None:
    """The name of a listener anywhere in a model, spaCy's or a transformer's; None for none.

    They share no base class: spaCy, spacy-transformers and spacy-curated-transformers have one each.
    """
    return next((node.name for node in model.walk() if "listener" in node.name), None)
