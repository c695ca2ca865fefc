"""What a component listens to, where another encoder has written over it since."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

ROWS = ("doc.tensor", "doc._.trf_data")  # where encoders leave what their listeners read


@contextmanager
def own_rows(nlp: Language, pipe: object, docs: list[Doc], before: object = None) -> Iterator[None]:
    """Give documents back, for a while, the rows that a component listened to.

    Two encoders of a pipeline write to one place, so that a component that reads documents again, after
    both, would read the rows of the second. Where they may be, the first encoder runs again.

    nlp (Language): The pipeline. pipe (object): A component. docs (List[Doc]): Documents that it has
        processed. before (object): The component that has not processed them yet; null if all have.
    """
    upstream, place = _overwritten(nlp, pipe, before)
    if upstream is None or not any(map(len, docs)):
        yield
        return
    owners: list[Any] = [doc if place == ROWS[0] else doc._ for doc in docs]
    name = place.rpartition(".")[2]
    kept = [getattr(owner, name) for owner in owners]
    upstream.set_annotations(docs, upstream.model.predict(docs))
    try:
        yield
    finally:
        for owner, rows in zip(owners, kept, strict=True):
            setattr(owner, name, rows)


def _overwritten(nlp: Language, pipe: object, before: object) -> tuple[Any, str]:
    """The encoder that a component listens to, if another one after it writes to the same place, and
    the place. Disabled ones count: they may have run.
    """
    own, is_over = dict(nlp.components), False
    upstream, place = None, ""
    for name, other in takewhile(lambda row: row[1] is not before, nlp.components):
        assigned = nlp.get_pipe_meta(name).assigns
        if any(own.get(n) is pipe for n in getattr(other, "listening_components", ())):
            upstream, is_over = other, False
            place = next((rows for rows in ROWS if rows in assigned), "")
        elif place in assigned:
            is_over = True
    return (upstream, place) if is_over else (None, "")
