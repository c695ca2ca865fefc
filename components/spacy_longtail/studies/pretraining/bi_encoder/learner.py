"""A transformer in training on donors and open types."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from torch import Tensor, nn
from torch.utils.data import DataLoader

from ....chains.tags import TagCodec
from ....corpus.cutting import bare
from ....errors import Errors
from ....models.transformer import Pieces
from ....output.writing import coded_io, whole_folder
from ....scorers import make_ner_scorer
from ....settings import finite, unused
from ..donors import Donor as Corpus
from ..learner import Options
from ..records import DonorScore, Progress
from ..state import PROGRESS, damaged, read_progress, write_progress
from .data import Batch, Batches, Donor
from .loss import Schedule, Teacher, logits_of, loss_of, near_labels
from .model import BiEncoder, encode
from .packing import Texts, pack, pack_held_out
from .start import TEACHER, Start, read_start
from .writing import Bits, build_pipeline, short_labels

WEIGHTS = "state.safetensors"
SHARE = 0.6  # of the batches: those with open types
RATES = {f"training.{name}": name for name in Schedule._fields}


class BiEncoderLearner:
    """A learner. What a step does depends on its number and the seed alone."""

    def __init__(
        self, start: Start, donors: list[Corpus], options: Options, steps: int, words: int
    ) -> None:
        self.donors, self.options, self.steps, self.words = donors, options, steps, words
        self.bits = _bits(options)
        self.schedule = _schedule(options)
        self.device = device_of(options.gpu_id)
        self.is_half = self.device.type == "cuda"
        self.tokenizer = start.tokenizer
        pieces, self.texts = Pieces(start.tokenizer), Texts(start.tokenizer)
        self.packed = [pack(donor, pieces, self.texts) for donor in donors]
        pairs = [
            (c, pack_held_out(c, pieces, d)) for c, d in zip(donors, self.packed, strict=True) if c.dev
        ]
        self.held_out = pairs
        _weigh(self.packed, options)
        self.label_encoder, labels = short_labels(start, self.bits)
        self.model = start.model.to(self.device)
        self.read_labels = BiEncoder(labels).to(self.device)
        self.vectors = encode(self.read_labels, self.texts.pieces)
        self.teacher = self._teacher(options.teacher)
        embeddings: nn.Module = self.model.encoder.get_input_embeddings()  # type: ignore[operator]
        embeddings.requires_grad_(False)
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [{"params": encoder}, {"params": self.model.head()}],
            weight_decay=self.schedule.weight_decay,
            fused=self.is_half,
        )
        self.stream: Iterator[Batch] | None = None

    def _teacher(self, name: str | None) -> Teacher | None:
        """RAISES (ValueError): L495 for one with another tokenizer."""
        if name is None:
            return None
        found = read_start(name, role=TEACHER)
        if found.tokenizer.get_vocab() != self.tokenizer.get_vocab():
            problem, fix = "its tokenizer is not the encoder's", "Name a pipeline of the same tokenizer"
            raise ValueError(Errors.L495.format(path=name, role=TEACHER, problem=problem, fix=fix))
        labels = BiEncoder(found.labels).to(self.device)
        return Teacher(found.model.to(self.device).eval(), encode(labels, self.texts.pieces))

    def batches(self, start: int) -> Iterator[Batch]:
        """The batches from a step on. start (int): Its number."""
        near = near_labels(self.vectors)
        drawn = Batches(self.packed, near, self.words, self.options.seed, start)
        workers = self.options.workers
        return iter(DataLoader(drawn, batch_size=None, num_workers=workers, pin_memory=self.is_half))

    def step(self, step: int) -> Tensor:
        """One update. step (int): Its number. RETURNS (Tensor): The loss of a word."""
        if self.stream is None:
            self.stream = self.batches(step)
        batch = next(self.stream).to(self.device)
        torch.manual_seed((self.options.seed * 1_000_003 + step) % 2**31)  # dropout, when resumed too
        done = (step + 0.5) / self.steps
        rate = min(1.0, done / self.schedule.warmup) * (1 - done)
        rates = (self.schedule.encoder_rate, self.schedule.head_rate)
        for group, highest in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * highest
        self.model.train()
        dropout = self.schedule.dropout
        loss = loss_of(self.model, batch, self.vectors, dropout, self.teacher, self.is_half)
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in self.optimizer.param_groups for p in g["params"]], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def scores(self, most: int | None = None) -> list[DonorScore]:
        """F1 on the donors' sentences that are not trained on. most (Optional[int]): Of each donor."""
        self.model.eval()
        return [self._score(*pair, most) for pair in self.held_out]

    @torch.no_grad()
    def _score(self, corpus: Corpus, packed: Donor, most: int | None) -> DonorScore:
        labels = list(corpus.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        vectors = self.vectors[[texts[0] for texts in packed.texts]]
        examples = []
        for chosen in packed.split(self.words, most=most):
            ids, mask, rows, columns = packed.collate(chosen)
            empty = torch.zeros(0, dtype=torch.long)
            batch = Batch(ids, mask, rows, columns, empty, empty, None).to(self.device)
            logits = logits_of(self.model, batch, vectors, 0.0, self.is_half)
            tags = logits.argmax(1).cpu().numpy()
            ends = np.cumsum([len(packed.first[i]) for i in chosen])
            for i, own in zip(chosen, np.split(tags, ends[:-1]), strict=True):
                gold = corpus.dev[i]
                found = codec.spans(_legal(own))
                spans = zip(found.start, found.end, found.label, strict=True)
                doc = bare(gold)
                doc.set_ents([Span(doc, int(a), int(b), label=labels[t]) for a, b, t in spans])
                examples.append(Example(doc, gold))
        scores = make_ner_scorer(labels)(examples)
        micro, macro = scores["ents_f"], scores["ents_macro_f"]
        return DonorScore(name=corpus.name, micro=micro, macro=macro, sentences=len(examples))

    def save(self, folder: Path, progress: Progress) -> None:
        """Write the state. RAISES (ValueError): L432."""
        tensors = {f"model|{name}": tensor for name, tensor in self.model.state_dict().items()}
        for i, own in self.optimizer.state_dict()["state"].items():
            tensors |= {f"{i}|{name}": tensor for name, tensor in own.items()}
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        with coded_io(folder), whole_folder(folder) as new:
            safetensors.torch.save_file(whole, new / WEIGHTS)
            write_progress(new, progress)

    def load(self, folder: Path) -> Progress | None:
        """Take up a state; null if there is none. RAISES (ValueError): L496."""
        if not (folder / PROGRESS).is_file():
            return None
        with damaged(folder):
            progress = read_progress(folder)
            moments: dict[int, dict[str, Tensor]] = {}
            weights = {}
            for key, tensor in safetensors.torch.load_file(folder / WEIGHTS).items():
                kind, name = key.split("|")
                if kind == "model":
                    weights[name] = tensor
                else:
                    moments.setdefault(int(kind), {})[name] = tensor
            self.model.load_state_dict(weights)
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        return progress

    def finish(self) -> Language:
        """The pipeline, with the weights to keep."""
        lang, tokens = self.donors[0].lang, self.donors[0].tokens
        self.read_labels.cpu()
        return build_pipeline(
            self.model.cpu(),
            lambda texts: self._describe(texts),
            self.tokenizer,
            lang,
            tokens,
            self.bits,
        )

    def _describe(self, texts: list[str]) -> np.ndarray:
        own = Texts(self.tokenizer)
        places = [own.add(text) for text in texts]
        found: np.ndarray = encode(self.read_labels, own.pieces).numpy()[places]
        return found


def device_of(gpu_id: int) -> torch.device:
    """Where torch computes. gpu_id (int): -1 is the CPU. RAISES (ValueError): L515."""
    if gpu_id >= torch.cuda.device_count():
        problem = f"torch finds {torch.cuda.device_count()} CUDA devices"
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=problem))
    return torch.device("cpu" if gpu_id < 0 else f"cuda:{gpu_id}")


def _schedule(options: Options) -> Schedule:
    """RAISES (ValueError): L001 for a value that is no such number; L213 for another setting."""
    rule = "a number from 0 to 1"
    found = {}
    for name, value in options.settings.items():
        if name not in RATES:
            where = f"the CNN. A transformer has {', '.join(RATES)}"
            raise unused(f"--set {name}", value, "`pretrain`", where)
        found[RATES[name]] = finite(name, value, rule, "See docs/pretraining.md.", 0, 1)
    return Schedule(**found)


def _bits(options: Options) -> Bits:
    """RAISES (ValueError): L001."""
    given = options.bits or Bits()
    return Bits(*(finite("--bits", n, "a number from 4 to 8", "7 6 4 is usual.", 4, 8) for n in given))


def _weigh(packed: list[Donor], options: Options) -> None:
    """Donors are drawn by their size to a power, within their kind's share of all batches.

    RAISES (ValueError): L213 for a share where all donors are of one kind.
    """
    kinds = [[d for d in packed if d.is_open], [d for d in packed if not d.is_open]]
    is_mixed = all(kinds)
    if options.share is not None and not is_mixed:
        raise unused("--share", options.share, "`pretrain`", "donors with and without open types")
    share = SHARE if options.share is None else options.share
    for own, part in zip(kinds, (share, 1 - share), strict=True):
        sizes = [len(donor.ids) ** options.power for donor in own]
        for donor, size in zip(own, sizes, strict=True):
            donor.weight = size / sum(sizes) * (part if is_mixed else 1.0)


def _legal(tags: np.ndarray) -> np.ndarray:
    """Tags in which an entity that begins with I begins with B. (n_tokens,)"""
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    before = np.concatenate([[-1], types[:-1]])
    is_inside = (tags > 0) & (tags % 2 == 0)
    found: np.ndarray = np.where(is_inside & (types != before), tags - 1, tags)
    return found
