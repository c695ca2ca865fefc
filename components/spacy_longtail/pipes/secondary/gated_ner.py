"""`longtail_gated_ner`: secondary NER for rare types in sentences that a gate flags."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, Optimizer

from ...corpus.examples import flagged_sentences, sentences_with
from ...corpus.labels import declared_types
from ...errors import Errors
from ...heads import Gold, HeadName
from ...layers.listeners import check_listened, listener_in
from ...losses import Loss
from ...readers.base import Reader
from ...sentences import has_boundaries, sentence_lengths
from ...types import ENTITY_SCORES, WEAK_SENTENCES
from ..base import factory
from ..gate.flagging import flagged_parts, within
from ..gate.learning import warn_of_whole_documents, with_boundaries
from ..label_checks import AUTO, check_known, check_labels, check_types
from ..neighbours import boundary_setters, check_secondary, gate_types
from ..scores.merging import check_merging
from ..scores.spans import ScoredSpan
from ..scores.thresholding import check_judging, judge
from ..token.describing import check_described
from ..token.tagging import DEFAULT_TOKEN_MODEL, Predictions, TokenTagger
from ..token.token_model import check_head
from .flagged import cut_flagged, in_document, merge_by_score, places_of

WHO = "longtail_gated_ner"


class GatedNER(TokenTagger):
    """Token NER for rare types that runs on flagged sentences and is merged with the primary NER.

    Entity score: mean probability of its tags. The loss column has the loss summed over tokens.

    model (Model[List[Doc], Ragged]): Tag logits: longtail.TokenClassifier.v1 or
        longtail.DescribedTypes.v1. With an encoder of its own it reads single sentences. With a
        listener it reads whole documents, of which all but those sentences are masked.
    labels (Union[List[str], str]): The rare types to learn, all others are O; "auto" is the gate's.
    head, loss, describe: As for longtail_token_ner.
    merge (str): "span" lets the more probable of two overlapping entities win, "token" the more
        probable tag of each token. Both need a primary with entity scores. "fill" adds entities
        only where the primary has none.
    spans_key (Optional[str]): Key in doc.spans that holds the flagged sentences; null trains and
        predicts on all sentences, without a gate.
    scores_key (Optional[str]): Key in doc.spans of scored entities: the primary's, then the merged.
    thresholds, abstain_key, head_rate: As for longtail_ner; thresholds are those before merging.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Nguyen, Nguyen & Rao 2020; "token" is their eq. 8-9, spans_key = null their "Double".
    """

    who = WHO
    is_secondary = True
    samples_training = False

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model,
        labels: list[str] | str = AUTO,
        head: HeadName = "softmax",
        loss: Loss | None = None,
        merge: Literal["span", "token", "fill"] = "span",
        spans_key: str | None = WEAK_SENTENCES,
        scores_key: str | None = ENTITY_SCORES,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        head_rate: float = 1.0,
        describe: Callable | None = None,
        scorer: Callable | None = None,
    ) -> None:
        if labels != AUTO or spans_key is None:
            check_types("labels", labels, WHO)
        check_merging(merge, scores_key, WHO)
        scheme = "BIO" if head == "two_task" else "BILUO"
        trained_with = check_head(head, loss, scheme, model, WHO)
        if trained_with.reads_soft:
            raise ValueError(
                Errors.L002.format(
                    who=WHO,
                    loss=loss,
                    reason="it trains on soft targets, which need all sentences",
                    fix="Set loss to its 'base'.",
                )
            )
        check_described(model, WHO, describe=describe)
        super().__init__(
            nlp,
            model,
            name,
            loss=trained_with,
            scorer=scorer,
            head_rate=head_rate,
            describe=describe,
            include=[],
            labels=labels if isinstance(labels, str) else list(labels),
            head=head,
            scheme=scheme,
            merge=merge,
            spans_key=spans_key,
            **check_judging(
                thresholds, abstain_key, scores_key, WHO, spans_key=spans_key, is_scored=True
            ),
        )
        # saved, because `nlp.replace_listeners` must not change it
        self.cfg["reads_documents"] = listener_in(self.model) is not None
        self._has_gradient = False
        self._sets_boundaries = False  # whether a component before this one does
        if labels != AUTO:
            self._set_labels(labels)

    @property
    def _reads_all(self) -> bool:
        """Return whether it trains on whole documents, which a shared encoder needs."""
        return self.cfg["spans_key"] is None or self.cfg["reads_documents"]

    def _set_labels(self, labels: Collection[str] | str) -> None:
        types = check_types("labels", labels, WHO)
        self.cfg["include"] = list(types)
        self.tokens.set_types(types, self.name)

    def _settle_types(
        self, mentioned: list[str], nlp: Language | None, labels: list[str] | None
    ) -> Collection[str]:
        if self.cfg["labels"] == AUTO:  # whatever was found before
            types = gate_types(nlp, self, self.cfg["spans_key"], WHO) if labels is None else labels
            self._set_labels(types)
        else:  # weights of an earlier training are forgotten
            self._set_labels(self.labels)
        if nlp is not None:
            check_secondary(nlp, self, WHO)
            self._sets_boundaries = bool(boundary_setters(nlp, self))
        check_labels(labels, self.labels, WHO)
        self.cfg["reads_documents"] = listener_in(self.model) is not None
        known = {*mentioned, *declared_types(nlp)}
        check_known("labels", self.labels, known, WHO)
        return known

    def _learnt_from(self, reader: Reader, nlp: Language) -> list[Example]:
        if self.cfg["spans_key"] is None:
            return list(reader(nlp))
        return sentences_with(with_boundaries(reader(nlp), nlp, self), set(self.labels))

    def predict(self, docs: Iterable[Doc]) -> Predictions:
        """Return the entities of each document's flagged sentences, with their scores."""
        docs = list(docs)
        flagged = [flagged_parts(doc, self.cfg["spans_key"], self.name) for doc in docs]
        spans: list[list[ScoredSpan]] = [[] for _ in docs]
        if not any(flagged):
            return Predictions(spans)
        if self._reads_all:
            read = {i: docs[i] for i, parts in enumerate(flagged) if parts}
            check_listened(self, list(read.values()))
            for i, ents in zip(read, self._entities(list(read.values())), strict=True):
                spans[i].extend(ent._replace(is_secondary=True) for ent in within(ents, flagged[i]))
        else:
            places = places_of(flagged)
            for place, ents in zip(places, self._entities(cut_flagged(docs, places)), strict=True):
                spans[place.doc].extend(in_document(ents, place))
        return Predictions(spans)

    def _entities(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        return self.tokens.entities(docs, self.model.predict(docs), with_scores=True, beside=False)

    def set_annotations(self, docs: Iterable[Doc], scores: Predictions) -> None:
        """Merge entities into doc.ents; documents without any stay as they are."""
        for doc, spans in zip(docs, scores.entities, strict=True):
            kept = judge(doc, spans, self.cfg, self.name)
            merge_by_score(doc, kept, self.cfg["merge"], self.cfg["scores_key"])

    def update(
        self, examples: Iterable[Example], *, losses: dict[str, float] | None = None, **settings: Any
    ) -> dict[str, float]:
        """Train on the sentences with a rare type; a batch without any changes nothing."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        has_gate = self.cfg["spans_key"] is not None
        if has_gate:
            unbounded = [  # else it learns from the gold sentences
                eg for eg in examples if self.cfg["reads_documents"] or not has_boundaries(eg.reference)
            ]
            warn_of_whole_documents(unbounded, self._sets_boundaries, self.name)
        if self._reads_all:
            is_rare = (flagged_sentences(eg, self.labels).any() for eg in examples)
            self._has_gradient |= not has_gate or any(is_rare)
        else:
            examples = [eg for eg in sentences_with(examples, set(self.labels)) if len(eg.predicted)]
            self._has_gradient |= bool(examples)
        if not examples:
            return losses
        return super().update(examples, losses=losses, **settings)

    def gold(self, examples: list[Example]) -> Gold:
        """Return the gold tags; a shared encoder's are masked in sentences without a rare type."""
        gold = super().gold(examples)
        if not self._reads_all or self.cfg["spans_key"] is None:
            return gold
        lengths = np.concatenate([sentence_lengths(eg.predicted) for eg in examples])
        flags = np.concatenate([flagged_sentences(eg, self.labels) for eg in examples])
        return gold._replace(mask=gold.mask * np.repeat(flags, lengths).astype(gold.mask.dtype))

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, unless there was no rare type: momentum would move the weights."""
        if self._has_gradient:
            super().finish_update(sgd)
            self._has_gradient = False


make_gated_ner = factory(WHO, "secondary", model=DEFAULT_TOKEN_MODEL)(GatedNER)
