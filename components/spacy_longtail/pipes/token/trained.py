"""Base class of the components that learn to label tokens."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice
from typing import ClassVar

from spacy.language import Language
from spacy.training import Example
from thinc.api import Optimizer
from thinc.types import Ragged

from ...corpus.counts import count_docs
from ...describers import HashedDescriptions
from ...errors import Errors
from ...heads import Gold, Scores
from ...types import Block, TwoTaskState
from ..label_checks import check_known, warn_without_mention
from ..neighbours import name_in
from ..scores.thresholding import CALIBRATION
from ..weighting import Reader, resolve_classes
from .describing import check_described, describe_apart
from .gold import check_taught
from .pretrained_head import PretrainedHead, read_pretrained, take_pretrained
from .tagging import TokenTagger
from .token_model import no_outputs
from .type_table import TypeTable


class TrainedTagger(TokenTagger, ABC):
    """Base class of components that learn to label tokens.

    The loss column shows the summed loss of all annotated tokens, in the loss's unit.
    """

    who: ClassVar[str]  # name of its factory
    samples_training = True  # otherwise documents of the untouched corpus initialize the model
    _next_state: TwoTaskState | None = None  # after the optimizer's next step

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        counts_corpus: Callable | None = None,
        descriptions: dict[str, str] | None = None,
        pretrained: str | None = None,
    ) -> None:
        """Determine the types, resolve the loss's class weights, and initialize the model.

        Results of an earlier training are forgotten.

        get_examples (Callable): Training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): The types, as `init labels` wrote them; null finds them.
        counts_corpus (Optional[Callable]): A reader of the untouched training data, for types and
            class weights; null finds the types in the training examples.
        descriptions (Optional[Dict[str, str]]): Descriptions by type, for a model of
            longtail.DescribedTypes.v1; the words of their names describe other types.
        pretrained (Optional[str]): A pipeline that the command `pretrain` wrote, whose head to
            start from: a folder, or an installed package.
        """
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        mentioned = count_docs(eg.reference for eg in seen()).labels
        known = self._settle_types(mentioned, nlp, labels)
        warn_without_mention(nlp, mentioned, self.labels, self.name, self.is_described)
        check_known("thresholds", self.cfg["thresholds"] or (), self.labels, self.who)
        check_taught(self.loss, get_examples(), self.name)
        reader = None if counts_corpus is None else partial(self._learnt_from, counts_corpus)
        self.tokens.class_values = resolve_classes(
            self.loss, self.labels, self.codec.prefixes, reader, nlp, self.who, self.name
        )
        self.tokens.use(self.types)
        self.state = TwoTaskState()
        self.cfg[CALIBRATION] = None
        check_described(self.model, self.name, descriptions=descriptions, pretrained=pretrained)
        head = None if pretrained is None else read_pretrained(pretrained, self.name)
        if self.is_described:
            self._settle_describer(nlp, head)
            texts = {**self.types.descriptions, **(descriptions or {})}
            if unknown := ", ".join(sorted(texts.keys() - {*known, *self.labels})):
                raise ValueError(Errors.L801.format(who=self.name, unknown=unknown))
            table = TypeTable(self.labels, unseen=self.labels).describing(texts, self.name)
            self.tokens.types = table.seeing(mentioned)
            self.tokens.set_descriptions(describe_apart(table.descriptions, self.describe, self.name))
        sampled = get_examples() if self.samples_training else seen()
        sample = list(islice((eg.predicted for eg in sampled if len(eg.predicted)), 10))
        self.model.initialize(X=sample)
        if head is not None:
            take_pretrained(self, head, nlp)
        scores = self.head.logits(self.model.predict(sample))
        if not isinstance(scores, Ragged) or len(scores.dataXd) != sum(map(len, sample)):
            raise no_outputs(self.model, self.name)

    def _settle_describer(self, nlp: Language | None, head: PretrainedHead | None) -> None:
        """Set the describer, and save it with the config so that types can be added later.

        Without one in the settings it is that of the pretrained head, or one that hashes words.
        """
        block: Block = {"@misc": "longtail.HashedDescriptions.v1"}
        if head is not None and self.describe in (None, head.pipe.describe):
            self.describe, block = head.pipe.describe, head.describe or block
        elif self.describe is None:
            self.describe = HashedDescriptions()
        else:
            return
        self._share_layers(nlp)
        if nlp is not None and (name := name_in(nlp, self)):
            nlp.get_pipe_config(name)["describe"] = block

    @abstractmethod
    def _settle_types(
        self, mentioned: list[str], nlp: Language | None, labels: list[str] | None
    ) -> Collection[str]:
        """Set the types to learn.

        mentioned (List[str]): The types with mentions in the training data, most frequent first.
        nlp (Optional[Language]): The current pipeline, whose config may declare other types.
        labels (Optional[List[str]]): The types that `init labels` wrote.
        RETURNS (Collection[str]): All types, mentioned or declared.
        """

    def _learnt_from(self, reader: Reader, nlp: Language) -> Iterable[Example]:
        """Return the part of a corpus to train on, of which class weights are computed."""
        return reader(nlp)

    def gold(self, examples: list[Example]) -> Gold:
        """Return the gold tags of a batch."""
        return self.tokens.gold(examples, self.cfg.get("include") is not None, self.name)

    def get_loss(self, examples: Iterable[Example], scores: Scores) -> tuple[float, Scores]:
        """Return the summed loss of all annotated or taught tokens, and its gradient."""
        examples, state = list(examples), self.state
        is_warmup = state.n_updates < self.cfg["warmup"]
        gold = self.gold(examples)
        trained = self.tokens.train(scores, gold, examples, state, is_warmup, self.name)
        self._next_state = trained.state
        return trained.loss, trained.d_scores

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, count the update, and store the state of a two-task loss."""
        super().finish_update(sgd)
        state = self._next_state or self.state
        self.state = state._replace(n_updates=state.n_updates + 1)
        self._next_state = None
