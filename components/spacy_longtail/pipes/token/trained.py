"""Base class of the components that learn to label tokens, and heads that they start from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, Optimizer, to_numpy
from thinc.types import Ragged

from ...corpus.counts import count_docs
from ...describers import HashedDescriptions
from ...encoders import check_encoder
from ...errors import START, Errors
from ...heads import Gold, Scores
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...layers.listeners import tok2vec_of
from ...types import Block, TwoTaskState
from ..base import LongtailPipe
from ..label_checks import check_known, warn_without_mention
from ..neighbours import name_in
from ..scores.spans import CALIBRATION
from ..sources import add_sources, sources_of
from ..weighting import Reader, resolve_classes
from .describing import TypeTable, are_alike, check_described, describe_apart, vectors_of
from .gold import check_taught
from .tagging import TokenTagger
from .token_model import no_outputs

# which of a pretrained head's prefixes a prefix starts from that it lacks
FROM_PREFIX = {"B": "B", "I": "I", "L": "I", "U": "B"}


class PretrainedHead(NamedTuple):
    """A described head that another pipeline has learnt."""

    path: str | Path  # of its pipeline
    nlp: Language
    pipe: LongtailPipe
    describe: Block | None  # the block of its describer


def read_pretrained(path: str | Path, who: str, fix: str = START) -> PretrainedHead:
    """Load the described head of a pretrained pipeline.

    path (str | Path): Folder of the pipeline, or an installed encoder.
    who (str): Who needs it, for messages.
    fix (str): How to name another pipeline, for messages.
    RAISES (ValueError): If the pipeline cannot be loaded or has no such head (L274).
    """
    folder = check_encoder(path)
    try:
        nlp = spacy.load(folder)
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L274.format(who=who, path=path, problem=problem, fix=fix)) from error
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        layer = model.maybe_get_ref("output_layer") if isinstance(model, Model) else None
        if layer is not None and is_described(layer):
            block = nlp.config.interpolate()["components"][name].get("describe")
            return PretrainedHead(path, nlp, cast(LongtailPipe, pipe), block)
    factories = ", ".join(nlp.get_pipe_meta(name).factory for name in nlp.pipe_names) or "nothing"
    problem = f"no component has a longtail.DescribedTypes.v1 model, found {factories}"
    raise ValueError(Errors.L274.format(who=who, path=path, problem=problem, fix=fix))


def take_pretrained(pipe: Any, head: PretrainedHead, nlp: Language | None) -> None:
    """Copy the weights of a pretrained head and of its encoder, without which it is useless.

    A tok2vec with a `source` has these weights already; the config of a saved pipeline has none.
    """
    layer, theirs = output_of(pipe.model), output_of(head.pipe.model)
    texts = [head.pipe.types.descriptions[label] for label in head.pipe.labels]
    # a disabled tok2vec is frozen, and keeps its weights
    tok2vec = tok2vec_of([] if nlp is None else nlp.pipeline, pipe)
    upstream = tok2vec_of(head.nlp.pipeline, head.pipe)
    problem = ""
    for name, dim in (("encoder", "nI"), ("width", "nM")):
        if (given := theirs.get_dim(dim)) != (needed := layer.get_dim(dim)):
            problem = f"its {name} has {given} columns, this one {needed}"
    vectors = vectors_of(texts, pipe.describe, pipe.name)
    if not are_alike(vectors, to_numpy(theirs.get_param("D"))):
        problem = "its descriptions have other vectors: it was trained with another 'describe'"
    if tok2vec is not None and upstream is not None and not problem:
        try:
            tok2vec.model.from_bytes(upstream.model.to_bytes())
        except Exception:  # of msgpack, of thinc: each its own kind
            problem = f"its encoder has other layers than {tok2vec.name!r}: let it be its source"
    if problem:
        raise ValueError(Errors.L274.format(who=pipe.name, path=head.path, problem=problem, fix=START))
    known, prefixes = head.pipe.codec.prefixes, pipe.codec.prefixes
    rows = [known.index(p if p in known else FROM_PREFIX[p]) for p in prefixes]
    for name in ("P", "Q"):
        layer.set_param(name, layer.ops.asarray(to_numpy(theirs.get_param(name))[rows]))
    for name in ("W", "b"):  # of O
        layer.get_param(name)[0] = layer.ops.asarray(to_numpy(theirs.get_param(name))[0])
    if nlp is not None:
        add_sources(nlp, sources_of(head.nlp.meta))


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
