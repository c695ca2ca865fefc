"""Learners, which train bi-encoders on donors. The learner of a CNN is in `cnn_learner`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from spacy.util import minibatch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from ..chains.tags import TagCodec
from ..corpus.cutting import bare
from ..describers.label_encoder import subwords_of_labels
from ..errors import Errors
from ..layers.subword_tokenizer import SubwordTokenizer
from ..output.writing import write_file
from ..scorers import make_ner_scorer
from ..settings import finite, unused
from ..training.provenance import file_content
from ..types import Block
from .batches import IGNORED, Batches, Cutter, DonorBatch, PackedDonor, pack, unlabelled
from .donors import MIXED, Donor, PretrainOptions, unusable
from .matcher import Matcher
from .teaching import store_states
from .transformer import (
    TEACHER,
    BiEncoder,
    Start,
    build_transformer,
    short_labels,
    write_transformer,
)

POWER = 0.5  # donors are sampled in proportion to this power of their number of sentences
OPEN_SHARE = 0.6  # fraction of the batches with free-text types
NEAR = 0.55  # cosine of label vectors above which both types may be right
CHUNK = 1024  # number of label texts that are compared with all others at once
SCORE_BATCH = 64  # number of sentences that are scored together
MASKED = -1e4  # logit of a masked type
TEMPERATURE = 2.0  # at which a teacher's predictions are learned
TEACHER_WEIGHT = 0.5  # weight of a teacher's predictions in the loss


class PretrainRates(NamedTuple):
    """Rates of the training of a bi-encoder."""

    encoder_rate: float = 2e-4  # learning rate of the encoder, before it falls linearly
    head_rate: float = 1e-3
    warmup: float = 0.05  # fraction of the steps
    weight_decay: float = 0.01
    dropout: float = 0.1


class BiEncoderLearner(ABC):
    """Base class of learners, which train a bi-encoder on donors.

    A training step depends on its number and the random seed only. A subclass first calls this
    constructor, which packs the donors. Then it sets `model`, and `vectors` of the packed label
    texts. If there is a teacher it calls `learn_from`. Finally it calls `begin` with all parameters
    that are trained.

    donors (List[Donor]): The donors.
    options (PretrainOptions): The options.
    rates (PretrainRates): Default rates.
    cutter (Cutter): Splits words into subwords.
    teacher_weight (float): Weight of a teacher's predictions in the loss.
    n_random_texts (int): Number of random label texts, besides the candidates, for which the model
        learns the predictions of a teacher.
    """

    model: Matcher
    module: nn.Module  # everything that is trained
    vectors: Tensor  # vectors of all label texts, shape (n_texts, n_columns)
    teacher: BiEncoder | None = None
    teacher_vectors: Tensor  # the teacher's vectors of all label texts, shape (n_texts, hidden)
    teacher_texts: Tensor  # indices of the label texts of donors in the teacher's language
    match: nn.Module | None = None  # maps states of the model to those of its teacher

    def __init__(
        self,
        donors: list[Donor],
        options: PretrainOptions,
        rates: PretrainRates,
        cutter: Cutter,
        teacher_weight: float = TEACHER_WEIGHT,
        n_random_texts: int = 0,
    ) -> None:
        self.donors, self.options = donors, options
        self.rates = rates_of(options, rates)
        self.near, self.teacher_weight, self.n_random_texts = NEAR, teacher_weight, n_random_texts
        self.device = device_of(options.gpu_id)
        self.on_gpu = self.device.type == "cuda"
        self.stream: Iterator[DonorBatch] | None = None
        self.texts: dict[str, int] = {}  # distinct label texts with their indices
        self.packed = [pack(donor, cutter, self.texts) for donor in donors]
        _weigh(self.packed, options)

    def begin(self, module: nn.Module, groups: list[Block]) -> None:
        """Prepare the training.

        module (nn.Module): Everything that is trained.
        groups (List[Dict[str, Any]]): Groups of parameters for AdamW, each with its maximum `rate`.
        """
        self.module = module
        self.optimizer = torch.optim.AdamW(groups, fused=self.on_gpu)

    @abstractmethod
    def states(self, batch: DonorBatch) -> Tensor:
        """Return the encoder's states of the words of a batch, shape (n_words, width)."""

    def describe(self, texts: Tensor) -> Tensor:
        """Return the vectors of labels, shape (n_types, n_columns).

        texts (Tensor): Indices of the label texts, shape (n_types,).
        """
        return self.vectors[texts]

    @property
    def subwords(self) -> list[str]:
        """Subwords that are not those of the start; empty for a transformer."""
        return []

    @abstractmethod
    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it.

        nlp (Language): The pipeline; changed in place.
        name (str): Final folder of the pipeline, which its config names.
        folder (Path): Folder to write.
        """

    def learn_from(self, start: Start, say: Callable[[str], None]) -> None:
        """Let the model learn the predictions of a teacher on the donors in its language.

        start (Start): The teacher.
        say (Callable[[str], None]): Called with messages on the progress.
        """
        labels = BiEncoder(start.labels).to(self.device)
        self.teacher_vectors = labels.describe(subwords_of_labels(start.tokenizer, self.texts))
        self.teacher = start.model.to(self.device).eval()
        for donor, packed in zip(self.donors, self.packed, strict=True):
            packed.has_teacher = start.lang in (donor.lang, MIXED)
        with_teacher = [packed for packed in self.packed if packed.has_teacher]
        if not with_teacher:
            raise unusable(
                self.options.teacher,
                problem=f"it reads {start.lang}, and no donor is in this language",
                fix="Omit it, or add such a donor",
                role=TEACHER,
            )
        texts = {text for packed in with_teacher for forms in packed.texts for text in forms}
        self.teacher_texts = torch.tensor(sorted(texts), device=self.device)
        if self.options.teacher_cache is not None:
            key = file_content(str(self.options.teacher))
            store_states(self.options.teacher_cache, self.teacher, key, with_teacher, say)

    def loss(self, batch: DonorBatch) -> Tensor:
        """Return the loss per word.

        This is the cross-entropy, averaged with the divergence from a teacher's predictions. A CNN
        also learns the teacher's predictions for random label texts, and a linear map of its states
        to the teacher's states, which are normalized to mean 0 and variance 1.
        """
        n, texts = 1 + 2 * len(batch.texts), batch.texts
        teacher = self.teacher if len(batch.teacher_states) else None
        if teacher is not None and self.n_random_texts:
            places = torch.randint(len(self.teacher_texts), (self.n_random_texts,), device=self.device)
            texts = torch.cat([texts, self.teacher_texts[places]])
        states = self.states(batch)
        every = self.model.logits(functional.dropout(states, self.rates.dropout), self.describe(texts))
        logits = _masked(every[:, :n], batch)
        sums = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED, reduction="sum")
        loss = sums / (batch.gold != IGNORED).sum().clamp(min=1)  # a batch may have no annotation
        if teacher is None:
            return loss
        with torch.no_grad():
            is_stored = batch.teacher_states.shape[1] > 0
            teacher_states = batch.teacher_states if is_stored else teacher.states(batch)
            predicted = teacher.logits(teacher_states, self.teacher_vectors[texts])
        if self.match is None:
            divergence = _divergence(logits, _masked(predicted, batch))
            return (1 - self.teacher_weight) * loss + self.teacher_weight * divergence
        divergence = _divergence(every, predicted)
        loss = (1 - self.teacher_weight) * loss + self.teacher_weight * divergence
        normalized = functional.layer_norm(teacher_states, teacher_states.shape[1:])
        return loss + functional.mse_loss(self.match(states), normalized)

    def batches(self, start: int) -> Iterator[DonorBatch]:
        """Return the stream of batches.

        start (int): Number of the first step.
        """
        options = self.options
        near = torch.cat([(v @ self.vectors.T > self.near).cpu() for v in self.vectors.split(CHUNK)])
        stream = Batches(self.packed, near.numpy(), options.words, options.seed, start)
        loader = DataLoader(stream, batch_size=None, num_workers=options.workers, pin_memory=self.on_gpu)
        return iter(loader)

    def step(self, step: int) -> Tensor:
        """Update the weights once and return the loss per word.

        step (int): Number of the step.
        """
        if self.stream is None:
            self.stream = self.batches(step)
        batch = next(self.stream).to(self.device)
        # so that dropout is the same when a run is resumed
        torch.manual_seed((self.options.seed * 1_000_003 + step) % 2**31)
        done = (step + 0.5) / (self.options.steps or 1)
        rate = done / max(self.rates.warmup, done) * (1 - done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["rate"]
        self.module.train()
        loss = self.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def scores(self) -> list[Block]:
        """Return F1 on the evaluated sentences of each donor that has any."""
        self.module.eval()
        return [
            self._score(donor, packed)
            for donor, packed in zip(self.donors, self.packed, strict=True)
            if donor.dev
        ]

    @torch.no_grad()
    def _score(self, donor: Donor, packed: PackedDonor) -> Block:
        labels = list(donor.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        examples = []
        batches = (minibatch(part, SCORE_BATCH) for part in (packed.dev, donor.dev))
        for sentences, docs in zip(*batches, strict=True):
            batch = unlabelled(sentences, [texts[0] for texts in packed.texts]).to(self.device)
            logits = self.model.logits(self.states(batch), self.describe(batch.texts))
            tags = logits.argmax(1).cpu().numpy()
            ends = np.cumsum([len(sentence.first) for sentence in sentences])
            for gold, sentence_tags in zip(docs, np.split(tags, ends[:-1]), strict=True):
                spans, doc = codec.spans(legal(sentence_tags)), bare(gold)
                rows = zip(spans.start, spans.end, spans.label, strict=True)
                doc.set_ents([Span(doc, int(a), int(b), label=labels[t]) for a, b, t in rows])
                examples.append(Example(doc, gold))
        scores = make_ner_scorer(labels)(examples)
        return {
            "name": donor.name,
            "micro": scores["ents_f"],
            "macro": scores["ents_macro_f"],
            "sentences": len(examples),
        }

    def save(self, path: Path, progress: Block) -> None:
        """Write the state of the training, from which it can be resumed.

        path (Path): File to write.
        progress (Dict[str, Any]): Further entries of the state.
        """
        weights, optimizer = self.module.state_dict(), self.optimizer.state_dict()
        file = BytesIO()
        state = {**progress, "subwords": self.subwords, "weights": weights, "optimizer": optimizer}
        torch.save(state, file)
        write_file(path, file.getvalue())

    def load(self, state: Block) -> None:
        """Resume from a state. Its weights are removed from the dictionary."""
        self.module.load_state_dict(state.pop("weights"))
        self.optimizer.load_state_dict(state.pop("optimizer"))


class TransformerLearner(BiEncoderLearner):
    """Learner that trains a transformer and a head on donors.

    start (Start): The weights to start from.
    teacher (Optional[Start]): Teacher with the same tokenizer.
    donors (List[Donor]): The donors.
    options (PretrainOptions): The options.
    say (Callable[[str], None]): Called with messages on the progress.
    subwords (Sequence[str]): Not used: a transformer keeps its subwords.
    """

    model: BiEncoder

    def __init__(
        self,
        start: Start,
        teacher: Start | None,
        donors: list[Donor],
        options: PretrainOptions,
        say: Callable[[str], None],
        subwords: Sequence[str] = (),
    ) -> None:
        super().__init__(donors, options, PretrainRates(), SubwordTokenizer(start.tokenizer))
        self.tokenizer = start.tokenizer
        self.label_data, labels = short_labels(start)
        self.model = start.model.to(self.device)
        label_model = BiEncoder(labels.encoder).to(self.device)
        self.vectors = label_model.describe(subwords_of_labels(self.tokenizer, self.texts))
        if teacher is not None:
            if teacher.tokenizer.get_vocab() != self.tokenizer.get_vocab():
                raise unusable(
                    options.teacher,
                    problem="its tokenizer differs from that of the encoder",
                    fix="Name a pipeline with the same tokenizer",
                    role=TEACHER,
                )
            self.learn_from(teacher, say)
        self.model.encoder.get_input_embeddings().requires_grad_(False)
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        head = [self.model.P, self.model.Q, *self.model.o.parameters()]
        decay = self.rates.weight_decay
        groups = [
            {"params": encoder, "rate": self.rates.encoder_rate, "weight_decay": decay},
            {"params": head, "rate": self.rates.head_rate, "weight_decay": decay},
        ]
        self.begin(self.model, groups)

    def states(self, batch: DonorBatch) -> Tensor:
        """Return the states of words, shape (n_words, hidden)."""
        return self.model.states(batch)

    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it with quantized weights.

        nlp (Language): The pipeline; changed in place.
        name (str): Final folder of the pipeline, which its config names.
        folder (Path): Folder to write.
        """
        weights = build_transformer(self.model.cpu(), self.label_data, name, self.tokenizer, nlp)
        write_transformer(nlp, folder, weights)


def device_of(gpu_id: int) -> torch.device:
    """Return the device to train on.

    gpu_id (int): Number of the GPU, or -1 for the CPU.
    RAISES (ValueError): If there is no such GPU (L515).
    """
    if gpu_id >= (n := torch.cuda.device_count()):
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=f"torch finds {n} CUDA devices"))
    return torch.device("cpu" if gpu_id < 0 else f"cuda:{gpu_id}")


def rates_of(options: PretrainOptions, default: PretrainRates) -> PretrainRates:
    """Return the rates with the changes of `--set`.

    options (PretrainOptions): The options.
    default (PretrainRates): The rates without changes.
    RAISES (ValueError): If a name or a value is invalid (L001).
    """
    changed = {}
    for name, value in options.settings.items():
        if name not in [f"training.{known}" for known in default._fields]:
            known = f"training.{', training.'.join(default._fields)}"
            raise ValueError(
                Errors.L001.format(
                    name="--set",
                    rule=f"one of {known}",
                    value=f"{name}={value}",
                    fix="Correct the name.",
                )
            )
        changed[name.removeprefix("training.")] = finite(
            name, value, "a number from 0 to 1", "See docs/encoders.md.", 0, 1
        )
    return default._replace(**changed)


def _weigh(packed: list[PackedDonor], options: PretrainOptions) -> None:
    """Set the weights by which donors are sampled, within the share of free-text or other types."""
    kinds = [[donor for donor in packed if donor.is_open == is_open] for is_open in (True, False)]
    is_mixed = all(kinds)
    if options.share is not None and not is_mixed:
        raise unused(
            "--share",
            options.share,
            who="`pretrain`",
            where="donors of both kinds, with and without free-text types",
        )
    share = OPEN_SHARE if options.share is None else options.share
    for donors, fraction in zip(kinds, (share, 1 - share), strict=True):
        sizes = [len(donor.train) ** POWER for donor in donors]
        for donor, size in zip(donors, sizes, strict=True):
            donor.weight = size / sum(sizes) * (fraction if is_mixed else 1.0)


def _masked(logits: Tensor, batch: DonorBatch) -> Tensor:
    """Return the logits of the candidates, masked, shape (n_words, 1 + 2 * n_types)."""
    return logits.masked_fill(functional.pad(batch.off.repeat_interleave(2, dim=1), (1, 0)), MASKED)


def _divergence(logits: Tensor, predicted: Tensor) -> Tensor:
    """Return the KL divergence from a teacher's predictions, in nats per word.

    It is multiplied by the squared temperature.

    SOURCE: Hinton et al. 2015, arXiv:1503.02531.
    """
    log_p, log_q = (functional.log_softmax(z / TEMPERATURE, 1) for z in (logits, predicted))
    return functional.kl_div(log_p, log_q, log_target=True, reduction="batchmean") * TEMPERATURE**2


def legal(tags: np.ndarray) -> np.ndarray:
    """Return tags in which every entity starts with B, shape (n_tokens,).

    tags (np.ndarray): 0 for O, 1 + 2t for B and 2 + 2t for I of type t, shape (n_tokens,).
    """
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    before = np.concatenate([[-1], types[:-1]])
    return np.where((tags > 0) & (tags % 2 == 0) & (types != before), tags - 1, tags)
