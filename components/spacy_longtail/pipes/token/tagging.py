"""Base class of the components that label tokens: types, training, prediction and saving."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, Optimizer
from thinc.types import Floats2d, Ragged

from ...chains.tags import Scheme
from ...corpus.counts import count_docs
from ...corpus.labels import check_label, declared_types
from ...describers import Describer, HashedDescriptions, as_describer
from ...describers.label_encoder import DATA
from ...errors import Errors
from ...heads import Gold, HeadName, Scores
from ...heads.outputs import forget_outputs
from ...layers.listeners import check_listened, nodes_of
from ...losses import Loss
from ...readers.base import Reader
from ...types import Block, TwoTaskState
from ..base import HASH_EMBED_CNN, SavedPipe, check_head_rate, with_head_rate
from ..label_checks import check_known, warn_without_mention
from ..saved import SavedCurves, Thresholds, Weights, bad_cfg
from ..scores.probabilities import SETTING, write_probabilities
from ..scores.spans import ScoredSpan
from ..scores.thresholding import CALIBRATION, write_judged
from ..weighting import resolve_classes
from .describing import check_described, describe_apart
from .gold import check_taught
from .pretrained_head import read_pretrained, settle_describer, take_pretrained
from .token_model import TokenModel, no_outputs
from .type_table import TypeTable

DEFAULT_TOKEN_MODEL: Block = {
    "@architectures": "longtail.TokenClassifier.v1",
    "nO": None,
    "tok2vec": HASH_EMBED_CNN,
}
SETTINGS: Block = {"head": "softmax", "scheme": "BIO", "warmup": 0, SETTING: False}


class Predictions(NamedTuple):
    """Entities of each document, and the tag probabilities of its tokens if they are written."""

    entities: list[list[ScoredSpan]]
    probabilities: list[Floats2d] | None = None  # (n_tokens, n_tags) of each document


class TokenTagger(SavedPipe, TrainablePipe):
    """Base class of components whose model gives outputs per token.

    `cfg` has the settings, `tokens` the results of training, and `state` the state of training. The
    loss column shows the summed loss of all annotated tokens, in the loss's unit.
    """

    who: ClassVar[str]  # name of its factory
    samples_training = True  # otherwise documents of the untouched corpus initialize the model
    _next_state: TwoTaskState | None = None  # after the optimizer's next step
    learnt: ClassVar = {  # the types of saved values that no constructor declares
        "head": HeadName,
        "scheme": Scheme,
        "types": list[str],
        "class_values": Weights,
        "state": dict[str, int | list[float]],
        "descriptions": dict[str, str],
        "unseen": list[str],
        "thresholds": Thresholds,
        "reads_documents": bool,
        CALIBRATION: SavedCurves,
    }
    saved = (DATA, "vocab", "model")
    required = ("head", "scheme", "types")

    def __init__(
        self,
        nlp: Language,
        model: Model,
        name: str,
        *,
        loss: Loss,
        scorer: Callable | None,
        head_rate: float = 1.0,
        describe: Callable | None = None,
        **settings: object,
    ) -> None:
        cfg = {**SETTINGS, **settings}
        self.loss = loss
        self.tokens = TokenModel(model, cfg["head"], loss, cfg["scheme"])
        self.token_models = [self.tokens]  # those whose outputs the types must fit
        self.state = TwoTaskState()
        super().__init__(nlp.vocab, self.tokens.model, name, **cfg)
        self.scorer, self.head_rate = scorer, check_head_rate(head_rate)
        self.describe = as_describer(describe)
        self.share_layers(nlp)

    def share_layers(self, nlp: Language | None) -> None:
        """Let the describer use weights of the pipeline, or of this component's own encoder."""
        if self.describe is not None:
            self.describe.share([*self.model.walk(), *(() if nlp is None else nodes_of(nlp))])

    @property
    def labels(self) -> tuple[str, ...]:
        return self.types.labels

    @property
    def types(self) -> TypeTable:
        """Return the types with their descriptions."""
        return self.tokens.types

    @property
    def describer(self) -> Describer:
        """Return the describer to save with the component: one without data if it has none."""
        return self.describe or HashedDescriptions()

    def add_label(self, label: str, description: str | None = None) -> int:
        """Add a type, before training or after. The weights of other types do not change.

        label (str): The type.
        description (Optional[str]): Description of the type, for a model of
            longtail.DescribedTypes.v1, which may find it without a mention to learn from; null
            takes the words of its name.
        RETURNS (int): 0 if the type is there already, else 1.
        """
        check_label(label)
        check_described(self.model, self.name, description=description)
        is_new = self.tokens.add_type(label, description, self.describe, self.name)
        if is_new and self.cfg.get("include") is not None:
            self.cfg["include"] = [*self.cfg["include"], label]
        return int(is_new)

    def set_labels(self, labels: Mapping[str, str] | Iterable[str]) -> None:
        """Find other types, by their descriptions. Thresholds and weights of single types are lost.

        labels (Mapping[str, str] | Iterable[str]): Descriptions by type, or the names of the types
            if these describe them.
        RAISES (ValueError): If the model is not trained, or two types have one description.
        """
        check_described(self.model, self.name, labels=labels)
        self.tokens.replace_types(labels, self.describe, self.name)
        include = None if self.cfg.get("include") is None else list(self.labels)
        self.cfg.update({"include": include, "thresholds": None, CALIBRATION: None})

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

        Weights, calibration and state of an earlier training are forgotten. Its types stay.

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
        warn_without_mention(nlp, mentioned, self.labels, self.name, self.tokens.is_described)
        check_known("thresholds", self.cfg["thresholds"] or (), self.labels, self.who)
        check_taught(self.loss, get_examples(), self.name)
        reader = None if counts_corpus is None else partial(self._learnt_from, counts_corpus)
        self.tokens.class_values = resolve_classes(
            self.loss, self.labels, self.tokens.codec.prefixes, reader, nlp, self.who, self.name
        )
        self.tokens.use(self.types)
        self.state, self._next_state = TwoTaskState(), None
        self.cfg[CALIBRATION] = None
        check_described(self.model, self.name, descriptions=descriptions, pretrained=pretrained)
        head = None if pretrained is None else read_pretrained(pretrained, self.name)
        if self.tokens.is_described:
            settle_describer(self, head, nlp)
            table = self.types.starting(descriptions or {}, mentioned, known, self.name)
            self.tokens.types = table
            self.tokens.set_descriptions(describe_apart(table.descriptions, self.describe, self.name))
        sampled = get_examples() if self.samples_training else seen()
        sample = list(islice((eg.predicted for eg in sampled if len(eg.predicted)), 10))
        self.model.initialize(X=sample)
        if head is not None:
            take_pretrained(self, head, nlp)
        scores = self.tokens.head.logits(self.model.predict(sample))
        if not isinstance(scores, Ragged) or len(scores.dataXd) != sum(map(len, sample)):
            raise no_outputs(self.model, self.name)

    def _settle_types(
        self, mentioned: list[str], nlp: Language | None, labels: list[str] | None
    ) -> Collection[str]:
        """Set the types to learn: those of `include`, or all that are known.

        mentioned (List[str]): The types with mentions in the training data, most frequent first.
        nlp (Optional[Language]): The current pipeline, whose config may declare other types.
        labels (Optional[List[str]]): The types that `init labels` wrote.
        RETURNS (Collection[str]): All types, mentioned or declared.
        """
        # those of add_label and of an earlier training come first
        found = dict.fromkeys([*self.labels, *(mentioned if labels is None else labels)])
        known = list(dict.fromkeys([*found, *declared_types(nlp)]))
        include = known if self.cfg["include"] is None else self.cfg["include"]
        check_known("include", include, known, self.who)
        if found.keys().isdisjoint(include):
            raise ValueError(Errors.L215.format(who=self.who))
        self.tokens.set_types((label for label in known if label in include), self.name)
        return known

    def _learnt_from(self, reader: Reader, nlp: Language) -> Iterable[Example]:
        """Return the part of a corpus to train on, of which class weights are computed."""
        return reader(nlp)

    def gold(self, examples: list[Example]) -> Gold:
        """Return the gold tags of a batch."""
        return self.tokens.gold(examples, self.cfg.get("include") is not None, self.name)

    def get_loss(self, examples: Iterable[Example], scores: Scores) -> tuple[float, Scores]:
        """Return the summed loss of all annotated or taught tokens, and its gradient."""
        examples, is_warmup = list(examples), self.state.n_updates < self.cfg["warmup"]
        gold, state = self.gold(examples), self._next_state or self.state  # of earlier sub-batches
        trained = self.tokens.train(scores, gold, examples, state, is_warmup, self.name)
        self._next_state = trained.state
        return trained.loss, trained.d_scores

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, with `head_rate` times the learning rate outside the encoder.

        The update is counted, and the state of a two-task loss is stored.
        """
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))
        state = self._next_state or self.state
        self.state = state._replace(n_updates=state.n_updates + 1)
        self._next_state = None

    def predict(self, docs: Iterable[Doc]) -> Predictions:
        """Find the entities of each document, with their scores where scores_key is set."""
        docs = list(docs)
        if not any(map(len, docs)):
            return Predictions([[] for _ in docs])
        check_listened(self, docs)
        found = Predictions([], [] if self.cfg[SETTING] else None)
        for part in self.tokens.slices(docs):
            outputs, with_scores = self.model.predict(part), self.cfg["scores_key"] is not None
            found.entities.extend(self.tokens.entities(part, outputs, with_scores))
            if found.probabilities is not None:
                p = self.tokens.marginals(part, outputs)
                found.probabilities.extend(np.split(p, np.cumsum([*map(len, part)])[:-1]))
        return found

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        """Return the entities of each document before calibration and thresholds."""
        return self.predict(docs).entities

    def set_annotations(self, docs: Iterable[Doc], scores: Predictions) -> None:
        """Write the entities, and their scores and the tokens' probabilities if these are set."""
        docs = list(docs)
        write_judged(docs, scores.entities, self.cfg, self.name)
        if scores.probabilities is not None:
            for doc, p in zip(docs, scores.probabilities, strict=True):
                write_probabilities(doc, self.name, self.tokens.codec.tags, p)

    def saved_cfg(self) -> Block:
        """Return the settings, the types and other results of training, and its state."""
        return {
            **self.cfg,
            "class_values": self.tokens.class_values,
            "state": self.state._asdict(),
            **self.types.to_cfg(),
        }

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and types, which may differ in number from those before."""
        built = self.cfg["head"]
        if saved.get("head", built) != built:
            raise ValueError(Errors.L218.format(who=self.name, saved=saved["head"], found=built))
        table = TypeTable.from_cfg(saved)
        known = {"class_values", "state", *table.to_cfg()}
        self.cfg.update({key: value for key, value in saved.items() if key not in known})
        self.state, self._next_state = TwoTaskState(**saved.get("state", {})), None
        self.tokens.scheme = self.cfg["scheme"]
        self.tokens.class_values = saved.get("class_values")
        self.tokens.use(table)
        if "model" not in exclude:  # its weights are loaded next
            forget_outputs(self.model)

    def settle(self, source: Path | str, exclude: Iterable[str]) -> None:
        """Refuse loaded types that need another number of outputs than the loaded weights have."""
        super().settle(source, exclude)
        for tokens in () if "cfg" in exclude else self.token_models:
            if problem := tokens.problem_of_outputs():
                raise bad_cfg(source, self, problem)
