"""`longtail_sentence_gate`: finds the sentences with an entity of a rare type."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import ClassVar, Literal

from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, Optimizer
from thinc.types import Floats2d

from ...aliases import chosen_labels
from ...corpus.labels import declared_types
from ...corpus.rare import AUTO_SHARE
from ...errors import Errors
from ...layers.listeners import check_listened
from ...numerics import binary_cross_entropy
from ...readers.base import changed_by
from ...settings import finite
from ...types import WEAK_SENTENCES, Block
from ..base import HASH_EMBED_CNN, SavedPipe, check_finite, check_head_rate, factory, with_head_rate
from ..label_checks import AUTO, check_labels, check_types, refuse_new_type
from ..neighbours import boundary_setters
from ..saved import Probability, SavedCurve
from ..scores.thresholding import CALIBRATION
from ..scores.thresholds import calibrated
from .flagging import write_all_flagged
from .learning import FOUND, learn_counts, sentence_targets, warn_of_whole_documents, with_boundaries

WHO = "longtail_sentence_gate"

DEFAULT_GATE_MODEL: Block = {
    "@architectures": "longtail.SentenceGate.v1",
    "hidden_width": 64,
    "tok2vec": {**HASH_EMBED_CNN, "width": 64, "depth": 1, "maxout_pieces": 2},
}


class SentenceGate(SavedPipe, TrainablePipe):
    """Classifier that flags the sentences with an entity of a rare type.

    Trained with weighted binary cross-entropy (docs/methods.md, "Sentence gate"). The loss column
    has the summed loss of all sentences in nats. A document without boundaries is one sentence.

    model (Model[List[Doc], Floats2d]): One logit per sentence, such as longtail.SentenceGate.v1.
    rare_labels (Union[List[str], str]): The rare types; "auto" finds them in the counts corpus.
    auto_share (float): "auto" takes types with at most this share of all mentions, 0 to 1.
    data (str): Sentences to learn from. "full" weighs the two classes by their swapped priors.
        "balanced" has no weights, but as many sentences without a rare type as with, a fixed draw.
    threshold (float): Minimum score of a flagged sentence, 0 to 1; `thresholds` finds one.
    spans_key (str): Key in doc.spans for the flagged sentences; attrs["scores"] are their scores.
    head_rate (float): As for longtail_ner.
    scorer (Optional[Callable]): The scoring function.
    weak_labels (Optional[Union[List[str], str]]): The earlier name of rare_labels, until version
        0.4.
    SOURCE: Nguyen, Nguyen & Rao 2020, section 3.2; "auto" and the threshold are ours.
    """

    is_gate = True
    saved = ("vocab", "model")
    learnt: ClassVar = {
        "auto_labels": list[str] | None,
        "weak_weight": float | None,
        "kept_share": float,
        "threshold": Probability,
        "auto_share": Probability,
        CALIBRATION: SavedCurve | None,
    }
    required = ("rare_labels", "auto_labels")

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model,
        rare_labels: list[str] | str = AUTO,
        auto_share: float = AUTO_SHARE,
        data: Literal["full", "balanced"] = "full",
        threshold: float = 0.5,
        spans_key: str = WEAK_SENTENCES,
        head_rate: float = 1.0,
        scorer: Callable | None = None,
        weak_labels: list[str] | str | None = None,
    ) -> None:
        rare_labels = chosen_labels(weak_labels, rare_labels, name)
        if rare_labels != AUTO:
            rare_labels = check_types("rare_labels", rare_labels, WHO)
        super().__init__(
            nlp.vocab,
            model,
            name,
            **FOUND,
            rare_labels=rare_labels,
            auto_share=finite(
                "auto_share",
                auto_share,
                "a share of all mentions, 0 to 1",
                f"{AUTO_SHARE} is usual.",
                low=0.0,
                high=1.0,
            ),
            data=data,
            threshold=finite("threshold", threshold, "between 0 and 1", "0.5 is neutral.", 0.0, 1.0),
            spans_key=spans_key,
        )
        self.scorer = scorer
        self.head_rate = check_head_rate(head_rate)
        self._sets_boundaries = False  # whether a component before this one does

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the rare types; none before "auto" has found them."""
        given = self.cfg["rare_labels"]
        return tuple(self.cfg["auto_labels"] or ()) if given == AUTO else tuple(given)

    def add_label(self, label: str) -> int:
        """Refuse a type that the component lacks. RETURNS (int): 0, for a type that it has."""
        return refuse_new_type(self.name, self.labels, label, "rare_labels")

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        counts_corpus: Callable | None = None,
    ) -> None:
        """Initialize the model, and take rare types and class weight from the counts corpus.

        Documents without gold boundaries are counted with those that components before it set.

        get_examples (Callable): Training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): Labels of `init labels`, which must be the component's types.
        counts_corpus (Optional[Callable]): A reader of the untouched training data; null counts the
            training examples, unless the config resamples or augments them.
        """
        if counts_corpus is None and nlp is not None and changed_by(nlp, "train_corpus"):
            raise ValueError(Errors.L004.format(who=WHO, weights="swapped priors", name=self.name))
        self.cfg.update(FOUND)
        if labels is not None and self.cfg["rare_labels"] == AUTO:
            self.cfg["auto_labels"] = check_types("labels", labels, WHO)
        check_labels(labels, self.labels, WHO)
        self._sets_boundaries = nlp is not None and bool(boundary_setters(nlp, self))
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        counted = with_boundaries(seen(), nlp, self)
        self.cfg.update(learn_counts(counted, self.labels, declared_types(nlp), self.cfg, self.name))
        sample = [eg.predicted for eg in islice((e for e in seen() if len(e.predicted)), 10)]
        self.model.initialize(X=sample)

    def logits(self, docs: Iterable[Doc]) -> Floats2d:
        """Return the logit of each sentence of all documents, shape (n_sentences, 1)."""
        docs = list(docs)
        check_listened(self, docs)
        return self.model.predict(docs)

    def predict(self, docs: Iterable[Doc]) -> Floats2d:
        """Return the probability of a rare type in each sentence, shape (n_sentences, 1)."""
        return calibrated(self.logits(docs), self.cfg[CALIBRATION])

    def set_annotations(self, docs: Iterable[Doc], scores: Floats2d) -> None:
        flat = self.model.ops.to_numpy(scores).ravel()
        flags = flat >= self.cfg["threshold"]
        write_all_flagged(docs, self.cfg["spans_key"], self.name, flags, flat)

    def get_loss(self, examples: Iterable[Example], scores: Floats2d) -> tuple[float, Floats2d]:
        """Return the weighted binary cross-entropy, summed over sentences, and its gradient.

        SOURCE: Nguyen, Nguyen & Rao 2020, eq. 5, priors swapped (docs/methods.md, "Sentence gate").
        """
        examples = list(examples)
        warn_of_whole_documents(examples, self._sets_boundaries, self.name)
        targets = sentence_targets(examples, self.labels, self.cfg["kept_share"])
        truth, known = (self.model.ops.asarray2f(a) for a in targets)
        w1 = self.cfg["weak_weight"]
        weight = known if w1 is None else known * (w1 * truth + (1 - w1) * (1 - truth))
        f, d_rows = binary_cross_entropy(scores, truth)
        loss = float((weight * f).sum())
        check_finite(self.name, len(truth), loss)
        return loss, weight * d_rows

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, with `head_rate` times the learning rate outside the encoder."""
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))


make_sentence_gate = factory(WHO, "gate", model=DEFAULT_GATE_MODEL)(SentenceGate)
