"""`longtail_mrc_ner`: NER by reading comprehension, one query per entity type."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import ClassVar, Literal

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger
from thinc.api import Model, Optimizer, set_dropout_rate

from ...corpus.counts import count_docs
from ...errors import Errors
from ...layers.listeners import listener_in
from ...losses import BinaryLoss, CrossEntropy, Loss, check_loss
from ...settings import whole
from ...types import Block
from ..base import SavedPipe, check_finite, check_head_rate, factory, with_head_rate
from ..label_checks import check_annotated, check_known, check_labels
from ..neighbours import name_in
from ..saved import SavedCurves, Thresholds
from ..scores.merging import merge_spans
from ..scores.spans import ScoredSpan
from ..scores.thresholding import CALIBRATION, check_judging, write_judged
from .answers import decode_answers, get_batch_loss, gold_answers
from .queries import CutQuery, Questions, ask, check_queries, cut_query

WHO = "longtail_mrc_ner"


class MRCNER(SavedPipe, TrainablePipe):
    """NER that puts a query for each entity type to each sentence and decodes the answers.

    Entity score: the sigmoid of the span's logit. Of overlapping answers the one of the higher
    score stays, then the longer, then the earlier, then that of the first query. The loss column
    shows the mean loss of a query's token, times all annotated tokens and queries.

    A sentence costs as many passes through the encoder as there are queries.

    model (Model[List[Asked], Reading]): longtail.MRC.v1, with an encoder of its own.
    queries (Dict[str, str]): Entity types, at least one, and a query in words for each.
    loss (Optional[Loss]): The loss of begins and ends; null is binary cross-entropy.
    separator (str): The word between query and sentence: "[SEP]" for BERT, "</s>" for RoBERTa.
    batch_size (int): Queries with sentences that the encoder reads at once, in training as well.
    scores_key, thresholds, abstain_key, head_rate: As for longtail_ner.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Li et al. 2020, arXiv:1910.11476; other losses than cross-entropy Nemoto et al. 2025.
    """

    saved = ("vocab", "model")
    learnt: ClassVar = {
        CALIBRATION: SavedCurves,
        "cut_queries": dict[str, CutQuery],
        "thresholds": Thresholds,
    }
    required = ("queries",)

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model,
        queries: dict[str, str],
        loss: Loss | None = None,
        separator: str = "[SEP]",
        batch_size: int = 64,
        scores_key: str | None = None,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        head_rate: float = 1.0,
        scorer: Callable | None = None,
    ) -> None:
        problem, fix = "", "Use longtail.MRC.v1, with the encoder as its tok2vec."
        if "span_scorer" not in model.ref_names:
            problem = f"{model.name!r} scores no spans"
        elif found := listener_in(model):
            problem = f"its encoder is a listener ({found}), and a shared encoder never saw the queries"
            fix = "Give it an encoder of its own, such as spacy-transformers.Tok2VecTransformer.v3."
        if problem:
            raise ValueError(Errors.L209.format(who=WHO, problem=problem, fix=fix))
        queries = check_queries(queries, WHO)
        check_known("thresholds", thresholds or (), queries, WHO)
        self.tokenizer = nlp.tokenizer
        self.loss = CrossEntropy() if loss is None else loss
        needs = "a loss of binary outputs, without class weights"
        fix = "Use longtail.CrossEntropy.v1, Focal.v1, MoM.v1 or Dice.v1, without weights."
        self.formula = check_loss(self.loss, (BinaryLoss,), WHO, needs, fix)
        if self.loss.class_weights is not None:
            reason = "its outputs are binary, without classes to weight"
            raise ValueError(Errors.L002.format(who=WHO, loss=loss, reason=reason, fix=fix))
        super().__init__(
            nlp.vocab,
            model,
            name,
            queries=queries,
            cut_queries={},
            separator=separator,
            batch_size=whole("batch_size", batch_size, "Use 64.", 1),
            **check_judging(thresholds, abstain_key, scores_key, WHO),
        )
        self.scorer = scorer
        self.head_rate = check_head_rate(head_rate)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["queries"])

    def add_label(self, label: str) -> int:
        """Refuse a type without a query. RETURNS (int): 0, for a type that has one."""
        if label not in self.labels:
            raise ValueError(Errors.L232.format(who=self.name, unknown=label))
        return 0

    def add_query(self, label: str, query: str) -> int:
        """Add a type with its query, or give a type another query, before training or after.

        label (str): Entity type.
        query (str): Query for the type.
        RETURNS (int): 0 if the type was there already, else 1.
        """
        known = self.cfg["queries"]
        self.cfg["queries"] = {**known, **check_queries({label: query}, self.name)}
        self._cut_queries()
        return int(label not in known)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Check the queries against the data, and initialize the model.

        get_examples (Callable): The training examples.
        nlp (Optional[Language]): The current pipeline: its config gets the queries as they are, so
            that the trained pipeline does without their file.
        labels (Optional[List[str]]): Labels of `init labels`, which must be the types of `queries`.
        """
        check_labels(labels, self.labels, WHO)
        seen = count_docs(eg.reference for eg in get_examples()).labels
        if not seen:
            raise ValueError(Errors.L215.format(who=WHO))
        if unknown := ", ".join(sorted(set(seen) - set(self.labels))):
            raise ValueError(Errors.L232.format(who=WHO, unknown=unknown))
        if nlp is not None and (name := name_in(nlp, self)):
            nlp.get_pipe_config(name)["queries"] = dict(self.cfg["queries"])
        self.cfg[CALIBRATION] = None
        n = len(self.labels)
        logger.info("%s: %d queries, so each sentence is read %d times", self.name, n, n)
        self.cfg["cut_queries"] = {}  # the tokenizer may have changed since the pipe was built
        if nlp is not None:
            self.tokenizer = nlp.tokenizer
        sample = [eg.predicted for eg in islice((e for e in get_examples() if len(e.predicted)), 10)]
        self.model.initialize(X=next(self._ask(sample, 10)).asked)

    def _ask(self, docs: list[Doc], size: int) -> Iterator[Questions]:
        self._cut_queries()
        queries = [self.cfg["cut_queries"][query.strip()] for query in self.cfg["queries"].values()]
        return ask(docs, queries, self.cfg["separator"], size)

    def _cut_queries(self) -> None:
        """Cut the queries that have no tokens yet with the tokenizer of the pipe's own pipeline."""
        for query in map(str.strip, self.cfg["queries"].values()):
            if query not in self.cfg["cut_queries"]:
                self.cfg["cut_queries"][query] = cut_query(query, self.tokenizer)

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved values; version 0.3.0 saved queries without their tokens."""
        self.cfg.update({"cut_queries": {}, **saved})
        self._cut_queries()

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [[] for _ in docs]
        iob, space = np.concatenate([doc.to_array(["ENT_IOB", "IS_SPACE"]) for doc in docs]).T
        taken = (iob == 1) | (iob == 3)
        doc_ends = np.cumsum([len(doc) for doc in docs])
        answers: list[list[ScoredSpan]] = [[] for _ in docs]
        for part in self._ask(docs, self.cfg["batch_size"]):
            reading = self.model.predict(part.asked)
            places = taken[part.token], space[part.token] == 1
            for i, k, span in decode_answers(self.model, part, reading, *places, doc_ends):
                answers[i].append(span._replace(label=self.labels[k]))
        return [*map(merge_spans, answers)]

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        """Return the entities of each document before calibration and thresholds."""
        return self.predict(docs)

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Add the entities that pass their thresholds, and their scores if scores_key is set."""
        write_judged(docs, scores, self.cfg, self.name)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch, batch_size queries with sentences at a time, which saves memory."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = [eg for eg in examples if len(eg.predicted)]
        check_annotated(examples, self.labels, self.name)
        gold = gold_answers(examples, self.labels, self.name) if examples else None
        if gold is None or not gold.mask.any():
            return losses
        set_dropout_rate(self.model, drop)
        for part in self._ask([eg.predicted for eg in examples], self.cfg["batch_size"]):
            reading, backprop = self.model.begin_update(part.asked)
            factor = self.loss.entity_factor
            loss, d_reading = get_batch_loss(self.model, self.formula, factor, part, reading, gold)
            check_finite(self.name, len(part.token), loss, *d_reading)
            backprop(d_reading)
            losses[self.name] += loss
        if sgd is not None and sgd is not False:
            self.finish_update(sgd)
        return losses

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, with `head_rate` times the learning rate outside the encoder."""
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))


make_mrc_ner = factory(WHO, "ner")(MRCNER)
