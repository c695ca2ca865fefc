"""What the pipes that label tokens share: settings, labels, training, decoding, saving."""

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, Optimizer
from thinc.types import Floats1d, Floats2d, Ragged

from ...chains.tags import Scheme, TagCodec
from ...corpus.counts import count_docs
from ...corpus.labels import check_label
from ...describers import HashedDescriptions, as_describer
from ...describers.label_encoder import DATA
from ...errors import Errors
from ...heads import HEADS, Gold, Head, HeadName, Scores
from ...heads.outputs import forget_outputs, output_of, rename_outputs, set_outputs
from ...layers.described import is_described, lay_out, set_descriptions
from ...layers.listeners import check_listened, nodes_of
from ...losses import CrossEntropy
from ...losses.base import Loss, check_loss
from ...sentences import sentence_lengths
from ...settings import unused
from ...types import Block, TwoTaskState
from ..base import EntityScorer, LongtailPipe
from ..label_checks import check_known, declared_without_mention, warn_without_mention
from ..neighbours import name_in
from ..saved import Curves, Weights
from ..scores.probabilities import SETTING, write_probabilities
from ..scores.spans import ScoredSpan
from ..scores.thresholding import CALIBRATION
from ..weighting import Reader, resolve_classes
from .describing import (
    DescriberData,
    PretrainedHead,
    check_described,
    describe_apart,
    extended,
    read_pretrained,
    take_pretrained,
)
from .gold import allowed_tags, check_taught, gold_types, soft_targets, tagged_entities
from .type_table import TypeTable, resize_outputs

MOST_OUTPUTS = 1 << 22  # of the model in a slice of a batch: some 50 MB while it is decoded

HASH_EMBED_CNN: Block = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 96,
    "depth": 4,
    "embed_size": 2000,
    "window_size": 1,
    "maxout_pieces": 3,
    "subword_features": True,
}
DEFAULT_TOKEN_MODEL: Block = {
    "@architectures": "longtail.TokenClassifier.v1",
    "nO": None,
    "tok2vec": HASH_EMBED_CNN,
}

SETTINGS: Block = {
    "head": "softmax",
    "scheme": "BIO",
    "warmup": 0,
    "class_values": None,  # what the loss's preset resolved to, by class
    "state": TwoTaskState()._asdict(),
    SETTING: False,
}


LEARNT: Block = {  # the types of values of cfg that no constructor declares
    "head": HeadName,
    "scheme": Scheme,
    "types": list[str],
    "class_values": Weights,
    "state": dict[str, int | list[float]],
    "descriptions": dict[str, str],
    "unseen": list[str],
    "reads_documents": bool,
    CALIBRATION: Curves,
}


class Predictions(list[list[ScoredSpan]]):
    """The entities of each document, and the tag probabilities of its tokens if wanted."""

    def __init__(self, entities: Iterable[list[ScoredSpan]] = ()) -> None:
        super().__init__(entities)
        self.probabilities: list[Floats2d] = []  # (n_tokens, n_tags) of each document, or no element


class TokenTagger(EntityScorer, LongtailPipe):
    """A pipe whose model gives outputs a token, read by a head.

    The loss column shows the summed loss of all annotated tokens, in the loss's unit.
    """

    learnt = LEARNT
    saved = (DATA,)
    required = ("head", "scheme", "types")
    who: ClassVar[str]  # its factory
    samples_training = True  # else the untouched corpus shows the model what documents are

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
        cfg = {**copy.deepcopy(SETTINGS), **settings}
        attached = HEADS[cfg["head"]].attach(model)
        super().__init__(nlp.vocab, attached, name, scorer, head_rate, **cfg)
        self.loss = loss
        self.describe = as_describer(describe)
        self._share_layers(nlp)
        self._next_state: TwoTaskState | None = None  # after the optimizer's next step
        self._use(TypeTable())

    def _share_layers(self, nlp: Language | None) -> None:
        """Let the describer use weights of the pipeline, or of this pipe's own encoder."""
        if self.describe is not None:
            self.describe.share([*self.model.walk(), *(() if nlp is None else nodes_of(nlp))])

    def _build_head(self) -> None:
        self.codec = TagCodec(self.types.labels, self.cfg["scheme"])
        by_class, kind = self.cfg["class_values"], HEADS[self.cfg["head"]]
        values = None if by_class is None else self.codec.values(by_class)
        self.head: Head = kind(self.codec, self.loss, values)

    def _use(self, types: TypeTable) -> None:
        """Set the types, with a head for their tags. The model keeps its outputs."""
        self.types = types
        self._build_head()

    @property
    def labels(self) -> tuple[str, ...]:
        return self.types.labels

    def set_types(self, labels: Iterable[str]) -> None:
        """Set the types to learn. The model forgets its weights for others, if it has any."""
        self._use(replace(self.types, labels=tuple(labels)))
        if output_of(self.model).has_param("W"):
            forget_outputs(self.model)
        set_outputs(self.model, len(self.head.outputs), self.name)

    @property
    def is_described(self) -> bool:
        """Return whether the weights of types come from descriptions."""
        return is_described(output_of(self.model))

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
        before, head, vectors = self.types, self.head, None
        table = before.adding(label, self.is_described)
        is_new = table.labels != before.labels
        if self.is_described:
            table = table.describing({} if description is None else {label: description}, self.name)
        if self.is_described and output_of(self.model).has_param("W"):
            text = before.descriptions.get(label)
            if is_new:
                vectors = extended(output_of(self.model), table.descriptions, self.describe, self.name)
            elif table.descriptions[label] != text:
                problem = f"another text for {label!r} than {text!r}, for which its weights were learnt"
                raise ValueError(Errors.L271.format(who=self.name, problem=problem))
        if is_new and self.cfg.get("include") is not None:
            self.cfg["include"] = [*self.cfg["include"], label]
        self._use(table)
        if is_new:
            resize_outputs(self.model, head, self.head)
        if vectors is not None:
            self._set_descriptions(vectors)
        return int(is_new)

    def set_labels(self, labels: Mapping[str, str] | Iterable[str]) -> None:
        """Find other types, by their descriptions. Thresholds and weights of single types are lost.

        labels (Mapping[str, str] | Iterable[str]): Descriptions by type, or the names of the types
            if these describe them.
        RAISES (ValueError): If the model is not trained, or two types have one description.
        """
        check_described(self.model, self.name, labels=labels)
        types = tuple(dict.fromkeys([labels] if isinstance(labels, str) else labels))
        problem = "" if types else "no type"
        if not output_of(self.model).has_param("W"):
            problem = "no trained weights to be read with: load a pretrained encoder, or train first"
        if problem:
            raise ValueError(Errors.L271.format(who=self.name, problem=problem))
        for label in types:
            check_label(label)
        given = labels if isinstance(labels, Mapping) else {}
        table = TypeTable(types, unseen=types).describing(given, self.name)
        vectors = describe_apart(table.descriptions, self.describe, self.name)
        before = [name if name == "O" else f"{name} before" for name in self.head.outputs]
        self.cfg.update(dict.fromkeys(("include", "class_values", "thresholds", CALIBRATION)))
        self._use(table)
        rename_outputs(self.model, before, self.head.outputs, [0.0] * len(self.head.outputs))
        self._set_descriptions(vectors)

    def _set_descriptions(self, vectors: Floats2d) -> None:
        lay_out(output_of(self.model), *self.codec.layout())
        set_descriptions(output_of(self.model), vectors)

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
        """Settle the types, resolve the loss's class weights, and initialize the model.

        What an earlier training found is forgotten.

        get_examples (Callable): Training examples. nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): The types, as `init labels` wrote them; null finds them.
        counts_corpus (Optional[Callable]): A reader of the untouched training data, for types and
            class weights; null finds the types in the training examples.
        descriptions (Optional[Dict[str, str]]): What types are in words, for a model of
            longtail.DescribedTypes.v1; others are described by the words of their names.
        pretrained (Optional[str]): A pipeline that the command `pretrain` wrote, whose head to
            start from: a folder, or an installed package.
        """
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        mentioned = count_docs(eg.reference for eg in seen()).labels
        known = self._settle_types(mentioned, nlp, labels)
        lacking = declared_without_mention(nlp, mentioned, self.labels)
        warn_without_mention(lacking, self.name, self.is_described)
        check_known("thresholds", self.cfg["thresholds"] or (), self.labels, self.who)
        check_taught(self.loss, get_examples(), self.name)
        reader = None if counts_corpus is None else partial(self._learnt_from, counts_corpus)
        given = self.labels, self.codec.prefixes, reader, nlp, self.who, self.name
        self.cfg["class_values"] = resolve_classes(self.loss, *given)
        self.cfg.update({"state": TwoTaskState()._asdict(), CALIBRATION: None})
        self._build_head()
        check_described(self.model, self.name, descriptions=descriptions, pretrained=pretrained)
        head = None
        if self.is_described:
            head = None if pretrained is None else read_pretrained(pretrained, self.name)
            self._settle_describer(nlp, head)
            texts = {**self.types.descriptions, **(descriptions or {})}
            if unknown := ", ".join(sorted(texts.keys() - {*known, *self.labels})):
                raise ValueError(Errors.L801.format(who=self.name, unknown=unknown))
            table = TypeTable(self.labels, unseen=self.labels).describing(texts, self.name)
            self.types = table.seeing(mentioned)
            vectors = describe_apart(table.descriptions, self.describe, self.name)
            self._set_descriptions(vectors)
        sampled = get_examples() if self.samples_training else seen()
        sample = list(islice((eg.predicted for eg in sampled if len(eg.predicted)), 10))
        self.model.initialize(X=sample)
        if head is not None:
            take_pretrained(self, head, nlp)
        scores = self.head.logits(self.model.predict(sample))
        if not isinstance(scores, Ragged) or len(scores.dataXd) != sum(map(len, sample)):
            raise no_outputs(self.model, self.name)

    def _settle_describer(self, nlp: Language | None, head: PretrainedHead | None) -> None:
        """Take the describer of a pretrained head, with its data, unless another one was set."""
        block: Block = {"@misc": "longtail.HashedDescriptions.v1"}
        if head is not None and self.describe in (None, head.pipe.describe):
            self.describe, block = head.pipe.describe, head.describe or block
        elif self.describe is not None:
            return
        elif nlp is not None:
            self.describe = HashedDescriptions()
        self._share_layers(nlp)
        if nlp is not None and (name := name_in(nlp, self)):
            nlp.get_pipe_config(name)["describe"] = block  # so that types can be added later

    def _settle_types(
        self, mentioned: list[str], nlp: Language | None, labels: list[str] | None
    ) -> Collection[str]:
        """Set the types to learn.

        mentioned (List[str]): The types with mentions in the training data, most frequent first.
        nlp (Optional[Language]): The current pipeline, whose config may declare other types.
        labels (Optional[List[str]]): What `init labels` wrote.
        RETURNS (Collection[str]): All types, mentioned or declared.
        """
        raise NotImplementedError

    def _learnt_from(self, reader: Reader, nlp: Language) -> Iterable[Example]:
        """The part of a corpus that this pipe would train on: its class counts come from it."""
        return reader(nlp)

    def _gold(self, examples: list[Example]) -> Gold:
        are_others_o = self.cfg.get("include") is not None
        codes, label, lengths = gold_types(examples, self.labels, self.name, are_others_o)
        gold = Gold(*self.codec.gold(codes, label, lengths, are_others_o), lengths)
        allowed = allowed_tags(examples, self.codec)
        if allowed is not None and not self.head.can_mask:
            head, fix = f"head = {self.cfg['head']!r}", "Use head = 'softmax' or 'crf'."
            reason = "documents say which types they were annotated with, it cannot leave out others"
            raise ValueError(Errors.L002.format(who=self.name, loss=head, reason=reason, fix=fix))
        if self.types.unseen:
            self.types = self.types.seeing({self.labels[i] for i in np.unique(label[label >= 0])})
        return gold._replace(allowed=allowed)

    @property
    def _trained_columns(self) -> Floats1d | None:
        """Return 1.0 for each tag that is trained, 0.0 for those of unseen types; null for all.

        A described type without a mention is left out of training, as if it were added afterwards:
        otherwise its own weights would learn that it never occurs, whatever its description says.
        """
        unseen = self.types.unseen
        return self.codec.columns({*self.labels}.difference(unseen)) if unseen else None

    def get_loss(self, examples: Iterable[Example], scores: Scores) -> tuple[float, Scores]:
        """The summed loss of all annotated or taught tokens, and its gradient on the output."""
        examples = list(examples)
        gold = self._gold(examples)
        state = TwoTaskState(**self.cfg["state"])
        head = self.head
        if state.n_updates < self.cfg["warmup"]:
            head = HEADS[self.cfg["head"]](self.codec, CrossEntropy())
        if head.loss.reads_soft:
            gold = gold._replace(soft=soft_targets(examples, self.codec, self.name))
        # a teacher may know all types
        columns = None if head.loss.reads_soft else self._trained_columns
        if columns is not None and head.can_mask:
            allowed = np.broadcast_to(columns, (len(gold.tags), len(columns)))
            allowed = allowed if gold.allowed is None else allowed * gold.allowed
            gold = gold._replace(allowed=allowed)
        trained = head.train(scores, gold, state)
        self._next_state = trained.state
        if not trained.is_finite:
            shown = {"loss": trained.loss, "n_rows": len(gold.mask)}
            raise ValueError(Errors.L007.format(who=self.name, **shown))
        if columns is not None and not head.can_mask:  # each output has a loss of its own
            d_rows = head.logits(trained.d_scores).dataXd
            d_rows *= self.model.ops.asarray1f(columns)
        return trained.loss, trained.d_scores

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, count the training updates, and keep a two-task loss's state."""
        super().finish_update(sgd)
        state = self._next_state or TwoTaskState(**self.cfg["state"])
        self.cfg["state"] = state._replace(n_updates=state.n_updates + 1)._asdict()
        self._next_state = None

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """Find the entities of each document, with their scores where scores_key is set."""
        docs = list(docs)
        found = Predictions()
        if not any(map(len, docs)):
            found.extend([] for _ in docs)
            return found
        check_listened(self, docs)
        for part in self._slices(docs):
            outputs = self.model.predict(part)
            found.extend(self.entities(part, outputs, self.cfg["scores_key"] is not None))
            if self.cfg[SETTING]:
                p = self.marginals(part, outputs)
                found.probabilities.extend(np.split(p, np.cumsum([*map(len, part)])[:-1]))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Write the entities, and their scores and the tokens' probabilities if these are set."""
        docs = list(docs)
        super().set_annotations(docs, scores)
        for doc, p in zip(docs, getattr(scores, "probabilities", ()), strict=False):
            write_probabilities(doc, self.name, self.codec.tags, p)

    def _slices(self, docs: list[Doc]) -> Iterator[list[Doc]]:
        """A batch in slices that need little memory, however many types there are."""
        most = MOST_OUTPUTS // len(self.head.outputs)
        part: list[Doc] = []
        n_tokens = 0
        for doc in docs:
            if n_tokens and len(doc) and n_tokens + len(doc) > most:
                yield part
                part, n_tokens = [], 0
            part.append(doc)
            n_tokens += len(doc)
        yield part

    def entities(
        self, docs: list[Doc], scores: Scores, score: bool, beside: bool = True
    ) -> list[list[ScoredSpan]]:
        """The entities of each document, in its own tokens.

        scores: The model's output. score (bool): Whether probabilities are wanted, else all are 1.
        """
        tokens = np.concatenate([doc.to_array(["ENT_IOB", "IS_SPACE"]) for doc in docs])
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = ((tokens[:, 0] == 1) | (tokens[:, 0] == 3)).astype("float32") * beside
        decoded = self.head.decode(scores, lengths, outside, score)
        return tagged_entities(docs, decoded, self.codec, tokens[:, 1] == 1, score)

    def marginals(self, docs: list[Doc], scores: Scores | None = None) -> Floats2d:
        """Return the probabilities of `codec.tags`, whatever entities the documents have.

        docs (List[Doc]): The documents. A listener reads the vectors that they have now.
        scores (Optional[Scores]): The model's output for them; null runs the model.
        RETURNS (Floats2d): Shape (n_tokens, n_tags).
        """
        if not any(map(len, docs)):
            return np.zeros((0, len(self.codec)))
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = np.zeros(sum(map(len, docs)), dtype="float32")
        scores = self.model.predict(docs) if scores is None else scores
        return self.head.marginals(scores, lengths, outside)

    def saved_cfg(self) -> Block:
        """Return the settings, the types, and what was learnt of them."""
        return {**self.cfg, **self.types.to_cfg()}

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and types, which may differ in number from those before."""
        built = self.cfg["head"]
        if saved.get("head", built) != built:
            raise ValueError(Errors.L218.format(who=self.name, saved=saved["head"], found=built))
        table = TypeTable.from_cfg(saved)
        self.cfg.update({key: value for key, value in saved.items() if key not in table.to_cfg()})
        self._use(table)
        for model, head in self._classifiers() if "model" not in exclude else ():
            forget_outputs(model, len(head.outputs))

    def _classifiers(self) -> list[tuple[Model, Head]]:
        """Return the models that give outputs per token, each with the head that reads it."""
        return [(self.model, self.head)]

    @property
    def describer(self) -> DescriberData:
        """Return the data of the describer, which is saved with the pipe."""
        return DescriberData(self.describe)


def check_head(head: str, loss: Loss | None, scheme: str, model: Model, who: str) -> Loss:
    """Return the loss to train a head with, its default for null.

    RAISES (ValueError): If the head cannot train with the loss, has not the scheme, or the model
        does not fit it.
    """
    kind = HEADS[head]
    if scheme not in kind.schemes:
        others = ", ".join(name for name, h in HEADS.items() if scheme in h.schemes)
        raise unused("scheme", scheme, who, f"the heads {others}")
    if "output_layer" not in model.ref_names:
        raise no_outputs(model, who)
    if is_described(output_of(model)) and head == "two_task":
        problem = "longtail.DescribedTypes.v1 gives one output per tag, head = 'two_task' has others"
        fix = "Use head = 'softmax', 'sigmoid' or 'crf', or longtail.TokenClassifier.v1."
        raise ValueError(Errors.L209.format(who=who, problem=problem, fix=fix))
    trained_with = kind.default_loss() if loss is None else loss
    fix = f"Use longtail.{kind.default_loss.__name__}.v1 or another loss for it, or another head."
    check_loss(trained_with, kind.kinds, f"{who} with head = {head!r}", kind.needs, fix)
    return trained_with


def no_outputs(model: Model, who: str) -> ValueError:
    """To be raised of a model that gives no outputs per token."""
    problem = f"{model.name!r} gives no outputs per token"
    fix = "Use longtail.TokenClassifier.v1, with the encoder as its tok2vec."
    return ValueError(Errors.L209.format(who=who, problem=problem, fix=fix))
