"""`longtail_gated_ner`: the secondary NER, for rare types, on the sentences that the gate flags."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Literal

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..errors import Errors
from ..examples import sentences_with
from ..layers import listener_in
from ..settings import finite
from ..types import ENTITY_SCORES, WEAK_SENTENCES, TwoTaskState
from .declared import check_known, check_labels
from .merging import merge_into
from .scores import ScoredSpan, write_scores
from .tagging import DEFAULT_TOKEN_MODEL, TokenTagger, check_head
from .weighting import Reader, resolve_classes

WHO = "longtail_gated_ner"

DEFAULTS: dict[str, Any] = {
    "head": "softmax",
    "loss": None,
    "merge": "span",
    "min_weak_score": 0.0,
    "spans_key": WEAK_SENTENCES,
    "scores_key": ENTITY_SCORES,
    "model": DEFAULT_TOKEN_MODEL,
    "scorer": {"@scorers": "longtail.ner_scorer.v1", "prefix": "weak_ents"},
}


@Language.factory(
    WHO,
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    requires=["doc.spans"],
    default_config=DEFAULTS,
    default_score_weights={"weak_ents_f": 0.0, "weak_ents_p": 0.0, "weak_ents_r": 0.0},
)
def make_gated_ner(
    nlp: Language,
    name: str,
    model: Model,
    labels: list[str],
    head: str,
    loss: Callable | None,
    merge: Literal["span", "fill"],
    min_weak_score: float,
    spans_key: str,
    scores_key: str | None,
    scorer: Callable | None,
) -> "GatedNER":
    """A token NER for rare types that runs on flagged sentences and merges with the primary NER.

    model (Model[List[Doc], Ragged]): Tag logits with an encoder of its own: longtail.TokenClassifier.v1.
    labels (List[str]): The rare types to learn; all others are O.
    head (str): As for longtail_token_ner.
    loss (Optional[TagLoss]): As for longtail_token_ner; null is the default of the head.
    merge (str): "span" lets the more probable of two overlapping entities win, and needs a primary
        with entity scores; "fill" adds entities only where the primary has none.
    min_weak_score (float): Least score of an entity of the secondary, 0 to 1.
    spans_key (str): Key in doc.spans that holds the flagged sentences.
    scores_key (Optional[str]): Key in doc.spans with the entities and their scores, of the primary
        before, of the merged result after.
    scorer (Optional[Callable]): The scoring function.
    RAISES (ValueError): L001, L002, L003, L204, L206, L207, L211, L216.
    """
    if not labels:
        raise ValueError(Errors.L204.format(setting="labels", who=WHO, found=labels))
    if merge == "span" and scores_key is None:
        raise ValueError(Errors.L207.format(who=WHO, key=ENTITY_SCORES))
    scheme = "BIO" if head == "two_task" else "BILUO"
    trained_with = check_head(head, loss, scheme, model, WHO)
    if found := listener_in(model):
        raise ValueError(Errors.L206.format(who=WHO, layer=found))
    score = finite("min_weak_score", min_weak_score, "between 0 and 1", "0 keeps all.", 0.0, 1.0)
    return GatedNER(
        nlp.vocab,
        model,
        name,
        loss=trained_with,
        scorer=scorer,
        labels=list(labels),
        head=head,
        scheme=scheme,
        merge=merge,
        min_weak_score=score,
        spans_key=spans_key,
        scores_key=scores_key,
    )


class GatedNER(TokenTagger):
    """Trains on the single sentences that hold a rare type, predicts on those the gate flagged.

    Entity score: mean probability of the entity's tags. The loss column shows the summed loss of all
    tokens, in the loss's unit.
    """

    def __init__(
        self, vocab: Any, model: Model, name: str = WHO, *, labels: list[str], **settings: Any
    ) -> None:
        super().__init__(vocab, model, name, types=[], include=list(labels), **settings)
        self.set_types(labels)
        self._has_gradient = False

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        counts_corpus: Callable | None = None,
    ) -> None:
        """Initialize the model; check the types against the data and the pipes before this one.

        get_examples (Callable): The training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): What `init labels` wrote; must be the pipe's own `labels`.
        counts_corpus (Optional[Callable]): A reader of the untouched training data, for class weights
            and to check the types; null checks them against the training examples.
        RAISES (ValueError): L004, L005, L203, L207, L210, L212.
        """
        check_labels(labels, self.labels, WHO)
        if nlp is not None:
            self._check_pipeline(nlp)
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        known: set[str] = set()
        for eg in seen():
            known.update(ent.label_ for ent in eg.reference.ents)
        check_known("labels", self.labels, known, WHO)
        self.cfg["class_values"] = resolve_classes(
            self.loss,
            self.labels,
            self.codec.prefixes,
            reader=None if counts_corpus is None else partial(self._learnt_from, counts_corpus),
            nlp=nlp,
            name=self.name,
            who=WHO,
        )
        self._build_head()
        self.cfg["state"] = TwoTaskState()._asdict()
        sample = [eg.predicted for eg in islice(seen(), 10)]
        self.model.initialize(X=sample)
        self._check_model(sample)

    def _learnt_from(self, reader: Reader, nlp: Language) -> list[Example]:
        """The sentences of a corpus that this pipe would train on: its class counts come from these."""
        return sentences_with(reader(nlp), set(self.labels))

    def _check_pipeline(self, nlp: Language) -> None:
        before = [pipe for name, pipe in nlp.pipeline[: nlp.pipe_names.index(self.name)]]
        cfgs = [getattr(pipe, "cfg", {}) for pipe in before]
        gate_key, scores_key = self.cfg["spans_key"], self.cfg["scores_key"]
        gates = [cfg.get("spans_key") for cfg in cfgs] + [getattr(pipe, "key", None) for pipe in before]
        if gate_key not in gates:
            raise ValueError(Errors.L210.format(who=WHO, key=gate_key))
        if self.cfg["merge"] == "span" and scores_key not in [c.get("scores_key") for c in cfgs]:
            raise ValueError(Errors.L207.format(who=WHO, key=scores_key))

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """The entities of each document's flagged sentences, with their scores."""
        docs = list(docs)
        found: list[list[ScoredSpan]] = [[] for _ in docs]
        flagged = [
            (i, span)
            for i, doc in enumerate(docs)
            for span in doc.spans.get(self.cfg["spans_key"], ())
            if len(span)
        ]
        if not flagged:
            return found
        sentences = [span.as_doc() for _, span in flagged]
        for doc in sentences:
            doc.set_ents([], default="missing")  # the primary's entities are for the merge
        scores = self.model.predict(sentences)
        for (i, span), own in zip(flagged, self.entities(sentences, scores, True), strict=True):
            for ent in own:
                if ent.score >= self.cfg["min_weak_score"]:
                    at = ent.start + span.start, ent.end + span.start
                    found[i].append(ent._replace(start=at[0], end=at[1], weak=True))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Merge the found entities into doc.ents; the entities of other documents stay as they are."""
        key = self.cfg["scores_key"]
        for doc, weak in zip(docs, scores, strict=True):
            if weak:
                merge_into(doc, weak, self.cfg["merge"], key)
            if key is not None and key not in doc.spans:
                write_scores(doc, key, [])

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from the batch's sentences with a rare type; a batch without any changes nothing."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        sentences = [eg for eg in sentences_with(examples, set(self.labels)) if len(eg.predicted)]
        if not sentences:
            return losses
        self._has_gradient = True
        return super().update(sentences, drop=drop, sgd=sgd, losses=losses)

    def finish_update(self, sgd: Any) -> None:
        """Step the optimizer, unless no rare type came by: its momentum would move the weights."""
        if self._has_gradient:
            super().finish_update(sgd)
            self._has_gradient = False
