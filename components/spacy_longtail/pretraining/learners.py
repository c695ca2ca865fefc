"""Bi-encoders in training on donors and open types: a transformer, and a CNN."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.torch
import torch
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from ..chains.tags import TagCodec
from ..corpus.cutting import bare
from ..describers.static import subwords_of_texts
from ..errors import Errors
from ..models.transformer import Pieces
from ..output.writing import coded_io, whole_folder
from ..scorers import make_ner_scorer
from ..settings import finite, unused
from .batches import (
    IGNORED,
    Batches,
    Cutter,
    DonorBatch,
    PackedDonor,
    Texts,
    pack,
    pack_docs,
)
from .cnn import (
    OF_TEXT,
    CNNBiEncoder,
    CNNStart,
    Vocabulary,
    WordFeatures,
    build_cnn,
    padded,
    reduce_columns,
)
from .donors import Donor
from .matcher import no_start
from .records import PROGRESS, DonorScore, PretrainOptions, Progress, reading_state
from .transformer import (
    BITS,
    TEACHER,
    BiEncoder,
    Start,
    build_transformer,
    encode,
    read_start,
    short_labels,
)

WEIGHTS = "state.safetensors"
SHARE = 0.6  # of the batches: those with open types
NEAR, NEAR_CNN = 0.55, 0.65  # cosine of label vectors from which types may both be right
CHUNK = 1024  # label texts that are compared with all others at once
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


RATES = {f"training.{name}": name for name in PretrainRates._fields}
OF_CNN = PretrainRates(encoder_rate=2e-3, head_rate=2e-3, warmup=0.03)


class Teacher(NamedTuple):
    """A pretrained transformer whose predictions are learnt, too."""

    model: BiEncoder
    vectors: Tensor  # (n_texts, hidden), of all label texts as its own label encoder reads them


class BiEncoderLearner(ABC):
    """A learner. What a step does depends on its number and the seed alone.

    donors (List[Donor]): What it learns. options (PretrainOptions): How.
    steps (int): Of the whole training. usual (PretrainRates): What `--set` changes.
    """

    label_encoder: bytes | None = None  # the file of a transformer that reads labels
    module: nn.Module  # all that is trained
    vectors: Tensor  # (n_texts, n_columns), of all label texts
    near = NEAR

    def __init__(
        self, donors: list[Donor], options: PretrainOptions, steps: int, usual: PretrainRates
    ) -> None:
        self.donors, self.options, self.steps = donors, options, steps
        self.schedule = _schedule(options, usual)
        self.device = device_of(options.gpu_id)
        self.is_half = self.device.type == "cuda"
        self.stream: Iterator[DonorBatch] | None = None

    def pack(self, cutter: Cutter) -> None:
        """Make arrays of the donors. cutter (Cutter): What cuts words into subwords."""
        self.texts = Texts()
        self.packed = [pack(donor, cutter, self.texts) for donor in self.donors]
        self.held_out = [
            (donor, pack_docs(donor, donor.dev, cutter, packed.texts))
            for donor, packed in zip(self.donors, self.packed, strict=True)
            if donor.dev
        ]
        _weigh(self.packed, self.options)

    def begin(self, module: nn.Module, groups: list[dict[str, Any]]) -> None:
        """Begin to train. groups (List): Of parameters, as AdamW has them, with the highest `rate`."""
        self.module = module
        self.optimizer = torch.optim.AdamW(groups, fused=self.is_half)

    @abstractmethod
    def loss(self, batch: DonorBatch) -> Tensor:
        """The loss of a word."""

    @abstractmethod
    def logits(self, batch: DonorBatch, texts: Tensor) -> Tensor:
        """(n_words, 1 + 2 n_types). texts (Tensor): (n_types,), the types' places among all texts."""

    @abstractmethod
    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""

    def read_teacher(self, start: Start) -> Teacher:
        """A teacher with its vectors of all label texts."""
        vectors = encode(BiEncoder(start.labels).to(self.device), self.texts.subwords(start.tokenizer))
        return Teacher(start.model.to(self.device).eval(), vectors)

    def states_of(self, model: BiEncoder, batch: DonorBatch) -> Tensor:
        """The words of a batch as a transformer reads them, (n_words, hidden)."""
        with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=self.is_half):
            return model.states(batch.ids, batch.mask, batch.rows, batch.columns)

    def batches(self, start: int) -> Iterator[DonorBatch]:
        """The batches from a step on. start (int): Its number."""
        options = self.options
        near = torch.cat([(own @ self.vectors.T > self.near).cpu() for own in self.vectors.split(CHUNK)])
        drawn = Batches(self.packed, near.numpy(), options.words, options.seed, start)
        loader = DataLoader(drawn, batch_size=None, num_workers=options.workers, pin_memory=self.is_half)
        return iter(loader)

    def step(self, step: int) -> Tensor:
        """One update. step (int): Its number. RETURNS (Tensor): The loss of a word."""
        if self.stream is None:
            self.stream = self.batches(step)
        batch = next(self.stream).to(self.device)
        torch.manual_seed((self.options.seed * 1_000_003 + step) % 2**31)  # dropout, when resumed too
        done = (step + 0.5) / self.steps
        rate = done / max(self.schedule.warmup, done) * (1 - done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["rate"]
        self.module.train()
        loss = self.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def scores(self) -> list[DonorScore]:
        """F1 on the donors' sentences that are not trained on."""
        self.module.eval()
        return [self._score(*pair) for pair in self.held_out]

    @torch.no_grad()
    def _score(self, donor: Donor, packed: PackedDonor) -> DonorScore:
        labels = list(donor.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        texts = torch.tensor([texts[0] for texts in packed.texts], device=self.device)
        examples = []
        for chosen in packed.split(self.options.words):
            empty = torch.zeros(0, dtype=torch.long)
            batch = DonorBatch(*packed.collate(chosen), empty, empty, None).to(self.device)
            tags = self.logits(batch, texts).argmax(1).cpu().numpy()
            ends = np.cumsum([len(packed.first[i]) for i in chosen])
            for i, own in zip(chosen, np.split(tags, ends[:-1]), strict=True):
                gold, spans = donor.dev[i], codec.spans(legal(own))
                doc = bare(gold)
                rows = zip(spans.start, spans.end, spans.label, strict=True)
                doc.set_ents([Span(doc, int(a), int(b), label=labels[t]) for a, b, t in rows])
                examples.append(Example(doc, gold))
        scores = make_ner_scorer(labels)(examples)
        micro, macro = scores["ents_f"], scores["ents_macro_f"]
        return DonorScore(name=donor.name, micro=micro, macro=macro, sentences=len(examples))

    def save(self, folder: Path, progress: Progress) -> None:
        """Write the state."""
        tensors = {f"model|{name}": tensor for name, tensor in self.module.state_dict().items()}
        for i, own in self.optimizer.state_dict()["state"].items():
            tensors |= {f"{i}|{name}": tensor for name, tensor in own.items()}
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        with coded_io(folder), whole_folder(folder) as new:
            safetensors.torch.save_file(whole, new / WEIGHTS)
            (new / PROGRESS).write_text(progress.model_dump_json(), encoding="utf8")

    def load(self, folder: Path) -> Progress:
        """Take up a state; a new one if there is none."""
        if not (folder / PROGRESS).is_file():
            return Progress()
        with reading_state(folder):
            progress = Progress.model_validate_json((folder / PROGRESS).read_bytes())
            moments: dict[int, dict[str, Tensor]] = {}
            weights = {}
            for key, tensor in safetensors.torch.load_file(folder / WEIGHTS).items():
                kind, name = key.split("|")
                if kind == "model":
                    weights[name] = tensor
                else:
                    moments.setdefault(int(kind), {})[name] = tensor
            self.module.load_state_dict(weights)
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        return progress


class TransformerLearner(BiEncoderLearner):
    """A learner of a transformer and a head. start (Start): Their weights."""

    def __init__(self, start: Start, donors: list[Donor], options: PretrainOptions, steps: int) -> None:
        super().__init__(donors, options, steps, PretrainRates())
        self.tokenizer, rule = start.tokenizer, "a number from 4 to 8"
        given = options.bits or BITS
        self.bits: Any = tuple(finite("--bits", n, rule, "7 6 4 is usual.", 4, 8) for n in given)
        self.pack(Pieces(start.tokenizer))
        self.label_encoder, labels = short_labels(start, self.bits)
        self.model = start.model.to(self.device)
        self.read_labels = BiEncoder(labels).to(self.device)
        self.vectors = encode(self.read_labels, self.texts.subwords(self.tokenizer))
        self.teacher = None
        if options.teacher is not None:
            teacher = read_start(options.teacher, role=TEACHER)
            if teacher.tokenizer.get_vocab() != self.tokenizer.get_vocab():
                problem = "its tokenizer is not the encoder's"
                raise no_start(
                    options.teacher, TEACHER, problem, "Name a pipeline of the same tokenizer"
                )
            self.teacher = self.read_teacher(teacher)
        embeddings: nn.Module = self.model.encoder.get_input_embeddings()  # type: ignore[operator]
        embeddings.requires_grad_(False)
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        head = [self.model.P, self.model.Q, *self.model.o.parameters()]
        decay = {"weight_decay": self.schedule.weight_decay}
        groups = [
            {"params": encoder, "rate": self.schedule.encoder_rate, **decay},
            {"params": head, "rate": self.schedule.head_rate, **decay},
        ]
        self.begin(self.model, groups)

    def logits(self, batch: DonorBatch, texts: Tensor) -> Tensor:
        """As every learner has it."""
        states = self.states_of(self.model, batch)
        states = functional.dropout(states, self.schedule.dropout, self.model.training)
        return _without_off(self.model.logits(states, self.vectors[texts]), batch)

    def loss(self, batch: DonorBatch) -> Tensor:
        """Cross-entropy per word, and how far the predictions are from the teacher's."""
        logits, teacher = self.logits(batch, batch.texts), self.teacher
        loss = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED)
        if teacher is None:
            return loss
        with torch.no_grad():
            states = self.states_of(teacher.model, batch)
            theirs = _without_off(teacher.model.logits(states, teacher.vectors[batch.texts]), batch)
        return (1 - TEACHES) * loss + TEACHES * _divergence(logits, theirs)

    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""
        lang, tokens = self.donors[0].lang, self.donors[0].tokens
        self.read_labels.cpu()
        return build_transformer(
            self.model.cpu(), self._describe, name, self.tokenizer, lang, tokens, self.bits
        )

    def _describe(self, texts: list[str]) -> np.ndarray:
        own = Texts()
        places = [own.add(text) for text in texts]
        found: np.ndarray = encode(self.read_labels, own.subwords(self.tokenizer)).numpy()[places]
        return found


class CNNLearner(BiEncoderLearner):
    """A learner of a CNN and a head, with a transformer as its teacher or without one.

    make (Callable): Gives the CNN for the donors' words and all label texts.
    cutter (Cutter): Cuts words for the teacher, or for the CNN. teacher (Optional[Start]): Of it.
    """

    model: CNNBiEncoder

    def __init__(
        self,
        make: Callable[[Vocabulary, list[str]], CNNStart],
        cutter: Cutter,
        teacher: Start | None,
        donors: list[Donor],
        options: PretrainOptions,
        steps: int,
    ) -> None:
        super().__init__(donors, options, steps, OF_CNN)
        self.pack(cutter)
        parts = [*self.packed, *(held_out for _, held_out in self.held_out)]
        self.vocabulary = Vocabulary(parts, donors[0].train[0].vocab)
        texts = list(self.texts.place)
        model, self.table = make(self.vocabulary, texts)
        self.model = model.to(self.device)
        features = self.vocabulary.features(self.table, [len(own) for own in self.model.encoder.tables])
        self.features = WordFeatures(*(own.to(self.device) for own in features))
        self.keys = torch.from_numpy(self.vocabulary.keys).to(self.device)
        rows = subwords_of_texts(self.table, texts)
        self.labels = padded(rows, len(self.table.subwords), OF_TEXT).to(self.device)
        self.teacher, self.match = None, None
        trained: list[nn.Module] = [self.model]
        if teacher is None:
            self.near = NEAR_CNN  # of means of subwords more labels are alike
            with torch.no_grad():
                self.vectors = torch.cat([*map(self.model.describe, self.labels.split(CHUNK))])
        else:
            self.teacher = self.read_teacher(teacher)
            self.vectors = self.teacher.vectors
            width = self.teacher.model.P.shape[2]
            self.match = nn.Linear(self.model.encoder.width, width).to(self.device)
            trained.append(self.match)
        module = nn.ModuleList(trained)
        self.begin(module, self._groups(module))

    def _groups(self, module: nn.Module) -> list[dict[str, Any]]:
        """All parameters with their rates. Subword vectors are learnt slowly, and not decayed."""
        encoder, schedule = self.model.encoder, self.schedule
        below = list(encoder.parameters())
        of_head = [p for p in module.parameters() if not any(p is own for own in below)]
        others = [p for p in below if p is not encoder.vectors]
        decay = {"weight_decay": schedule.weight_decay, "betas": BETAS}
        table_rate = TABLE_RATE * schedule.encoder_rate
        return [
            {"params": [encoder.vectors], "rate": table_rate, "weight_decay": 0.0, "betas": BETAS},
            {"params": others, "rate": schedule.encoder_rate, **decay},
            {"params": of_head, "rate": schedule.head_rate, **decay},
        ]

    def _states(self, batch: DonorBatch) -> Tensor:
        """The words of a batch as the CNN reads them, (n_words, width)."""
        places = torch.searchsorted(self.keys, batch.words)
        features = WordFeatures(*(own[places] for own in self.features))
        lengths = torch.bincount(batch.rows, minlength=len(batch.ids))
        encoder = self.model.encoder
        return encoder.encode(encoder.embed(features), lengths, self.schedule.dropout / 2)

    def logits(self, batch: DonorBatch, texts: Tensor) -> Tensor:
        """As every learner has it."""
        return self.model.logits(self._states(batch), self.model.describe(self.labels[texts]))

    def loss(self, batch: DonorBatch) -> Tensor:
        """Cross-entropy per word, how far the predictions are from the teacher's, and the states.

        The predictions are of the candidates and of label texts at random. The states are the teacher's
        last ones, of mean 0 and variance 1, which a linear map of the CNN's is to be.
        """
        n, texts, teacher = 1 + 2 * len(batch.texts), batch.texts, self.teacher
        if teacher is not None:
            others = torch.randint(len(self.labels), (N_OTHERS,), device=self.device)
            texts = torch.cat([texts, others])
        states = self._states(batch)
        dropped = functional.dropout(states, self.schedule.dropout)
        logits = self.model.logits(dropped, self.model.describe(self.labels[texts]))
        own = _without_off(logits[:, :n], batch)
        loss = functional.cross_entropy(own, batch.gold, ignore_index=IGNORED)
        if teacher is None or self.match is None:
            return loss
        with torch.no_grad():
            read = self.states_of(teacher.model, batch)
            theirs = teacher.model.logits(read, teacher.vectors[texts])
        distance = functional.mse_loss(self.match(states), functional.layer_norm(read, read.shape[1:]))
        return (1 - TEACHES_CNN) * loss + TEACHES_CNN * _divergence(logits, theirs) + distance

    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""
        lang, tokens = self.donors[0].lang, self.donors[0].tokens
        reduce_columns(self.model, self.vocabulary.frequencies(self.table), KEPT)
        return build_cnn(self.model, self.table, name, lang, tokens)


def device_of(gpu_id: int) -> torch.device:
    """Where torch computes. gpu_id (int): -1 is the CPU."""
    if gpu_id >= torch.cuda.device_count():
        problem = f"torch finds {torch.cuda.device_count()} CUDA devices"
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=problem))
    return torch.device("cpu" if gpu_id < 0 else f"cuda:{gpu_id}")


def _schedule(options: PretrainOptions, usual: PretrainRates) -> PretrainRates:
    changed = {}
    for name, value in options.settings.items():
        if name not in RATES:
            where = f"another command. `pretrain` has {', '.join(RATES)}"
            raise unused(f"--set {name}", value, "`pretrain`", where)
        rule, fix = "a number from 0 to 1", "See docs/encoders.md."
        changed[RATES[name]] = finite(name, value, rule, fix, 0, 1)
    return usual._replace(**changed)


def _weigh(packed: list[PackedDonor], options: PretrainOptions) -> None:
    """Donors are drawn by their size to a power, within their kind's share of all batches."""
    kinds = [[d for d in packed if d.is_open], [d for d in packed if not d.is_open]]
    is_mixed = all(kinds)
    if options.share is not None and not is_mixed:
        raise unused("--share", options.share, "`pretrain`", "donors with and without open types")
    share = SHARE if options.share is None else options.share
    for own, part in zip(kinds, (share, 1 - share), strict=True):
        sizes = [len(donor.ids) ** options.power for donor in own]
        for donor, size in zip(own, sizes, strict=True):
            donor.weight = size / sum(sizes) * (part if is_mixed else 1.0)


def _without_off(logits: Tensor, batch: DonorBatch) -> Tensor:
    """Logits of the candidates, (n_words, 1 + 2 n_candidates), without those that are left out."""
    if batch.off is None:
        return logits
    is_off = functional.pad(batch.off.repeat_interleave(2, dim=1), (1, 0))
    return logits.masked_fill(is_off, OFF)


def _divergence(logits: Tensor, theirs: Tensor) -> Tensor:
    """KL divergence from a teacher's predictions, in nats per word times the temperature squared."""
    own, their = (functional.log_softmax(z / TEMPERATURE, 1) for z in (logits, theirs))
    kl = functional.kl_div(own, their, log_target=True, reduction="batchmean")
    return kl * TEMPERATURE**2


def legal(tags: np.ndarray) -> np.ndarray:
    """Tags in which an entity that starts with I starts with B, (n_tokens,)."""
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    before = np.concatenate([[-1], types[:-1]])
    is_inside = (tags > 0) & (tags % 2 == 0)
    fixed: np.ndarray = np.where(is_inside & (types != before), tags - 1, tags)
    return fixed
