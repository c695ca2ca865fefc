"""Bi-encoders in training on donors and open types: a transformer, and a CNN."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from ..chains.tags import TagCodec
from ..corpus.cutting import bare
from ..describers.label_encoder import subwords_of_labels
from ..describers.static import subwords_of_texts
from ..errors import Errors
from ..layers.pieces import Pieces
from ..output.writing import write_file
from ..scorers import make_ner_scorer
from ..settings import finite, unused
from ..types import Block
from .batches import IGNORED, Batches, Cutter, DonorBatch, PackedDonor, TableCutter, collate, pack
from .cnn import OF_TEXT, CNNStart, Vocabulary, build_cnn, new_cnn, padded, reduce_columns
from .donors import Donor
from .records import PretrainOptions, unusable
from .transformer import (
    BITS,
    TEACHER,
    BiEncoder,
    Start,
    build_transformer,
    short_labels,
    write_transformer,
)

POWER = 0.5  # of the number of sentences: donors are drawn in proportion to it
SHARE = 0.6  # of the batches: those with open types
NEAR, NEAR_CNN = 0.55, 0.65  # cosine of label vectors from which types may both be right
CHUNK = 1024  # label texts that are compared with all others at once
SCORED = 64  # sentences that are scored together
OFF = -1e4
TEMPERATURE = 2.0  # that predictions of a teacher are learnt at
TEACHES, TEACHES_CNN = 0.5, 0.6  # share of a teacher's predictions in the loss
TABLE_RATE = 0.5  # of the subword vectors of a CNN, times the encoder's
BETAS = (0.9, 0.98)  # of AdamW for a CNN
N_OTHERS = 64  # label texts at random, beside the candidates, whose predictions a CNN learns
KEPT = 96  # columns of the table of subwords that is written


class PretrainRates(NamedTuple):
    """How fast a bi-encoder learns."""

    encoder_rate: float = 2e-4  # the highest, after the warm-up
    head_rate: float = 1e-3
    warmup: float = 0.05  # of the steps
    weight_decay: float = 0.01
    dropout: float = 0.1


OF_CNN = PretrainRates(encoder_rate=2e-3, head_rate=2e-3, warmup=0.03)


class BiEncoderLearner(ABC):
    """A learner. What a step does depends on its number and the seed alone."""

    model: Any  # a Matcher
    module: nn.Module  # all that is trained
    vectors: Tensor  # (n_texts, n_columns), of all label texts
    near = NEAR
    teacher: BiEncoder | None = None  # a pretrained transformer whose predictions are learnt, too
    teacher_vectors: Tensor  # (n_texts, hidden), of all label texts as its own label encoder reads them
    match: nn.Module | None = None  # from states of the model to those of its teacher
    teaches, n_others = TEACHES, 0

    def __init__(
        self, donors: list[Donor], options: PretrainOptions, usual: PretrainRates, cutter: Cutter
    ) -> None:
        self.donors, self.options = donors, options
        self.rates = _rates(options, usual)
        if options.gpu_id >= torch.cuda.device_count():
            problem = f"torch finds {torch.cuda.device_count()} CUDA devices"
            raise ValueError(Errors.L515.format(gpu_id=options.gpu_id, problem=problem))
        self.device = torch.device("cpu" if options.gpu_id < 0 else f"cuda:{options.gpu_id}")
        self.is_half = self.device.type == "cuda"
        self.stream: Iterator[DonorBatch] | None = None
        self.texts: dict[str, int] = {}  # label texts, each once, with their places
        self.packed = [pack(donor, cutter, self.texts) for donor in donors]
        _weigh(self.packed, options)

    def begin(self, module: nn.Module, groups: list[Block]) -> None:
        """Begin to train. groups (List): Of parameters, as for AdamW, with the highest `rate`."""
        self.module = module
        self.optimizer = torch.optim.AdamW(groups, fused=self.is_half)

    @abstractmethod
    def states(self, batch: DonorBatch) -> Tensor:
        """The words of a batch as the encoder reads them, (n_words, width)."""

    def describe(self, texts: Tensor) -> Tensor:
        """Vectors of labels, (n_types, n_columns). texts (Tensor): Their places among all texts."""
        return self.vectors[texts]

    @abstractmethod
    def finish(self, name: str, nlp: Language) -> None:
        """Add the trained components to an empty pipeline. name (str): Where it will be found."""

    def write(self, nlp: Language, folder: Path) -> None:
        """Write the finished pipeline. folder (Path): To write."""
        nlp.to_disk(folder)

    def read_teacher(self, start: Start) -> None:
        """Take a teacher. start (Start): Its weights."""
        labels = BiEncoder(start.labels).to(self.device)
        self.teacher_vectors = labels.describe(subwords_of_labels(start.tokenizer, self.texts))
        self.teacher = start.model.to(self.device).eval()

    def loss(self, batch: DonorBatch) -> Tensor:
        """Cross-entropy per word, and how far predictions and states are from a teacher's.

        A CNN's predictions are compared for the candidates and for label texts at random. A linear
        map of its states is to be the teacher's last states, of mean 0 and variance 1.
        """
        n, texts = 1 + 2 * len(batch.texts), batch.texts
        if self.teacher is not None and self.n_others:
            others = torch.randint(len(self.texts), (self.n_others,), device=self.device)
            texts = torch.cat([texts, others])
        states = self.states(batch)
        every = self.model.logits(functional.dropout(states, self.rates.dropout), self.describe(texts))
        logits = _without_off(every[:, :n], batch)
        loss = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED)
        if self.teacher is None:
            return loss
        with torch.no_grad():
            read = self.teacher.states(batch)
            theirs = self.teacher.logits(read, self.teacher_vectors[texts])
        if self.match is None:
            far = _divergence(logits, _without_off(theirs, batch))
            return (1 - self.teaches) * loss + self.teaches * far
        loss = (1 - self.teaches) * loss + self.teaches * _divergence(every, theirs)
        wanted = functional.layer_norm(read, read.shape[1:])
        return loss + functional.mse_loss(self.match(states), wanted)

    def batches(self, start: int) -> Iterator[DonorBatch]:
        """The batches from a step on. start (int): Its number."""
        options = self.options
        near = torch.cat([(v @ self.vectors.T > self.near).cpu() for v in self.vectors.split(CHUNK)])
        drawn = Batches(self.packed, near.numpy(), options.words, options.seed, start)
        loader = DataLoader(drawn, batch_size=None, num_workers=options.workers, pin_memory=self.is_half)
        return iter(loader)

    def step(self, step: int) -> Tensor:
        """One update. step (int): Its number. RETURNS (Tensor): The loss of a word."""
        if self.stream is None:
            self.stream = self.batches(step)
        batch = next(self.stream).to(self.device)
        torch.manual_seed((self.options.seed * 1_000_003 + step) % 2**31)  # dropout, when resumed too
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
        """F1 on the donors' sentences that are not trained on."""
        self.module.eval()
        pairs = zip(self.donors, self.packed, strict=True)
        return [self._score(donor, packed) for donor, packed in pairs if donor.dev]

    @torch.no_grad()
    def _score(self, donor: Donor, packed: PackedDonor) -> Block:
        labels = list(donor.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        texts = np.array([texts[0] for texts in packed.texts])
        examples = []
        for start in range(0, len(donor.dev), SCORED):
            sentences = packed.dev[start : start + SCORED]
            batch = collate(sentences, np.zeros(0), texts, np.zeros((0, 0))).to(self.device)
            logits = self.model.logits(self.states(batch), self.describe(batch.texts))
            tags = logits.argmax(1).cpu().numpy()
            ends = np.cumsum([len(sentence.first) for sentence in sentences])
            for gold, sentence_tags in zip(donor.dev[start:], np.split(tags, ends[:-1]), strict=False):
                spans, doc = codec.spans(legal(sentence_tags)), bare(gold)
                rows = zip(spans.start, spans.end, spans.label, strict=True)
                doc.set_ents([Span(doc, int(a), int(b), label=labels[t]) for a, b, t in rows])
                examples.append(Example(doc, gold))
        scores = make_ner_scorer(labels)(examples)
        f1 = {"micro": scores["ents_f"], "macro": scores["ents_macro_f"]}
        return {"name": donor.name, **f1, "sentences": len(examples)}

    def save(self, path: Path, progress: Block) -> None:
        """Write a state. progress (Block): What it says beside the weights."""
        state = {"weights": self.module.state_dict(), "optimizer": self.optimizer.state_dict()}
        file = BytesIO()
        torch.save({**progress, **state}, file)
        write_file(path, file.getvalue())

    def load(self, state: Block) -> None:
        """Take up a state."""
        self.module.load_state_dict(state.pop("weights"))
        self.optimizer.load_state_dict(state.pop("optimizer"))


class TransformerLearner(BiEncoderLearner):
    """A learner of a transformer and a head."""

    def __init__(
        self, start: Start, teacher: Start | None, donors: list[Donor], options: PretrainOptions
    ) -> None:
        super().__init__(donors, options, PretrainRates(), Pieces(start.tokenizer))
        self.tokenizer, rule = start.tokenizer, "a number from 4 to 8"
        given = options.bits or BITS
        self.bits: Any = tuple(finite("--bits", n, rule, "7 6 4 is usual.", 4, 8) for n in given)
        self.label_data, reader = short_labels(start, self.bits)
        self.model = start.model.to(self.device)
        labels = BiEncoder(reader.encoder).to(self.device)
        self.vectors = labels.describe(subwords_of_labels(self.tokenizer, self.texts))
        if teacher is not None:
            if teacher.tokenizer.get_vocab() != self.tokenizer.get_vocab():
                fix = "Name a pipeline of the same tokenizer"
                raise unusable(options.teacher, "its tokenizer is not the encoder's", fix, TEACHER)
            self.read_teacher(teacher)
        self.model.encoder.get_input_embeddings().requires_grad_(False)
        below = [p for p in self.model.encoder.parameters() if p.requires_grad]
        head = [self.model.P, self.model.Q, *self.model.o.parameters()]
        rates = ((below, self.rates.encoder_rate), (head, self.rates.head_rate))
        decay = {"weight_decay": self.rates.weight_decay}
        self.begin(self.model, [{"params": weights, "rate": rate, **decay} for weights, rate in rates])

    def states(self, batch: DonorBatch) -> Tensor:
        return self.model.states(batch)

    def finish(self, name: str, nlp: Language) -> None:
        model = self.model.cpu()
        self.short = build_transformer(model, self.label_data, name, self.tokenizer, nlp, self.bits)

    def write(self, nlp: Language, folder: Path) -> None:
        write_transformer(nlp, folder, self.short)


class CNNLearner(BiEncoderLearner):
    """A learner of a CNN and a head. Without a start it makes a new CNN, which needs a teacher."""

    teaches, n_others = TEACHES_CNN, N_OTHERS

    def __init__(
        self, start: CNNStart | None, teacher: Any, donors: list[Donor], options: PretrainOptions
    ) -> None:
        cutter = TableCutter(start[1]) if teacher is None and start else Pieces(teacher.tokenizer)
        super().__init__(donors, options, OF_CNN, cutter)
        sentences = [sentence for donor in self.packed for sentence in (*donor.train, *donor.dev)]
        orths = np.concatenate([sentence.words for sentence in sentences])
        self.vocabulary = Vocabulary(orths, donors[0].train[0].vocab)
        model, self.table = start or new_cnn(teacher, self.vocabulary, list(self.texts))
        self.model = model.to(self.device)
        cnn = self.model.encoder
        features = self.vocabulary.features(self.table, [*map(len, cnn.tables)])
        self.features = [part.to(self.device) for part in features]
        self.keys = torch.from_numpy(self.vocabulary.keys).to(self.device)
        rows = subwords_of_texts(self.table, list(self.texts))
        self.labels = padded(rows, len(self.table.subwords), OF_TEXT).to(self.device)
        if teacher is None:
            self.near = NEAR_CNN  # of means of subwords more labels are alike
            with torch.no_grad():
                self.vectors = torch.cat([*map(self.model.describe, self.labels.split(CHUNK))])
        else:
            self.read_teacher(teacher)
            self.vectors = self.teacher_vectors
            self.match = nn.Linear(cnn.width, teacher.model.P.shape[2]).to(self.device)
        rates, decay = self.rates, self.rates.weight_decay
        module = nn.ModuleList([self.model] if self.match is None else [self.model, self.match])
        below = [p for p in cnn.parameters() if p is not cnn.vectors]
        known = {*map(id, cnn.parameters())}
        head = [p for p in module.parameters() if id(p) not in known]
        groups = [  # subword vectors are learnt slowly, and not decayed
            {"params": [cnn.vectors], "rate": TABLE_RATE * rates.encoder_rate, "weight_decay": 0.0},
            {"params": below, "rate": rates.encoder_rate, "weight_decay": decay},
            {"params": head, "rate": rates.head_rate, "weight_decay": decay},
        ]
        self.begin(module, [{**g, "betas": BETAS} for g in groups])

    def states(self, batch: DonorBatch) -> Tensor:
        places = torch.searchsorted(self.keys, batch.words)
        cnn, (rows, subwords) = self.model.encoder, self.features
        lengths = torch.bincount(batch.rows, minlength=len(batch.ids))
        return cnn.encode(cnn.embed(rows[places], subwords[places]), lengths, self.rates.dropout / 2)

    def describe(self, texts: Tensor) -> Tensor:
        """The vectors of subwords are trained."""
        return self.model.describe(self.labels[texts])

    def finish(self, name: str, nlp: Language) -> None:
        reduce_columns(self.model, self.vocabulary.frequencies(self.table), KEPT)
        build_cnn(self.model, self.table, name, nlp)


def _rates(options: PretrainOptions, usual: PretrainRates) -> PretrainRates:
    changed = {}
    for name, value in options.settings.items():
        if name not in [f"training.{known}" for known in usual._fields]:
            where = f"another command. `pretrain` has training.{', training.'.join(usual._fields)}"
            raise unused(f"--set {name}", value, "`pretrain`", where)
        rule, fix = "a number from 0 to 1", "See docs/encoders.md."
        changed[name.removeprefix("training.")] = finite(name, value, rule, fix, 0, 1)
    return usual._replace(**changed)


def _weigh(packed: list[PackedDonor], options: PretrainOptions) -> None:
    """Donors are drawn by their size to a power, within their kind's share of all batches."""
    kinds = [[donor for donor in packed if donor.is_open == is_open] for is_open in (True, False)]
    is_mixed = all(kinds)
    if options.share is not None and not is_mixed:
        raise unused("--share", options.share, "`pretrain`", "donors with and without open types")
    share = SHARE if options.share is None else options.share
    for donors, part in zip(kinds, (share, 1 - share), strict=True):
        sizes = [len(donor.train) ** POWER for donor in donors]
        for donor, size in zip(donors, sizes, strict=True):
            donor.weight = size / sum(sizes) * (part if is_mixed else 1.0)


def _without_off(logits: Tensor, batch: DonorBatch) -> Tensor:
    """Logits of the candidates, (n_words, 1 + 2 n_candidates), without those that are left out."""
    return logits.masked_fill(functional.pad(batch.off.repeat_interleave(2, dim=1), (1, 0)), OFF)


def _divergence(logits: Tensor, theirs: Tensor) -> Tensor:
    """KL divergence from a teacher's predictions, in nats per word times squared temperature."""
    log_p, log_q = (functional.log_softmax(z / TEMPERATURE, 1) for z in (logits, theirs))
    return functional.kl_div(log_p, log_q, log_target=True, reduction="batchmean") * TEMPERATURE**2


def legal(tags: np.ndarray) -> np.ndarray:
    """Tags in which an entity that starts with I starts with B, (n_tokens,)."""
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    before = np.concatenate([[-1], types[:-1]])
    return np.where((tags > 0) & (tags % 2 == 0) & (types != before), tags - 1, tags)
