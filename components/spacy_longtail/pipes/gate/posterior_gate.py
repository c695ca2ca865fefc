"""`longtail_posterior_gate`: flags sentences in which the primary NER expects rare types."""

from collections.abc import Callable, Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats2d

from ...aliases import chosen_labels
from ...errors import Errors
from ...sentences import sums_by_sentence
from ...settings import finite
from ...types import WEAK_SENTENCES
from ..base import UntrainedPipe, factory
from ..label_checks import check_labels, check_types, refuse_new_type
from ..neighbours import components_before
from ..scores.probabilities import begin_probabilities, check_rare_types
from .budget import Budget
from .flagging import write_all_flagged
from .primary import ask_for_probabilities

WHO = "longtail_posterior_gate"
THRESHOLD = 0.1


def check_budget(value: object) -> float:
    """Return a budget, which is a fraction of all sentences, if it is valid."""
    return finite(
        "budget",
        value,
        "a share of all sentences, above 0 and at most 1",
        "0.03 flags at most 3 %.",
        low=1e-9,
        high=1.0,
    )


class PosteriorGate(UntrainedPipe):
    """Gate without weights, which flags sentences by the probabilities of the NER before it.

    Adding the gate changes the settings of its primary: it sets write_probabilities in the
    component and in its config. It replaces a stock ner, which cannot write probabilities, in the
    pipeline by a longtail_ner of the same weights.

    A document without sentence boundaries is one sentence. With a budget the order of sentences
    counts. Threads share one stream. Each process counts for itself, in `set_annotations` alone,
    and saves nothing: a loaded gate starts from the scores that the command `thresholds` gave it.

    rare_labels (List[str]): The rare types.
    primary (Optional[str]): The component that expects mentions: longtail_token_ner, longtail_ner
        or ner; null is the last such one before the gate.
    threshold (float): Minimum number of expected mentions of a rare type in a flagged sentence.
    budget (Optional[float]): Flag the sentences with most expected mentions instead, at most this
        share of all, above 0 and at most 1; null goes by the threshold.
    spans_key (str): Key in doc.spans for the flagged sentences, beside those that other components
        flag there; attrs["scores"] are their scores, the expected mentions of all rare types.
    scorer (Optional[Callable]): The scoring function.
    weak_labels (Optional[List[str]]): The earlier name of rare_labels, until version 0.4.
    """

    is_gate = True
    learnt: ClassVar = {
        "start": list[float] | None,
        "threshold": Annotated[float, Field(ge=0)],
        "budget": Annotated[float, Field(gt=0, le=1)] | None,
    }
    required = ("rare_labels",)

    def __init__(
        self,
        nlp: Language,
        name: str,
        rare_labels: list[str] = [],  # noqa: B006
        primary: str | None = None,
        threshold: float = THRESHOLD,
        budget: float | None = None,
        spans_key: str = WEAK_SENTENCES,
        scorer: Callable | None = None,
        weak_labels: list[str] | None = None,
    ) -> None:
        ask_for_probabilities(nlp, primary)
        rare_labels = chosen_labels(weak_labels, rare_labels, name)
        super().__init__(
            nlp.vocab,
            name,
            scorer,
            start=None,  # scores of development data, for a budget
            rare_labels=check_types("rare_labels", rare_labels, WHO),
            primary=primary,
            threshold=finite("threshold", threshold, "mentions, 0 or more", "0.1 is usual.", 0.0),
            budget=None if budget is None else check_budget(budget),
            spans_key=spans_key,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["rare_labels"])

    def add_label(self, label: str) -> int:
        """Refuse a type that the component lacks. RETURNS (int): 0, for a type that it has."""
        return refuse_new_type(self.name, self.labels, label, "rare_labels")

    def restart(self) -> None:
        """Restart the budget from the scores of development data."""
        share = self.cfg["budget"]
        self._budget = None if share is None else Budget(share, self.cfg["start"] or ())

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Check that a component before the gate writes probabilities. Nothing is trained.

        get_examples (Callable): Training examples, which are ignored.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): Labels of `init labels`, which must be the component's types.
        """
        check_labels(labels, self.labels, WHO)
        if nlp is not None:
            primary = ask_for_probabilities(nlp, self.cfg["primary"], self)
            if primary is None:
                found = self.cfg["primary"] or ", ".join(components_before(nlp, self)) or "none"
                needs, fix = "an NER that can write probabilities", "Correct 'primary', or drop it."
                raise ValueError(Errors.L210.format(who=self.name, needs=needs, found=found, fix=fix))
            known = nlp.get_pipe(primary).labels  # type: ignore[attr-defined]
            check_rare_types(self.labels, known, self.name)
        self.cfg["start"] = None
        self.restart()

    def predict(self, docs: Iterable[Doc]) -> Floats2d:
        """Return how many mentions of each rare type the primary expects in each sentence.

        docs (Iterable[Doc]): Documents with the primary's probabilities, which are not changed.
        RETURNS (Floats2d): Shape (n_sentences, n_types), the sentences of all documents in order.
        RAISES (ValueError): If a document has no probabilities of the primary.
        """
        docs = list(docs)
        rows = [np.zeros((0, len(self.labels)))]
        rows += [begin_probabilities(doc, self.cfg["primary"], self.labels, self.name) for doc in docs]
        return sums_by_sentence(docs, np.concatenate(rows))

    def set_annotations(self, docs: Iterable[Doc], scores: Floats2d) -> None:
        expected = scores.sum(axis=1)
        above = (scores >= self.cfg["threshold"]).any(axis=1)
        flags = above if self._budget is None else self._budget.flag(expected)
        write_all_flagged(docs, self.cfg["spans_key"], self.name, flags, expected)


make_posterior_gate = factory(WHO, "gate")(PosteriorGate)
