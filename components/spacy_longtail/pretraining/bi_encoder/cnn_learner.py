"""A CNN in training on donors and open types, with a transformer as its teacher or without one."""

import torch
from spacy.language import Language
from torch import Tensor, nn
from torch.nn import functional

from ...describers.static import subwords_of_texts
from ..donors import Donor as Corpus
from ..learner import Options
from .cnn import WordFeatures, reduce_columns
from .cnn_pipeline import CNNStart, build_cnn
from .cnn_words import OF_TEXT, Vocabulary, padded
from .data import IGNORED, Batch
from .learner import BiEncoderLearner
from .loss import CHUNK, Schedule, Teacher, divergence, states_of, without_off

USUAL = Schedule(encoder_rate=2e-3, head_rate=2e-3, warmup=0.03)
TABLE_RATE = 0.5  # of the subword vectors, times the encoder's
BETAS = (0.9, 0.98)  # of AdamW
SHARE = 0.6  # of the teacher's predictions in the loss
N_OTHERS = 64  # label texts at random, beside the candidates, whose predictions are learnt
NEAR = 0.65  # as for a transformer: of means of subwords more labels are alike
KEPT = 96  # columns of the table of subwords that is written


class CNNLearner(BiEncoderLearner):
    """A learner of a CNN and a head. start (CNNStart): What it starts from."""

    def __init__(
        self, start: CNNStart, donors: list[Corpus], options: Options, steps: int, words: int
    ) -> None:
        super().__init__(donors, options, steps, words, USUAL)
        self.pack(start.pieces)
        parts = [*self.packed, *(held_out for _, held_out in self.held_out)]
        self.vocabulary = Vocabulary(parts, donors[0].train[0].vocab)
        texts = list(self.texts.place)
        model, self.table = start.cnn(self.vocabulary, texts)
        self.model = model.to(self.device)
        features = self.vocabulary.features(self.table, [len(own) for own in model.encoder.tables])
        self.features = WordFeatures(*(own.to(self.device) for own in features))
        self.keys = torch.from_numpy(self.vocabulary.keys).to(self.device)
        rows = subwords_of_texts(self.table, texts)
        self.labels = padded(rows, len(self.table.subwords), OF_TEXT).to(self.device)
        self.teacher, self.match = None, None
        if start.teacher is None:
            self.near = NEAR
            with torch.no_grad():
                self.vectors = torch.cat([*map(self.model.describe, self.labels.split(CHUNK))])
        else:
            self.teacher = Teacher.of(start.teacher, self.texts, self.device, SHARE)
            self.vectors = self.teacher.vectors
            width = self.teacher.model.P.shape[2]
            self.match = nn.Linear(model.encoder.width, width).to(self.device)
        module = nn.ModuleList([self.model, *([] if self.match is None else [self.match])])
        self.begin(module, self._groups(module))

    def _groups(self, module: nn.Module) -> list[dict[str, object]]:
        """All parameters with their rates. Subword vectors are learnt slowly, and not decayed."""
        encoder, schedule = self.model.encoder, self.schedule
        apart = {id(own) for own in encoder.parameters()}
        groups: list[tuple[list[nn.Parameter], float, float]] = [
            ([encoder.vectors], TABLE_RATE * schedule.encoder_rate, 0.0),
            (
                [own for own in encoder.parameters() if own is not encoder.vectors],
                schedule.encoder_rate,
                schedule.weight_decay,
            ),
            (
                [own for own in module.parameters() if id(own) not in apart],
                schedule.head_rate,
                schedule.weight_decay,
            ),
        ]
        names = ("params", "rate", "weight_decay")
        return [{**dict(zip(names, own, strict=True)), "betas": BETAS} for own in groups]

    def _states(self, batch: Batch) -> Tensor:
        """The words of a batch as the CNN reads them, (n_words, width)."""
        places = torch.searchsorted(self.keys, batch.words)
        features = WordFeatures(*(own[places] for own in self.features))
        lengths = torch.bincount(batch.rows, minlength=len(batch.ids))
        encoder = self.model.encoder
        return encoder.encode(encoder.embed(features), lengths, self.schedule.dropout / 2)

    def logits(self, batch: Batch, texts: Tensor) -> Tensor:
        """As every learner has it."""
        return self.model.logits(self._states(batch), self.model.describe(self.labels[texts]))

    def loss(self, batch: Batch) -> Tensor:
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
        own = without_off(logits[:, :n], batch)
        loss = functional.cross_entropy(own, batch.gold, ignore_index=IGNORED)
        if teacher is None or self.match is None:
            return loss
        with torch.no_grad():
            read = states_of(teacher.model, batch, self.is_half)
            theirs = teacher.model.logits(read, teacher.vectors[texts])
        distance = functional.mse_loss(self.match(states), functional.layer_norm(read, read.shape[1:]))
        share = teacher.share
        return (1 - share) * loss + share * divergence(logits, theirs) + distance

    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""
        lang, tokens = self.donors[0].lang, self.donors[0].tokens
        reduce_columns(self.model, self.vocabulary.frequencies(self.table), KEPT)
        return build_cnn(self.model, self.table, name, lang, tokens)
