"""A bi-encoder in training on donors and open types: what a transformer and a CNN share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from torch import Tensor, nn
from torch.utils.data import DataLoader

from ...chains.tags import TagCodec
from ...corpus.cutting import bare
from ...errors import Errors
from ...output.writing import coded_io, whole_folder
from ...scorers import make_ner_scorer
from ...settings import finite, unused
from ..donors import Donor as Corpus
from ..learner import Options
from ..records import DonorScore, Progress
from ..state import PROGRESS, damaged, read_progress, write_progress
from .data import Batch, Batches, Donor
from .loss import NEAR, Schedule, near_labels
from .packing import Cutter, Texts, pack, pack_held_out

WEIGHTS = "state.safetensors"
SHARE = 0.6  # of the batches: those with open types
RATES = {f"training.{name}": name for name in Schedule._fields}


class BiEncoderLearner(ABC):
    """A learner. What a step does depends on its number and the seed alone.

    donors (List[Corpus]): What it learns. options (Options): How. steps (int): Of the whole training.
    words (int): Pieces of a batch, with padding. usual (Schedule): What `--set` changes.
    """

    label_encoder: bytes | None = None  # the file of a transformer that reads labels
    module: nn.Module  # all that is trained, in training once it begins
    vectors: Tensor  # (n_texts, n_columns), of all label texts
    near = NEAR  # cosine of label texts that do not compete

    def __init__(
        self, donors: list[Corpus], options: Options, steps: int, words: int, usual: Schedule
    ) -> None:
        self.donors, self.options, self.steps, self.words = donors, options, steps, words
        self.schedule = _schedule(options, usual)
        self.device = device_of(options.gpu_id)
        self.is_half = self.device.type == "cuda"
        self.stream: Iterator[Batch] | None = None

    def pack(self, pieces: Cutter) -> None:
        """Make arrays of the donors. pieces (Cutter): What cuts words. RAISES (ValueError): L213."""
        self.texts = Texts()
        self.packed = [pack(donor, pieces, self.texts) for donor in self.donors]
        self.held_out = [
            (c, pack_held_out(c, pieces, d))
            for c, d in zip(self.donors, self.packed, strict=True)
            if c.dev
        ]
        _weigh(self.packed, self.options)

    def begin(self, module: nn.Module, groups: list[dict[str, Any]]) -> None:
        """Begin to train. groups (List): Of parameters, as AdamW has them, with the highest `rate`."""
        self.module = module
        self.optimizer = torch.optim.AdamW(groups, fused=self.is_half)

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The loss of a word."""

    @abstractmethod
    def logits(self, batch: Batch, texts: Tensor) -> Tensor:
        """(n_words, 1 + 2 n_types). texts (Tensor): (n_types,), the types' places among all texts."""

    @abstractmethod
    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""

    def batches(self, start: int) -> Iterator[Batch]:
        """The batches from a step on. start (int): Its number."""
        near = near_labels(self.vectors, self.near)
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

    def scores(self, most: int | None = None) -> list[DonorScore]:
        """F1 on the donors' sentences that are not trained on. most (Optional[int]): Of each donor."""
        self.module.eval()
        return [self._score(*pair, most) for pair in self.held_out]

    @torch.no_grad()
    def _score(self, corpus: Corpus, packed: Donor, most: int | None) -> DonorScore:
        labels = list(corpus.descriptions)
        codec = TagCodec(tuple(labels), "BIO")
        texts = torch.tensor([texts[0] for texts in packed.texts], device=self.device)
        examples = []
        for chosen in packed.split(self.words, most=most):
            empty = torch.zeros(0, dtype=torch.long)
            batch = Batch(*packed.collate(chosen), empty, empty, None).to(self.device)
            tags = self.logits(batch, texts).argmax(1).cpu().numpy()
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
        tensors = {f"model|{name}": tensor for name, tensor in self.module.state_dict().items()}
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
            self.module.load_state_dict(weights)
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        return progress


def device_of(gpu_id: int) -> torch.device:
    """Where torch computes. gpu_id (int): -1 is the CPU. RAISES (ValueError): L515."""
    if gpu_id >= torch.cuda.device_count():
        problem = f"torch finds {torch.cuda.device_count()} CUDA devices"
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=problem))
    return torch.device("cpu" if gpu_id < 0 else f"cuda:{gpu_id}")


def _schedule(options: Options, usual: Schedule) -> Schedule:
    """RAISES (ValueError): L001 for a value that is no such number; L213 for another setting."""
    rule = "a number from 0 to 1"
    found = {}
    for name, value in options.settings.items():
        if name not in RATES:
            where = f"another command. `pretrain` has {', '.join(RATES)}"
            raise unused(f"--set {name}", value, "`pretrain`", where)
        found[RATES[name]] = finite(name, value, rule, "See docs/pretraining.md.", 0, 1)
    return usual._replace(**found)


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
