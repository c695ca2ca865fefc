"""`longtail_sentence_gate`: finds the sentences that hold an entity of a rare type."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, SpanGroup
from spacy.training import Example
from spacy.util import logger
from thinc.api import Config, Model, set_dropout_rate
from thinc.types import Floats2d

from ..errors import Errors
from ..examples import holds, sentence_lengths
from ..settings import finite
from ..types import WEAK_SENTENCES
from .declared import check_known, check_labels

WHO = "longtail_sentence_gate"

DEFAULTS: dict[str, Any] = Config().from_str("""
[pipe]
threshold = 0.5
weak_weight = null
spans_key = "weak_sentences"

[pipe.model]
@architectures = "longtail.SentenceGate.v1"
reduction = "max"
hidden_width = 64

[pipe.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 64
depth = 2
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true

[pipe.scorer]
@scorers = "longtail.gate_scorer.v1"
""")["pipe"]


@Language.factory(
    WHO,
    assigns=["doc.spans"],
    requires=["doc.sents"],
    default_config=DEFAULTS,
    default_score_weights={"weak_sents_f": 0.0, "weak_sents_p": 0.0, "weak_sents_r": 0.0},
)
def make_sentence_gate(
    nlp: Language,
    name: str,
    model: Model,
    weak_labels: list[str],
    threshold: float,
    weak_weight: float | None,
    spans_key: str,
    scorer: Callable | None,
) -> "SentenceGate":
    """A classifier that flags the sentences with an entity of a rare type.

    model (Model[List[Doc], Floats2d]): One logit a sentence, such as longtail.SentenceGate.v1.
    weak_labels (List[str]): The rare types.
    threshold (float): Least probability of a flagged sentence, 0 to 1.
    weak_weight (Optional[float]): Weight w1 of sentences with a rare type in the cross-entropy,
        the others weigh 1 - w1; null takes the swapped priors of the counts corpus.
    spans_key (str): Key in doc.spans for the flagged sentences; attrs["scores"] are their probabilities.
    scorer (Optional[Callable]): The scoring function.
    RAISES (ValueError): L001, L204.
    """
    if not weak_labels:
        raise ValueError(Errors.L204.format(setting="weak_labels", who=WHO, found=weak_labels))
    threshold = finite("threshold", threshold, "between 0 and 1", "0.5 is neutral.", 0.0, 1.0)
    if weak_weight is not None:
        fix = "null takes it from the corpus."
        weak_weight = finite("weak_weight", weak_weight, "between 0 and 1", fix, 0.0, 1.0)
    return SentenceGate(
        nlp.vocab,
        model,
        name,
        weak_labels=list(weak_labels),
        threshold=threshold,
        weak_weight=weak_weight,
        spans_key=spans_key,
        scorer=scorer,
    )


class SentenceGate(TrainablePipe):
    """Scores every sentence and keeps the flagged ones in doc.spans.

    Trained with the weighted binary cross-entropy (METHODS section 8); the loss column shows the
    summed loss of all sentences in nats. A document without sentence boundaries is one sentence.
    """

    def __init__(
        self,
        vocab: Any,
        model: Model,
        name: str = WHO,
        *,
        weak_labels: list[str],
        threshold: float = 0.5,
        weak_weight: float | None = None,
        spans_key: str = WEAK_SENTENCES,
        scorer: Callable | None = None,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg: dict[str, Any] = {
            "weak_labels": weak_labels,
            "threshold": threshold,
            "weak_weight": weak_weight,
            "spans_key": spans_key,
        }
        self.scorer = scorer

    @property
    def labels(self) -> tuple[str, ...]:
        """The rare types that open the gate."""
        return tuple(self.cfg["weak_labels"])

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
        """Initialize the model, and the class weight from the counts corpus.

        get_examples (Callable): The training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): What `init labels` wrote; must be the pipe's own `weak_labels`.
        counts_corpus (Optional[Callable]): A reader of the untouched training data.
        RAISES (ValueError): L004 without weak_weight and counts_corpus; L203, L205, L212.
        """
        check_labels(labels, self.labels, WHO)
        if counts_corpus is None and self.cfg["weak_weight"] is None:
            raise ValueError(Errors.L004.format(who=WHO, preset="swapped priors", name=self.name))
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        self._count(seen())
        sample = [eg.predicted for eg in islice(seen(), 10)]
        self.model.initialize(X=sample)

    def _count(self, examples: Iterable[Example]) -> None:
        """Check the rare types against the data and set the swapped priors."""
        weak_labels = set(self.labels)
        known: set[str] = set()
        n_weak = n_all = 0
        for eg in examples:
            known.update(ent.label_ for ent in eg.reference.ents)
            bounds = np.cumsum(sentence_lengths(eg.reference))
            flags = np.zeros(len(bounds), dtype=bool)
            for ent in eg.reference.ents:
                if ent.label_ in weak_labels:
                    flags[np.searchsorted(bounds, ent.start, side="right")] = True
            n_weak += int(flags.sum())
            n_all += len(flags)
        if not n_weak:
            raise ValueError(Errors.L205.format(who=WHO, labels=", ".join(self.labels)))
        check_known("weak_labels", weak_labels, known, WHO)
        if self.cfg["weak_weight"] is None:
            self.cfg["weak_weight"] = 1 - n_weak / n_all
        logger.info(
            "%s: %d of %d sentences hold %s; weight of these %.4f, of others %.4f",
            self.name,
            n_weak,
            n_all,
            ", ".join(self.labels),
            self.cfg["weak_weight"],
            1 - self.cfg["weak_weight"],
        )

    def predict(self, docs: Iterable[Doc]) -> Floats2d:
        """The probability of each sentence of all documents, in order. (n_sentences, 1)"""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return self.model.ops.alloc2f(0, 1)
        return self.model.ops.sigmoid(self.model.predict(docs))

    def set_annotations(self, docs: Iterable[Doc], scores: Floats2d) -> None:
        """Keep the flagged sentences in doc.spans[spans_key], with their probabilities."""
        flat = self.model.ops.to_numpy(scores).ravel()
        n_seen = 0
        for doc in docs:
            ends = np.cumsum(sentence_lengths(doc))
            own = flat[n_seen : n_seen + len(ends)]
            n_seen += len(ends)
            flagged = np.flatnonzero(own >= self.cfg["threshold"])
            spans = [doc[int(ends[i - 1]) if i else 0 : int(ends[i])] for i in flagged]
            group = SpanGroup(doc, name=self.cfg["spans_key"], spans=spans)
            group.attrs["scores"] = [float(own[i]) for i in flagged]
            doc.spans[self.cfg["spans_key"]] = group

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch. A shared encoder always gets its gradient, zeros included."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        if not any(len(eg.predicted) for eg in examples):
            return losses
        set_dropout_rate(self.model, drop)
        logits, backprop = self.model.begin_update([eg.predicted for eg in examples])
        loss, d_logits = self.get_loss(examples, logits)
        backprop(d_logits)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Floats2d) -> tuple[float, Floats2d]:
        """Weighted binary cross-entropy on the logits, summed over sentences, and its gradient.

        SOURCE: Nguyen, Nguyen & Rao 2020, eq. 5, with the priors swapped (METHODS section 8).
        """
        xp = self.model.ops.xp
        truth, known = (self.model.ops.asarray2f(a) for a in self._truth(list(examples)))
        w1 = self.cfg["weak_weight"]
        weight = known * (w1 * truth + (1 - w1) * (1 - truth))
        s = self.model.ops.sigmoid(scores)
        log_p = -xp.logaddexp(0, xp.where(truth > 0, -scores, scores))
        loss = float(-(weight * log_p).sum())
        if not np.isfinite(loss):
            raise ValueError(Errors.L007.format(who=self.name, loss=loss, n_rows=len(truth)))
        return loss, weight * (s - truth)

    def _truth(self, examples: list[Example]) -> tuple[np.ndarray, np.ndarray]:
        """Per predicted sentence: 1 if a gold rare type stands in it, and 1 if it is annotated."""
        truth, known = [], []
        weak_labels = set(self.labels)
        for eg in examples:
            ends = np.cumsum(sentence_lengths(eg.predicted))
            flags, seen = np.zeros(len(ends)), np.ones(len(ends))
            if holds(eg.reference, weak_labels):
                for ent in eg.reference.ents:
                    if ent.label_ in weak_labels:
                        tokens = eg.alignment.y2x[ent.start : ent.end]
                        flags[np.searchsorted(ends, tokens, side="right")] = 1.0
            missing = eg.reference.to_array("ENT_IOB") == 0
            if missing.any():
                y2x = eg.alignment.y2x
                tokens = y2x.data[np.repeat(missing, y2x.lengths)]
                n_missing = np.bincount(np.searchsorted(ends, tokens, side="right"), minlength=len(ends))
                seen = ((n_missing < np.diff(ends, prepend=0)) | (flags > 0)).astype(float)
            truth.append(flags)
            known.append(seen)
        return np.concatenate(truth)[:, None], np.concatenate(known)[:, None]
