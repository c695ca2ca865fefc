"""Sentence boundaries for documents that were converted without any."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from .cutting import bare
from .formats.context import Events
from .formats.options import bad_option
from .formats.text import Place
from .tokenizers import blank

SENTENCIZER = "sentencizer"  # spaCy's component
BATCH = 64  # documents


def boundary_pipeline(boundaries: str | Language, lang: str, tokens: str) -> Language:
    """Return the pipeline that sets sentence boundaries, after a trial on a few words.

    boundaries (Union[str, Language]): "sentencizer", or a pipeline.
    lang (str): Language code.
    tokens (str): "words" or "characters".
    RAISES (ValueError): L581, if the pipeline sets no boundaries.
    """
    nlp = boundaries if isinstance(boundaries, Language) else blank(lang, tokens)
    if nlp is not boundaries:
        nlp.add_pipe(SENTENCIZER)
    (probe,) = nlp.pipe([Doc(nlp.vocab, words=["This", "ends", ".", "That", "begins", "."])])
    if not probe.has_annotation("SENT_START"):
        names = ", ".join(nlp.pipe_names) or "none"
        raise bad_option(
            "sentences",
            f"{nlp.lang}_{nlp.meta['name']}",
            f"its components set no sentence boundaries, found {names}",
        )
    return nlp


def with_boundaries(docs: Iterable[Doc], nlp: Language, path: Path, events: Events) -> Iterator[Doc]:
    """Yield documents with sentence boundaries; documents that have some keep their own.

    nlp (Language): Returned by `boundary_pipeline`. It gets the words of a document, not its
        entities.
    path (Path): Path that events name, with the document's number.
    events (Events): Counts entities across a boundary, which is dropped.
    """
    for batch in minibatch(enumerate(docs, 1), BATCH):
        unbounded = [(i, doc) for i, doc in batch if not doc.has_annotation("SENT_START")]
        copies = (bare(doc, nlp.vocab) for _, doc in unbounded)
        for (i, doc), parsed in zip(unbounded, nlp.pipe(copies), strict=True):
            starts = parsed.to_array(SENT_START).astype("int64") == 1
            starts[:1] = True
            for ent in doc.ents:
                inner = slice(ent.start + 1, ent.end)
                if starts[inner].any():
                    events.add("joined", ent.label_, Place(path, i), f"{ent.label_} {ent.text!r}")
                    starts[inner] = False
            doc.from_array([SENT_START], np.where(starts, 1, -1).astype("uint64").reshape(-1, 1))
        yield from (doc for _, doc in batch)
