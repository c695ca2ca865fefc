"""`longtail_gated_ner`: the secondary NER, for rare types, on the sentences that the gate flags."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, SpanGroup
from spacy.training import Example
from thinc.api import Config, Model, set_dropout_rate
from thinc.types import Ragged

from ..errors import Errors
from ..examples import sentences_with
from ..losses import CrossEntropy
from ..losses.weights import finite
from ..numerics import logsumexp, viterbi
from ..tags import TagCodec
from ..types import ENTITY_SCORES, WEAK_SENTENCES, GoldLoss
from .declared import check_known, check_labels
from .merging import ScoredSpan, merge_into
from .weighting import Reader, check_loss, resolve_weights

WHO = "longtail_gated_ner"
HEADS = ("softmax",)

DEFAULTS: dict[str, Any] = Config().from_str("""
[pipe]
head = "softmax"
loss = null
merge = "span"
min_weak_score = 0.0
spans_key = "weak_sentences"
scores_key = "entity_scores"

[pipe.model]
@architectures = "longtail.TokenClassifier.v1"
nO = null

[pipe.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true

[pipe.scorer]
@scorers = "longtail.ner_scorer.v1"
prefix = "weak_ents"
""")["pipe"]


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
    head (str): "softmax", decoded over legal tag sequences only.
    loss (Optional[GoldLoss]): A loss on token logits; null is cross-entropy.
    merge (str): "span" lets the more probable of two overlapping entities win, and needs a primary
        with entity scores; "fill" adds entities only where the primary has none.
    min_weak_score (float): Least score of an entity of the secondary, 0 to 1.
    spans_key (str): Key in doc.spans that holds the flagged sentences.
    scores_key (Optional[str]): Key in doc.spans with the entities and their scores, of the primary
        before, of the merged result after.
    scorer (Optional[Callable]): The scoring function.
    RAISES (ValueError): L001, L003, L204, L206, L207, L211.
    """
    if not labels:
        raise ValueError(Errors.L204.format(setting="labels", who=WHO, found=labels))
    if head not in HEADS:
        raise ValueError(Errors.L211.format(found=head, who=WHO, known=", ".join(HEADS)))
    if merge == "span" and scores_key is None:
        raise ValueError(Errors.L207.format(who=WHO, key=ENTITY_SCORES))
    gold_loss = check_loss(loss, WHO)
    for layer in model.walk():
        if "listener" in layer.name:
            raise ValueError(Errors.L206.format(who=WHO, layer=layer.name))
    return GatedNER(
        nlp.vocab,
        model,
        name,
        labels=list(labels),
        loss=CrossEntropy() if gold_loss is None else gold_loss,
        merge=merge,
        min_weak_score=finite(
            "min_weak_score", min_weak_score, "between 0 and 1", "0 keeps all.", 0.0, 1.0
        ),
        spans_key=spans_key,
        scores_key=scores_key,
        scorer=scorer,
    )


class GatedNER(TrainablePipe):
    """Trains on the single sentences that hold a rare type, predicts on those the gate flagged.

    Entity score: mean probability of the entity's tags. The loss column shows the summed loss of all
    tokens in nats.
    """

    def __init__(
        self,
        vocab: Any,
        model: Model,
        name: str = WHO,
        *,
        labels: list[str],
        loss: GoldLoss,
        merge: str = "span",
        min_weak_score: float = 0.0,
        spans_key: str = WEAK_SENTENCES,
        scores_key: str | None = ENTITY_SCORES,
        scorer: Callable | None = None,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.loss = loss
        self.cfg: dict[str, Any] = {
            "labels": labels,
            "merge": merge,
            "min_weak_score": min_weak_score,
            "spans_key": spans_key,
            "scores_key": scores_key,
            "class_weights": None,
        }
        self.scorer = scorer
        self._has_gradient = False
        self.codec = TagCodec(tuple(labels), "BILUO")
        self.legality = self.codec.legality()
        output = model.get_ref("output_layer")
        if output.has_dim("nO") is None:
            output.set_dim("nO", len(self.codec))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

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
        self.cfg["class_weights"] = resolve_weights(
            self.loss,
            self.labels,
            self.codec.prefixes,
            reader=None if counts_corpus is None else partial(self._learnt_from, counts_corpus),
            nlp=nlp,
            name=self.name,
            who=WHO,
        )
        sample = [eg.predicted for eg in islice(seen(), 10)]
        self.model.initialize(X=sample)

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
        logits = self.model.predict([span.as_doc() for _, span in flagged])
        scores, tags = self._decode(logits)
        start = 0
        for i, span in flagged:
            own = tags[start : start + len(span)]
            for ent in self.codec.decode(own):
                score = float(scores[start + ent.start : start + ent.end].mean())
                if score >= self.cfg["min_weak_score"]:
                    at = span.start + ent.start
                    found[i].append(ScoredSpan(at, span.start + ent.end, ent.label, score, True))
            start += len(span)
        return found

    def _decode(self, logits: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """The probability of the chosen tag of each token, and the tag. (n_tokens,) both."""
        ops = self.model.ops
        data = logits.dataXd
        log_p = data - logsumexp(data)
        legal = [ops.asarray(a) for a in self.legality]
        tags = viterbi(log_p, logits.lengths, legal[0], legal[1], legal[2])
        chosen = ops.xp.exp(log_p[ops.xp.arange(len(tags)), tags])
        return ops.to_numpy(chosen), ops.to_numpy(tags)

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Merge the found entities into doc.ents; the entities of other documents stay as they are."""
        key = self.cfg["scores_key"]
        for doc, weak in zip(docs, scores, strict=True):
            if weak:
                merge_into(doc, weak, self.cfg["merge"], key)
            if key is not None and key not in doc.spans:
                doc.spans[key] = SpanGroup(doc, name=key, attrs={"scores": []})

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
        set_dropout_rate(self.model, drop)
        logits, backprop = self.model.begin_update([eg.predicted for eg in sentences])
        loss, d_logits = self.get_loss(sentences, logits)
        backprop(d_logits)
        self._has_gradient = True
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def finish_update(self, sgd: Any) -> None:
        """Step the optimizer, unless no rare type came by: its momentum would move the weights."""
        if self._has_gradient:
            super().finish_update(sgd)
            self._has_gradient = False

    def get_loss(self, examples: Iterable[Example], scores: Ragged) -> tuple[float, Ragged]:
        """Summed loss and gradient on the logits of single sentences.

        examples (Iterable[Example]): One sentence each. scores (Ragged): Their logits.
        """
        ops = self.model.ops
        gold, mask = self.codec.gold([eg.get_aligned_ner() for eg in examples])
        loss = self.loss
        if self.cfg["class_weights"] is not None:
            loss = loss.bind(ops.asarray1f(self.codec.weights(self.cfg["class_weights"])))
        result = loss(scores.dataXd, ops.asarray2f(gold), ops.asarray1f(mask), scores.lengths)
        n_tokens = float(mask.sum())
        total = result.loss * n_tokens
        if not np.isfinite(total):
            raise ValueError(Errors.L007.format(who=self.name, loss=total, n_rows=len(mask)))
        return total, Ragged(result.d_logits * n_tokens, scores.lengths)
