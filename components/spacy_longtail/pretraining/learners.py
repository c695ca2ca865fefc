"""Training of bi-encoders on donors: transformers, and in `cnn_learner` CNNs."""

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
from ..settings import finite
from ..types import Block
from .batches import (
    IGNORED,
    Batches,
    DonorBatch,
    PackedDonor,
    TrainingData,
    batch_without_gold,
    pack_donors,
)
from .donors import Donor, PretrainOptions, unusable
from .matcher import Matcher
from .teaching import Teacher
from .transformer import (
    TEACHER,
    BiEncoder,
    TransformerStart,
    build_transformer,
    short_labels,
    write_transformer,
)

MIN_SIMILARITY = 0.55  # cosine of label vectors above which both types may be right
CHUNK = 1024  # number of label texts that are compared with all others at once
SCORE_BATCH = 64  # number of sentences that are scored together


class PretrainRates(NamedTuple):
    """Rates of the training of a bi-encoder."""

    encoder_rate: float = 2e-4  # learning rate of the encoder, before it falls linearly
    head_rate: float = 1e-3
    warmup: float = 0.05  # fraction of the steps
    weight_decay: float = 0.01
    dropout: float = 0.1


class Student(ABC):
    """Bi-encoder that is trained, with the label texts of the donors in the form that it reads."""

    model: Matcher  # on the device to train on
    betas = (0.9, 0.999)  # of AdamW
    subwords: Sequence[str] = ()  # those of a CNN, whose order is that of their vectors

    @abstractmethod
    def states(self, batch: DonorBatch, dropout: float) -> Tensor:
        """Return the encoder's states of the words of a batch, shape (n_words, width).

        batch (DonorBatch): The batch.
        dropout (float): Dropout rate in training.
        """

    @abstractmethod
    def describe(self, label_ids: Tensor) -> Tensor:
        """Return the vectors of label texts, shape (n_labels, n_columns).

        label_ids (Tensor): Numbers of the label texts, shape (n_labels,).
        """

    @abstractmethod
    def encoder_groups(self, rates: PretrainRates) -> list[Block]:
        """Return the groups of the encoder's parameters for AdamW, each with its maximum `rate`.

        rates (PretrainRates): The rates.
        """

    @abstractmethod
    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it.

        nlp (Language): The pipeline; changed in place.
        name (str): Final folder of the pipeline, which its config names.
        folder (Path): Folder to write.
        """


class Learner:
    """Trains a student. A training step depends on its number and the random seed only.

    data (TrainingData): The donors.
    student (Student): The bi-encoder.
    teacher (Optional[Teacher]): Teacher of the donors in its language.
    similar (np.ndarray): Whether label texts are similar, shape (n_texts, n_texts).
    options (PretrainOptions): The options.
    rates (PretrainRates): The rates.
    """

    def __init__(
        self,
        data: TrainingData,
        student: Student,
        teacher: Teacher | None,
        similar: np.ndarray,
        options: PretrainOptions,
        rates: PretrainRates,
    ) -> None:
        self.data, self.student, self.teacher, self.similar = data, student, teacher, similar
        self.options, self.rates = options, rates
        self.device = student.model.P.device
        trained = [student.model, None if teacher is None else teacher.match]
        self.module = nn.ModuleList([module for module in trained if module is not None])
        in_encoder = {*map(id, student.model.encoder.parameters())}
        head = [p for p in self.module.parameters() if id(p) not in in_encoder]
        groups = [
            *student.encoder_groups(rates),
            {"params": head, "rate": rates.head_rate, "weight_decay": rates.weight_decay},
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=student.betas, fused=self.device.type == "cuda")

    def loss(self, batch: DonorBatch) -> Tensor:
        """Return the loss per word.

        This is the cross-entropy, averaged with the divergence from a teacher's predictions. A CNN
        also learns the teacher's predictions for random label texts, and a linear map of its states
        to the teacher's states, which are normalized to mean 0 and variance 1.
        """
        n, label_ids = 1 + 2 * len(batch.label_ids), batch.label_ids
        teacher = self.teacher if len(batch.teacher_states) else None
        if teacher is not None:
            label_ids = torch.cat([label_ids, teacher.random_labels()])
        dropout = self.rates.dropout
        states, vectors = self.student.states(batch, dropout), self.student.describe(label_ids)
        logits = self.student.model.logits(functional.dropout(states, dropout), vectors)
        sums = functional.cross_entropy(
            batch.masked(logits[:, :n]), batch.gold, ignore_index=IGNORED, reduction="sum"
        )
        loss = sums / (batch.gold != IGNORED).sum().clamp(min=1)  # a batch may have no annotation
        if teacher is None:
            return loss
        return teacher.mixed(loss, batch, label_ids, states, logits)

    def batches(self, start: int) -> Iterator[DonorBatch]:
        """Return the stream of batches.

        start (int): Number of the first step.
        """
        options = self.options
        stream = Batches(self.data.packed, self.similar, options.batch_size, options.seed, start)
        pins = self.device.type == "cuda"
        return iter(DataLoader(stream, None, num_workers=options.workers, pin_memory=pins))

    def step(self, step: int, batch: DonorBatch) -> Tensor:
        """Update the weights once and return the loss per word.

        step (int): Number of the step.
        batch (DonorBatch): The batch of this number.
        """
        # so that dropout is the same when a run is resumed
        torch.manual_seed((self.options.seed * 1_000_003 + step) % 2**31)
        done = (step + 0.5) / (self.options.steps or 1)
        rate = done / max(self.rates.warmup, done) * (1 - done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["rate"]
        self.module.train()
        loss = self.loss(batch.to(self.device))
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def scores(self) -> list[Block]:
        """Return F1 on the evaluated sentences of each donor that has any."""
        self.module.eval()
        pairs = zip(self.data.donors, self.data.packed, strict=True)
        return [self._score(donor, packed) for donor, packed in pairs if donor.dev]

    @torch.no_grad()
    def _score(self, donor: Donor, packed: PackedDonor) -> Block:
        labels = list(donor.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        examples = []
        batches = (minibatch(part, SCORE_BATCH) for part in (packed.dev, donor.dev))
        for sentences, docs in zip(*batches, strict=True):
            batch = batch_without_gold(sentences, [ids[0] for ids in packed.label_ids]).to(self.device)
            states, vectors = self.student.states(batch, 0.0), self.student.describe(batch.label_ids)
            tags = self.student.model.logits(states, vectors).argmax(1).cpu().numpy()
            ends = np.cumsum([len(sentence.first) for sentence in sentences])
            for gold, sentence_tags in zip(docs, np.split(tags, ends[:-1]), strict=True):
                spans, doc = codec.spans(with_beginnings(sentence_tags)), bare(gold)
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

    def save(self, path: Path, more: Block) -> None:
        """Write a checkpoint, from which the training can be resumed.

        path (Path): File to write.
        more (Dict[str, Any]): Further entries of the checkpoint.
        """
        state = {
            **more,
            "subwords": list(self.student.subwords),
            "weights": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(state, file := BytesIO())
        write_file(path, file.getvalue())

    def load(self, state: Block) -> None:
        """Resume from a checkpoint. Its weights are removed from the dictionary."""
        self.module.load_state_dict(state.pop("weights"))
        self.optimizer.load_state_dict(state.pop("optimizer"))


class TransformerStudent(Student):
    """Student that is a transformer. The vectors of labels are not trained.

    start (TransformerStart): The weights to start from.
    data (TrainingData): The donors.
    device (torch.device): Device to train on.
    """

    model: BiEncoder

    def __init__(self, start: TransformerStart, data: TrainingData, device: torch.device) -> None:
        self.tokenizer = start.tokenizer
        self.label_data, labels = short_labels(start)
        self.model = start.model.to(device)
        subwords = subwords_of_labels(start.tokenizer, data.label_texts)
        self.vectors = BiEncoder(labels.encoder).to(device).describe(subwords)
        self.model.encoder.get_input_embeddings().requires_grad_(False)

    def states(self, batch: DonorBatch, dropout: float) -> Tensor:
        """Return the states of words, shape (n_words, hidden). The encoder has its own dropout."""
        return self.model.states(batch)

    def describe(self, label_ids: Tensor) -> Tensor:
        """Return the vectors of label texts, shape (n_labels, hidden)."""
        return self.vectors[label_ids]

    def encoder_groups(self, rates: PretrainRates) -> list[Block]:
        """Return all parameters of the encoder except the embeddings, which are fixed."""
        params = [p for p in self.model.encoder.parameters() if p.requires_grad]
        return [{"params": params, "rate": rates.encoder_rate, "weight_decay": rates.weight_decay}]

    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it with quantized weights."""
        weights = build_transformer(self.model.cpu(), self.label_data, name, self.tokenizer, nlp)
        write_transformer(nlp, folder, weights)


def transformer_learner(
    start: TransformerStart,
    teacher_start: TransformerStart | None,
    donors: list[Donor],
    options: PretrainOptions,
    say: Callable[[str], None],
) -> Learner:
    """Return a learner of a transformer.

    start (TransformerStart): The weights to start from.
    teacher_start (Optional[TransformerStart]): Teacher with the same tokenizer.
    donors (List[Donor]): The donors.
    options (PretrainOptions): The options.
    say (Callable[[str], None]): Called with messages on the progress.
    RAISES (ValueError): If the teacher has another tokenizer, or an option cannot be used.
    """
    if teacher_start and teacher_start.tokenizer.get_vocab() != start.tokenizer.get_vocab():
        raise unusable(
            options.teacher,
            problem="its tokenizer differs from that of the encoder",
            fix="Name a pipeline with the same tokenizer",
            role=TEACHER,
        )
    device, lang = device_of(options.gpu_id), teacher_start and teacher_start.lang
    data = pack_donors(donors, SubwordTokenizer(start.tokenizer), options.share, lang)
    student = TransformerStudent(start, data, device)
    teacher = teacher_start and Teacher(teacher_start, data, options, device, say)
    rates = rates_of(options, PretrainRates())
    return Learner(data, student, teacher, similar_labels(student.vectors), options, rates)


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


def similar_labels(vectors: Tensor, min_similarity: float = MIN_SIMILARITY) -> np.ndarray:
    """Return whether label texts are similar, shape (n_texts, n_texts).

    vectors (Tensor): Vectors of the label texts, of unit length, shape (n_texts, n_columns).
    min_similarity (float): Minimum cosine of similar ones.
    """
    rows = [(chunk @ vectors.T > min_similarity).cpu() for chunk in vectors.split(CHUNK)]
    return torch.cat(rows).numpy()


def with_beginnings(tags: np.ndarray) -> np.ndarray:
    """Return tags in which every entity starts with B, shape (n_tokens,).

    tags (np.ndarray): 0 for O, 1 + 2t for B and 2 + 2t for I of type t, shape (n_tokens,).
    """
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    before = np.concatenate([[-1], types[:-1]])
    return np.where((tags > 0) & (tags % 2 == 0) & (types != before), tags - 1, tags)
