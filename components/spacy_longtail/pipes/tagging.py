"""What the pipes that label tokens share: labels, heads, gold tags, decoding, saving."""

import copy
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.pipe import deserialize_config
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Config, Model
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.tags import Others, TagCodec
from ..corpus.examples import gold_entities, sentence_lengths
from ..corpus.type_words import words_of
from ..errors import Errors, Warnings
from ..heads import HEADS, Gold, Head
from ..heads.outputs import forget_outputs, output_of, rename_outputs, set_outputs
from ..layers.described import is_described, lay_out, set_descriptions
from ..losses import CrossEntropy
from ..types import ANNOTATED_TYPES, ENTITY, TagLoss, TwoTaskLoss, TwoTaskState
from .describing import (
    Describe,
    PretrainedHead,
    check_not_described,
    default_describe,
    describe_types,
    read_pretrained,
    resolve_describe,
    take_pretrained,
    vectors_of,
)
from .rates import with_head_rate
from .scores import ScoredSpan

DEFAULT_TOKEN_MODEL: dict[str, Any] = Config().from_str("""
[model]
@architectures = "longtail.TokenClassifier.v1"
nO = null

[model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
""")["model"]

SETTINGS: dict[str, Any] = {
    "head": "softmax",
    "scheme": "BIO",
    "types": [],  # the gold types that are learnt, in the order of their columns
    "typed": True,
    "others": "O",  # what gold entities of other types are
    "repair": "begin",
    "entity_threshold": None,
    "begin_threshold": None,
    "warmup": 0,
    "class_values": None,  # what the loss's preset resolved to, by class
    "state": TwoTaskState()._asdict(),
    "descriptions": {},  # by type, of a model that has use for them
}


def check_head(head: str, loss: Any, scheme: str, model: Model, who: str) -> Any:
    """The loss to train the head with; its default for null.

    RAISES (ValueError): L002, L003, L211, L213, L216, L273.
    """
    if head not in HEADS:
        raise ValueError(Errors.L211.format(found=head, who=who, known=", ".join(HEADS)))
    kind = HEADS[head]
    if scheme not in kind.schemes:
        others = ", ".join(name for name, h in HEADS.items() if scheme in h.schemes)
        where = f"the heads {others}"
        raise ValueError(Errors.L213.format(name="scheme", value=scheme, who=who, where=where))
    if "output_layer" not in model.ref_names:
        raise ValueError(Errors.L216.format(who=who, found=model.name))
    if is_described(output_of(model)) and head == "two_task":
        raise ValueError(Errors.L273.format(head=head, who=who))
    if loss is None:
        return kind.default_loss()
    if not isinstance(loss, (TagLoss, TwoTaskLoss)):
        raise ValueError(Errors.L003.format(who=who, found=repr(loss)))
    if head not in loss.heads:
        reason = f"it trains {' or '.join(loss.heads)}, not head = '{head}'"
        fix = f"Use longtail.{kind.default_loss.__name__}.v1 or another loss for it, or another head."
        raise ValueError(Errors.L002.format(who=who, loss=loss, reason=reason, fix=fix))
    return loss


class TokenTagger(TrainablePipe):
    """A pipe whose model gives outputs a token, read by a head.

    The loss column shows the summed loss of all annotated tokens, in the loss's unit.
    """

    def __init__(
        self,
        vocab: Any,
        model: Model,
        name: str,
        *,
        loss: Any,
        scorer: Callable | None,
        head_rate: float = 1.0,
        describe: Describe | None = None,
        **settings: Any,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.loss = loss
        self.scorer = scorer
        self.head_rate = head_rate
        self.describe = describe
        self.cfg: dict[str, Any] = {**copy.deepcopy(SETTINGS), **settings}
        self.model = HEADS[self.cfg["head"]].attach(model)
        self._build_head()

    def _build_head(self) -> None:
        """The codec and the head of the current types, and the loss with its class values."""
        types = tuple(self.cfg["types"])
        self.codec = TagCodec(types if self.cfg["typed"] else (ENTITY,), self.cfg["scheme"])
        loss, values = self.loss, self.cfg["class_values"]
        if values is not None and getattr(loss, "preset", None) is not None:
            resolved = self.codec.values(values, loss.preset.default(values))
            loss = loss.bind(self.model.ops.asarray1f(resolved))
        self.head: Head = HEADS[self.cfg["head"]](self.codec, loss)
        self._hashes = np.asarray([get_string_id(t) for t in types], dtype="uint64")

    @property
    def labels(self) -> tuple[str, ...]:
        return self.codec.labels if self.cfg["types"] else ()

    @property
    def label_data(self) -> list[str]:
        return list(self.cfg["types"])

    def set_types(self, types: Iterable[str]) -> None:
        """The types to learn. Weights for others, if there are any, are forgotten."""
        self.cfg["types"] = list(types)
        self._build_head()
        if output_of(self.model).has_param("W"):
            forget_outputs(self.model)
        set_outputs(self.model, len(self.head.outputs), self.name)

    @property
    def is_described(self) -> bool:
        """Whether the weights of types come from descriptions."""
        return is_described(output_of(self.model))

    def add_label(self, label: str, description: str | None = None) -> int:
        """Add a type, before training or after: what was learnt of the others stays.

        label (str): The type.
        description (Optional[str]): What it is in words, for a model of longtail.DescribedTypes.v1; null
            takes the words of its name. Such a model may find it without a mention to learn from.
        RETURNS (int): 0 if the type is there already, else 1.
        RAISES (ValueError): L213, L271, L272.
        """
        if label in self.cfg["types"]:
            return 0
        if not self.is_described:
            check_not_described({"description": description}, self.name)
        is_trained = output_of(self.model).has_param("W")
        texts = {**self.cfg["descriptions"], label: description or words_of(label)}
        if self.is_described and is_trained:
            texts = describe_types([*self.cfg["types"], label], texts, texts, self.name)
            vector = vectors_of([texts[label]], self.describe, self.vocab, self.name)
        if self.cfg.get("include") is not None:
            self.cfg["include"] = [*self.cfg["include"], label]
        before = self.head.outputs
        self.cfg["types"].append(label)
        self._build_head()
        if is_trained:
            rename_outputs(self.model, before, self.head.outputs, self.head.unlearnt)
        elif output_of(self.model).maybe_get_dim("nO") == len(before):  # by the config
            forget_outputs(self.model)
            set_outputs(self.model, len(self.head.outputs), self.name)
        if self.is_described:
            self.cfg["descriptions"] = texts
            if is_trained:
                output = output_of(self.model)
                lay_out(output, *self.codec.layout())
                known = output.ops.to_numpy(output.get_param("D"))
                set_descriptions(output, np.concatenate([known, vector]))
        return 1

    def _initialize_model(
        self,
        docs: list[Doc],
        nlp: Language | None,
        descriptions: dict[str, str] | None,
        pretrained: str | None,
        known: Iterable[str],
    ) -> None:
        """Initialize the model, and begin with what is known of the types.

        docs (List[Doc]): A sample. nlp (Optional[Language]): The pipeline.
        descriptions (Optional[Dict[str, str]]): Texts by type.
        pretrained (Optional[str]): A pipeline whose described head to begin with.
        known (Iterable[str]): All types of the data.
        RAISES (ValueError): L213, L216, L271, L272, L274, L275.
        """
        output = output_of(self.model)
        head = None
        if not self.is_described:
            check_not_described({"descriptions": descriptions, "pretrained": pretrained}, self.name)
        else:
            head = None if pretrained is None else read_pretrained(pretrained, self.name)
            self._settle_describe(nlp, head)
            declared = getattr(self.scorer, "declared", None) or ()
            own = {**self.cfg["descriptions"], **(descriptions or {})}
            texts = describe_types(self.labels, own, {*known, *declared, *self.labels}, self.name)
            vectors = vectors_of(list(texts.values()), self.describe, self.vocab, self.name)
            self.cfg["descriptions"] = texts
            lay_out(output, *self.codec.layout())
            set_descriptions(output, vectors)
        self.model.initialize(X=docs)
        if head is not None:
            same = vectors_of(head.texts, self.describe, self.vocab, self.name)
            take_pretrained(output, head, self.codec.prefixes, same, pretrained, self.name)
        self._check_model(docs)

    def _settle_describe(self, nlp: Language | None, head: PretrainedHead | None) -> None:
        """What `describe = null` stands for: the pretrained head's describer, or the pipeline's own.

        The config keeps it, so that types can be added to the trained pipeline.
        """
        if self.describe is not None or nlp is None:
            return
        block = default_describe(nlp) if head is None or head.describe is None else head.describe
        self.describe = resolve_describe(block)
        nlp.get_pipe_config(self.name)["describe"] = block

    def _gold(self, examples: list[Example]) -> Gold:
        """The gold tags of the predicted tokens."""
        iob, types = zip(*(gold_entities(eg) for eg in examples), strict=True)
        codes, hashes = np.concatenate(iob), np.concatenate(types)
        order = np.argsort(self._hashes)
        at = np.searchsorted(self._hashes[order], hashes).clip(max=len(order) - 1)
        label = np.where(self._hashes[order][at] == hashes, order[at], -1)
        others: Others = self.cfg["others"]
        if self.cfg.get("include") is None and ((label < 0) & (codes == 3)).any():
            unknown = np.unique(hashes[(label < 0) & (codes == 3)])
            found = ", ".join(examples[0].reference.vocab.strings[int(h)] for h in unknown)
            warnings.warn(Warnings.W006.format(who=self.name, found=found), stacklevel=2)
            others = "missing"
        if not self.cfg["typed"]:
            label = np.minimum(label, 0)
        lengths = np.concatenate([sentence_lengths(eg.predicted) for eg in examples])
        return Gold(*self.codec.gold(codes, label, lengths, others), lengths, self._allowed(examples))

    def _allowed(self, examples: list[Example]) -> Floats2d | None:
        """Which tags each token can have, where documents say which types they were annotated with.

        RAISES (ValueError): L276 for a head that can shut no tags.
        """
        found = [eg.reference.user_data.get(ANNOTATED_TYPES) for eg in examples]
        if all(types is None for types in found):
            return None
        if not self.head.can_shut:
            raise ValueError(Errors.L276.format(who=self.name, head=self.cfg["head"]))
        known = [  # a type that occurs in a document was annotated there, listed or not
            self.labels if types is None else {*types, *(ent.label_ for ent in eg.reference.ents)}
            for types, eg in zip(found, examples, strict=True)
        ]
        rows = [self.codec.columns(types) for types in known]
        return np.repeat(np.stack(rows), [len(eg.predicted) for eg in examples], axis=0)

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, Any]:
        """The summed loss of all annotated tokens, and its gradient on the model's output.

        examples (Iterable[Example]): The batch. scores: The model's output for it.
        RAISES (ValueError): L007.
        """
        gold = self._gold(list(examples))
        state = TwoTaskState(**self.cfg["state"])
        loss = CrossEntropy() if state.n_updates < self.cfg["warmup"] else self.head.loss
        value, d_scores, state = self.head.train(scores, gold, loss, state)
        self.cfg["state"] = state._asdict()
        n_tokens = float(gold.mask.sum())
        d_scores = self.head.scaled(d_scores, n_tokens)
        if not (np.isfinite(value) and self.head.is_finite(d_scores)):
            raise ValueError(Errors.L007.format(who=self.name, loss=value, n_rows=len(gold.mask)))
        return value * n_tokens, d_scores

    def finish_update(self, sgd: Any) -> None:
        """Step the optimizer, and count the training updates."""
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))
        self.cfg["state"]["n_updates"] += 1

    def entities(
        self, docs: list[Doc], scores: Any, score: bool, beside: bool = True
    ) -> list[list[ScoredSpan]]:
        """The entities of each document, in its own tokens.

        scores: The model's output. score (bool): Whether their probabilities are wanted, else all are 1.
        beside (bool): Whether there is none where one stands already.
        """
        tokens = np.concatenate([doc.to_array(["ENT_IOB", "IS_SPACE"]) for doc in docs])
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = ((tokens[:, 0] == 1) | (tokens[:, 0] == 3)).astype("float32") * beside
        columns, p = self.head.decode(scores, lengths, outside, score, self.cfg)
        start, end, label = _trimmed(*self.codec.spans(columns), tokens[:, 1] == 1)
        sums = np.concatenate([[0.0], np.cumsum(p, dtype="float64")])
        means = (sums[end] - sums[start]) / (end - start)
        doc_ends = np.cumsum([len(doc) for doc in docs])
        doc_i = np.searchsorted(doc_ends, start, side="right")
        found: list[list[ScoredSpan]] = [[] for _ in docs]
        rows = zip(
            doc_i.tolist(), start.tolist(), end.tolist(), label.tolist(), means.tolist(), strict=True
        )
        for i, a, b, k, mean in rows:  # over entities
            at = int(doc_ends[i]) - len(docs[i])
            own = tuple(p[a:b].tolist()) if score else ()
            found[i].append(ScoredSpan(a - at, b - at, self.codec.labels[k], mean, own))
        return found

    def _read_cfg(self, saved: dict[str, Any], exclude: Iterable[str]) -> None:
        """Take over the cfg that was saved, and make room for its types."""
        built = self.cfg["head"]
        self.cfg.update(saved)
        if self.cfg["head"] != built:
            raise ValueError(Errors.L218.format(who=self.name, saved=self.cfg["head"], found=built))
        self._build_head()
        if "model" not in exclude:
            forget_outputs(self.model)

    def _check_outputs(self) -> None:
        """Refuse weights of another loss's outputs. RAISES (ValueError): L218."""
        found, wanted = self.model.get_ref("output_layer").maybe_get_dim("nO"), len(self.head.outputs)
        if found not in (None, wanted):
            saved, own = f"{found} outputs", f"{wanted} outputs"
            raise ValueError(Errors.L218.format(who=self.name, saved=saved, found=own))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "TokenTagger":
        """Load a pipe with its types, which may differ in number from those before."""
        first = {"cfg": lambda b: self._read_cfg(srsly.json_loads(b), exclude)}
        util.from_bytes(bytes_data, first, exclude)
        super().from_bytes(bytes_data, exclude=exclude)
        self._check_outputs()
        return self

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> "TokenTagger":
        """Load a pipe with its types, which may differ in number from those before."""
        first = {"cfg": lambda p: self._read_cfg(deserialize_config(p), exclude)}
        util.from_disk(path, first, exclude)
        super().from_disk(path, exclude=exclude)
        self._check_outputs()
        return self

    def _check_model(self, docs: list[Doc]) -> None:
        """Whether the model gives one row per token. RAISES (ValueError): L216."""
        scores = self.head.logits(self.model.predict(docs))
        n_rows = len(scores.dataXd) if isinstance(scores, Ragged) else None
        if n_rows != sum(map(len, docs)):
            raise ValueError(Errors.L216.format(who=self.name, found=self.model.name))


def _trimmed(
    start: Ints1d, end: Ints1d, label: Ints1d, space: Floats1d
) -> tuple[Ints1d, Ints1d, Ints1d]:
    """Spans without the whitespace tokens at their ends; those of nothing else are left out."""
    while len(start) and (outer := space[start]).any():
        start = start + outer
        kept = start < end
        start, end, label = start[kept], end[kept], label[kept]
    while (outer := space[end - 1]).any():
        end = end - outer
    return start, end, label
