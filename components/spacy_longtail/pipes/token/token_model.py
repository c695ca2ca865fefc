"""A model with outputs per token, the types that they are for, and the head that reads them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model
from thinc.types import Floats1d, Floats2d

from ...chains.tags import Scheme, TagCodec
from ...corpus.labels import check_label
from ...describers import Describer
from ...errors import Errors
from ...heads import HEADS, Gold, Head, HeadName, Scores, Trained
from ...heads.outputs import forget_outputs, output_of, rename_outputs, resize_outputs, set_outputs
from ...layers.described import is_described, lay_out, set_descriptions
from ...losses import CrossEntropy, Loss, check_loss
from ...output.console import number
from ...sentences import sentence_lengths
from ...settings import unused
from ...types import TwoTaskState
from ..base import check_finite
from ..saved import Weights
from ..scores.spans import ScoredSpan
from .describing import describe_apart, extended
from .gold import allowed_tags, gold_types, soft_targets, tagged_entities
from .type_table import TypeTable

MAX_OUTPUTS = 1 << 22  # of the model in a slice of a batch: decoding them takes some 50 MB


class TokenModel:
    """Model with outputs per token, the types that they are for, and the head that reads them.

    A component has one, an ensemble one for each member. `types` and `class_values` are results of
    training; settings and the state of training belong to the component.

    model (Model[List[Doc], Ragged]): Outputs per token. The head adds its own layers to it.
    head (str): Name of the head.
    loss (Loss): Loss to train the head with.
    scheme (str): Scheme of the tags, "BIO" or "BILUO".
    """

    def __init__(self, model: Model, head: HeadName, loss: Loss, scheme: Scheme) -> None:
        self.kind = HEADS[head]
        self.model = self.kind.attach(model)
        self.loss, self.scheme = loss, scheme
        self.class_values: Weights = None  # class weights of the loss, by class
        self.use(TypeTable())

    def use(self, types: TypeTable) -> None:
        """Set the types, with a head for their tags. The model keeps its outputs."""
        self.types = types
        self.codec = TagCodec(types.labels, self.scheme)
        values = None if self.class_values is None else self.codec.values(self.class_values)
        self.head: Head = self.kind(self.codec, self.loss, values)
        self.warmup_head: Head | None = None  # made by the first batch of a warm-up

    @property
    def is_described(self) -> bool:
        """Return whether the weights of types come from descriptions."""
        return "output_layer" in self.model.ref_names and is_described(output_of(self.model))

    @property
    def is_trained(self) -> bool:
        """Return whether the output layer has weights."""
        return bool(output_of(self.model).has_param("W"))

    def problem_of_outputs(self) -> str:
        """Return why loaded weights do not fit the types, or an empty text."""
        output, n_needed = output_of(self.model), len(self.head.outputs)
        if not self.is_trained or (n_known := output.get_dim("nO")) == n_needed:
            return ""
        return (
            f"'types' has {', '.join(self.types.labels) or 'no type'}, which takes "
            f"{number(n_needed, 'output')} with the head and loss of the config, but the saved weights "
            f"have {n_known}. To add a type, load the pipeline as it was saved and call add_label"
        )

    def set_types(self, labels: Iterable[str], who: str) -> None:
        """Set the types to learn. The model forgets the weights of its outputs, if it has any.

        labels (Iterable[str]): The types.
        who (str): Name of the component, for messages.
        """
        self.use(replace(self.types, labels=tuple(labels)))
        if self.is_trained:
            forget_outputs(self.model)
        set_outputs(self.model, len(self.head.outputs), who)

    def add_type(
        self, label: str, description: str | None, describe: Describer | None, who: str
    ) -> bool:
        """Add a type, before training or after. The weights of other types do not change.

        label (str): The type.
        description (Optional[str]): Its description; null takes the words of its name.
        describe (Optional[Describer]): Describer of the component.
        who (str): Name of the component, for messages.
        RETURNS (bool): Whether the type is new.
        RAISES (ValueError): If the type has another description already (L271), or the new one
            cannot be told from that of another type (L272, L802).
        """
        before, head, vectors = self.types, self.head, None
        table = before.adding(label, self.is_described)
        is_new = table.labels != before.labels
        if self.is_described:
            table = table.describing({} if description is None else {label: description}, who)
        if self.is_described and self.is_trained:
            text = before.descriptions.get(label)
            if is_new:
                vectors = extended(output_of(self.model), table.descriptions, describe, who)
            elif table.descriptions[label] != text:
                problem = f"another text for {label!r} than {text!r}, for which its weights were learnt"
                raise ValueError(Errors.L271.format(who=who, problem=problem))
        self.use(table)
        if is_new:
            resize_outputs(self.model, head, self.head)
        if vectors is not None:
            self.set_descriptions(vectors)
        return is_new

    def replace_types(
        self, labels: Mapping[str, str] | Iterable[str], describe: Describer | None, who: str
    ) -> None:
        """Find other types by their descriptions. The weights of single types are lost.

        labels (Mapping[str, str] | Iterable[str]): Descriptions by type, or the names of the types
            if these describe them.
        describe (Optional[Describer]): Describer of the component.
        who (str): Name of the component, for messages.
        RAISES (ValueError): If there is no type, the model is not trained (L271), or two types have
            one description (L802).
        """
        types = tuple(dict.fromkeys([labels] if isinstance(labels, str) else labels))
        problem = "" if types else "no type"
        if not self.is_trained:
            problem = "no trained weights: load a pretrained encoder, or train first"
        if problem:
            raise ValueError(Errors.L271.format(who=who, problem=problem))
        for label in types:
            check_label(label)
        given = labels if isinstance(labels, Mapping) else {}
        table = TypeTable(types, unseen=types).describing(given, who)
        vectors = describe_apart(table.descriptions, describe, who)
        before = [name if name == "O" else f"{name} before" for name in self.head.outputs]
        self.class_values = None
        self.use(table)
        rename_outputs(self.model, before, self.head.outputs, [0.0] * len(self.head.outputs))
        self.set_descriptions(vectors)

    def set_descriptions(self, vectors: Floats2d) -> None:
        """Give the types the vectors of their descriptions, shape (n_types, n_columns)."""
        lay_out(output_of(self.model), *self.codec.layout())
        set_descriptions(output_of(self.model), vectors)

    def gold(self, examples: list[Example], are_others_o: bool, who: str) -> Gold:
        """Return the gold tags of a batch. Types with a mention in it no longer count as unseen.

        examples (List[Example]): The batch.
        are_others_o (bool): Whether entities of other types are O, or else unexpected.
        who (str): Name of the component, for messages.
        RAISES (ValueError): If documents say which types they were annotated with, and the head
            cannot mask the others (L002).
        """
        labels = self.types.labels
        codes, label, lengths = gold_types(examples, labels, who, are_others_o)
        gold = Gold(*self.codec.encode(codes, label, lengths, are_others_o), lengths)
        allowed = allowed_tags(examples, self.codec)
        if allowed is not None and not self.head.can_mask:
            head, fix = f"head = {self.head.name!r}", "Use head = 'softmax' or 'crf'."
            reason = "documents declare their annotated types, and this head cannot mask other types"
            raise ValueError(Errors.L002.format(who=who, loss=head, reason=reason, fix=fix))
        if self.types.unseen:
            self.types = self.types.seeing({labels[i] for i in np.unique(label[label >= 0])})
        return gold._replace(allowed=allowed)

    def train(
        self,
        scores: Scores,
        gold: Gold,
        examples: list[Example],
        state: TwoTaskState,
        is_warmup: bool,
        who: str,
    ) -> Trained:
        """Return loss and gradient of a batch.

        A described type without a mention is masked, as if it were added afterwards: otherwise its
        own weights would learn that it never occurs, whatever its description says. For the heads
        sigmoid and two_task only its gradient is masked, and the loss still counts it.

        scores (Scores): Output of the model.
        gold (Gold): Gold tags.
        examples (List[Example]): The batch, whose soft targets a loss may need.
        state (TwoTaskState): State of a two-task loss.
        is_warmup (bool): Whether to train with cross-entropy instead of the loss.
        who (str): Name of the component, for messages.
        RAISES (ValueError): If loss or gradient are no finite numbers (L007).
        """
        head = self.head
        if is_warmup:
            head = self.warmup_head = self.warmup_head or self.kind(self.codec, CrossEntropy())
        columns: Floats1d | None = None
        if head.loss.reads_soft:  # the teacher may know all types
            gold = gold._replace(soft=soft_targets(examples, self.codec, who))
        elif self.types.unseen:
            columns = self.codec.columns({*self.types.labels}.difference(self.types.unseen))
        if columns is not None and head.can_mask:
            allowed = np.broadcast_to(columns, (len(gold.tags), len(columns)))
            gold = gold._replace(allowed=allowed if gold.allowed is None else allowed * gold.allowed)
        trained = head.train(scores, gold, state)
        check_finite(who, len(gold.mask), *trained.numbers)
        if columns is not None and not head.can_mask:  # each output has a loss of its own
            d_rows = head.logits(trained.d_scores).dataXd
            d_rows *= self.model.ops.asarray1f(columns)
        return trained

    def slices(self, docs: list[Doc]) -> Iterator[list[Doc]]:
        """Yield a batch in slices that need little memory, however many types there are."""
        max_tokens = MAX_OUTPUTS // len(self.head.outputs)
        part: list[Doc] = []
        n_tokens = 0
        for doc in docs:
            if n_tokens and len(doc) and n_tokens + len(doc) > max_tokens:
                yield part
                part, n_tokens = [], 0
            part.append(doc)
            n_tokens += len(doc)
        yield part

    def entities(
        self, docs: list[Doc], scores: Scores, with_scores: bool, beside: bool = True
    ) -> list[list[ScoredSpan]]:
        """Return the entities of each document, in its own tokens.

        docs (List[Doc]): Documents with at least one token.
        scores (Scores): Output of the model for them.
        with_scores (bool): Whether to compute probabilities; otherwise all are 1.
        beside (bool): Whether to find entities only beside those that the documents have.
        """
        tokens = np.concatenate([doc.to_array(["ENT_IOB", "IS_SPACE"]) for doc in docs])
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = ((tokens[:, 0] == 1) | (tokens[:, 0] == 3)).astype("float32") * beside
        decoded = self.head.decode(scores, lengths, outside, with_scores)
        return tagged_entities(docs, decoded, self.codec, tokens[:, 1] == 1, with_scores)

    def marginals(self, docs: list[Doc], scores: Scores | None = None) -> Floats2d:
        """Return the probabilities of `codec.tags`, whatever entities the documents have.

        docs (List[Doc]): Documents. A listener reads the vectors that they have now.
        scores (Optional[Scores]): Output of the model for them; null runs the model.
        RETURNS (Floats2d): Shape (n_tokens, n_tags).
        """
        if not any(map(len, docs)):
            return np.zeros((0, len(self.codec)))
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = np.zeros(sum(map(len, docs)), dtype="float32")
        scores = self.model.predict(docs) if scores is None else scores
        return self.head.marginals(scores, lengths, outside)


def check_head(head: str, loss: Loss | None, scheme: str, model: Model, who: str) -> Loss:
    """Return the loss to train a head with, its default for null.

    RAISES (ValueError): If the head cannot train with the loss, lacks the scheme, or does not fit
        the model.
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
    """Return the error for a model without outputs per token."""
    problem = f"{model.name!r} gives no outputs per token"
    fix = "Use longtail.TokenClassifier.v1, with the encoder as its tok2vec."
    return ValueError(Errors.L209.format(who=who, problem=problem, fix=fix))
