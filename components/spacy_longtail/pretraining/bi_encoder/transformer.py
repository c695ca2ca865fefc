"""A transformer in training on donors and open types."""

import numpy as np
from spacy.language import Language
from torch import Tensor, nn, no_grad
from torch.nn import functional

from ...errors import Errors
from ...models.transformer import Pieces
from ...settings import finite
from ..donors import Donor as Corpus
from ..learner import Options
from .data import IGNORED, Batch
from .learner import BiEncoderLearner
from .loss import Schedule, Teacher, divergence, states_of, without_off
from .model import BiEncoder, encode
from .packing import Texts
from .start import TEACHER, Start, read_start
from .writing import Bits, build_pipeline, short_labels


class TransformerLearner(BiEncoderLearner):
    """A learner of a transformer and a head. start (Start): Their weights."""

    def __init__(
        self, start: Start, donors: list[Corpus], options: Options, steps: int, words: int
    ) -> None:
        super().__init__(donors, options, steps, words, Schedule())
        self.bits, self.tokenizer = _bits(options), start.tokenizer
        self.pack(Pieces(start.tokenizer))
        self.label_encoder, labels = short_labels(start, self.bits)
        self.model = start.model.to(self.device)
        self.read_labels = BiEncoder(labels).to(self.device)
        self.vectors = encode(self.read_labels, self.texts.pieces(self.tokenizer))
        self.teacher = self._teacher(options.teacher)
        embeddings: nn.Module = self.model.encoder.get_input_embeddings()  # type: ignore[operator]
        embeddings.requires_grad_(False)
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        decay = {"weight_decay": self.schedule.weight_decay}
        groups = [
            {"params": encoder, "rate": self.schedule.encoder_rate, **decay},
            {"params": self.model.head(), "rate": self.schedule.head_rate, **decay},
        ]
        self.begin(self.model, groups)

    def _teacher(self, name: str | None) -> Teacher | None:
        """RAISES (ValueError): L495 for one with another tokenizer."""
        if name is None:
            return None
        found = read_start(name, role=TEACHER)
        if found.tokenizer.get_vocab() != self.tokenizer.get_vocab():
            problem, fix = "its tokenizer is not the encoder's", "Name a pipeline of the same tokenizer"
            raise ValueError(Errors.L495.format(path=name, role=TEACHER, problem=problem, fix=fix))
        return Teacher.of(found, self.texts, self.device)

    def logits(self, batch: Batch, texts: Tensor) -> Tensor:
        """As every learner has it."""
        states = states_of(self.model, batch, self.is_half)
        states = functional.dropout(states, self.schedule.dropout, self.model.training)
        return without_off(self.model.logits(states, self.vectors[texts]), batch)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy per word, and how far the predictions are from the teacher's."""
        logits, teacher = self.logits(batch, batch.texts), self.teacher
        loss = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED)
        if teacher is None:
            return loss
        with no_grad():
            states = states_of(teacher.model, batch, self.is_half)
            theirs = without_off(teacher.model.logits(states, teacher.vectors[batch.texts]), batch)
        return (1 - teacher.share) * loss + teacher.share * divergence(logits, theirs)

    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""
        lang, tokens = self.donors[0].lang, self.donors[0].tokens
        self.read_labels.cpu()
        return build_pipeline(
            self.model.cpu(), self._describe, name, self.tokenizer, lang, tokens, self.bits
        )

    def _describe(self, texts: list[str]) -> np.ndarray:
        own = Texts()
        places = [own.add(text) for text in texts]
        found: np.ndarray = encode(self.read_labels, own.pieces(self.tokenizer)).numpy()[places]
        return found


def _bits(options: Options) -> Bits:
    """RAISES (ValueError): L001."""
    given = options.bits or Bits()
    return Bits(*(finite("--bits", n, "a number from 4 to 8", "7 6 4 is usual.", 4, 8) for n in given))
