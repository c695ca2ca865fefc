"""F1 of a pretraining on the development part of each donor, among its own types."""

from typing import Any, cast

from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import get_array_module
from thinc.types import Ragged

from ...chains.tags import ILLEGAL
from ...corpus.cutting import bare
from ...pipes.token_ner import TokenNER
from ...scorers import make_ner_scorer
from .donors import Donor
from .records import DonorScore

BATCH = 64  # documents


def score_donors(nlp: Language, donors: list[Donor]) -> list[DonorScore]:
    """Score each donor on its development sentences; other donors' types are not predicted there."""
    return [_score(nlp, donor) for donor in donors]


def _score(nlp: Language, donor: Donor) -> DonorScore:
    labels = list(donor.descriptions)
    examples = []
    for start in range(0, len(donor.dev), BATCH):
        gold = donor.dev[start : start + BATCH]
        docs = [bare(doc) for doc in gold]
        predict_types(nlp, docs, labels)
        examples += [Example(doc, reference) for doc, reference in zip(docs, gold, strict=True)]
    scores = make_ner_scorer(labels)(examples) if examples else {"ents_f": 0.0, "ents_macro_f": 0.0}
    micro, macro = scores["ents_f"], scores["ents_macro_f"]
    return DonorScore(name=donor.name, micro=micro, macro=macro, sentences=len(examples))


def predict_types(nlp: Language, docs: list[Doc], labels: list[str]) -> None:
    """Write the entities of some of a pipeline's types into documents.

    nlp (Language): With a longtail_token_ner called "ner". docs (List[Doc]): Without entities.
    labels (List[str]): The types that may be predicted.
    """
    ner = cast(TokenNER, nlp.get_pipe("ner"))
    for name in nlp.pipe_names[: nlp.pipe_names.index("ner")]:
        docs = list(cast(Pipe, nlp.get_pipe(name)).pipe(docs))
    scores: Any = ner.model.predict(docs)
    logits: Ragged = ner.head.logits(scores)
    xp = get_array_module(logits.dataXd)
    logits.dataXd[:, xp.asarray(ner.codec.columns(labels)) == 0] = ILLEGAL
    for doc, found in zip(docs, ner.entities(docs, scores, False), strict=True):
        doc.set_ents([Span(doc, ent.start, ent.end, label=ent.label) for ent in found])
