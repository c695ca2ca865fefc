"""Learner of a CNN, which may learn the predictions and the states of a transformer."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from spacy.attrs import ORTH
from spacy.language import Language
from torch import Tensor, nn

from ..describers.static import subwords_of_texts
from ..layers.subword_tokenizer import SubwordTokenizer
from ..types import Block
from .batches import DonorBatch, TableCutter
from .cnn import (
    TEXT_SUBWORDS,
    CNNBiEncoder,
    CNNStart,
    Vocabulary,
    add_subwords,
    build_cnn,
    new_cnn,
    new_subwords,
    padded,
    reduce_columns,
)
from .donors import Donor, PretrainOptions
from .learners import CHUNK, BiEncoderLearner, PretrainRates
from .transformer import Start

CNN_RATES = PretrainRates(encoder_rate=2e-3, head_rate=2e-3, warmup=0.03)
TABLE_RATE = 0.5  # learning rate of the subword vectors, relative to that of the encoder
BETAS = (0.9, 0.98)  # of AdamW
NEAR = 0.65  # as for a transformer, but means of subwords are more similar than its vectors
TEACHER_WEIGHT = 0.6  # weight of a teacher's predictions in the loss
N_RANDOM_TEXTS = 64  # number of random label texts in a batch
N_COLUMNS_WRITTEN = 96  # of the table of subwords


class CNNLearner(BiEncoderLearner):
    """Learner that trains a CNN and a head on donors.

    start (Optional[CNNStart]): The weights to start from; null makes a new CNN from the teacher.
    teacher (Optional[Start]): Teacher, whose tokenizer splits the donors' words if there is one.
    donors (List[Donor]): The donors.
    options (PretrainOptions): The options.
    say (Callable[[str], None]): Called with messages on the progress.
    subwords (Sequence[str]): Subwords of the interrupted run that is resumed, if any.
    """

    model: CNNBiEncoder

    def __init__(
        self,
        start: CNNStart | None,
        teacher: Start | None,
        donors: list[Donor],
        options: PretrainOptions,
        say: Callable[[str], None],
        subwords: Sequence[str] = (),
    ) -> None:
        vocab = donors[0].train[0].vocab
        if start and options.new_subwords:
            orths = np.concatenate([doc.to_array(ORTH) for donor in donors for doc in donor.train])
            # another version of `tokenizers` may choose others
            new = list(subwords[len(start[1].subwords) :]) or new_subwords(
                start[1], Vocabulary(orths, vocab), options.new_subwords
            )
            start = add_subwords(*start, new)
        # without a teacher, there are weights to start from
        cutter = (
            SubwordTokenizer(teacher.tokenizer) if teacher else TableCutter(cast(CNNStart, start)[1])
        )
        super().__init__(donors, options, CNN_RATES, cutter, TEACHER_WEIGHT, N_RANDOM_TEXTS)
        sentences = [sentence for donor in self.packed for sentence in (*donor.train, *donor.dev)]
        orths = np.concatenate([sentence.words for sentence in sentences])
        self.vocabulary = Vocabulary(orths, vocab)
        model, self.table = start or new_cnn(cast(Start, teacher), self.vocabulary, list(self.texts))
        self.model = model.to(self.device)
        self._read_features()
        if teacher is not None:
            self.learn_from(teacher, say)
            self.vectors = self.teacher_vectors
            self.match = nn.Linear(model.encoder.width, teacher.model.P.shape[2]).to(self.device)
        if teacher is None or not all(packed.has_teacher for packed in self.packed):
            self.near = NEAR
            with torch.no_grad():
                self.vectors = torch.cat([*map(self.model.describe, self.labels.split(CHUNK))])
        module = nn.ModuleList([self.model] if self.match is None else [self.model, self.match])
        self.begin(module, self._groups(module))

    def _read_features(self) -> None:
        """Store the inputs of the CNN for all words and label texts."""
        features = self.vocabulary.features(self.table, [*map(len, self.model.encoder.tables)])
        self.features = [part.to(self.device) for part in features]
        self.keys = torch.from_numpy(self.vocabulary.keys).to(self.device)
        rows = subwords_of_texts(self.table, list(self.texts))
        self.labels = padded(rows, len(self.table.subwords), TEXT_SUBWORDS).to(self.device)

    def _groups(self, module: nn.Module) -> list[Block]:
        """Return the groups of parameters. Subword vectors have a low rate and are not decayed.

        module (nn.Module): Everything that is trained.
        """
        cnn, rates = self.model.encoder, self.rates
        encoder = [p for p in cnn.parameters() if p is not cnn.vectors]
        in_cnn = {*map(id, cnn.parameters())}
        head = [p for p in module.parameters() if id(p) not in in_cnn]
        decay, table_rate = rates.weight_decay, TABLE_RATE * rates.encoder_rate
        return [
            {"params": [cnn.vectors], "rate": table_rate, "weight_decay": 0.0, "betas": BETAS},
            {"params": encoder, "rate": rates.encoder_rate, "weight_decay": decay, "betas": BETAS},
            {"params": head, "rate": rates.head_rate, "weight_decay": decay, "betas": BETAS},
        ]

    def states(self, batch: DonorBatch) -> Tensor:
        """Return the states of words, shape (n_words, width)."""
        places = torch.searchsorted(self.keys, batch.words)
        cnn, (rows, subwords) = self.model.encoder, self.features
        lengths = torch.bincount(batch.rows, minlength=len(batch.ids))
        return cnn.encode(cnn.embed(rows[places], subwords[places]), lengths, self.rates.dropout / 2)

    def describe(self, texts: Tensor) -> Tensor:
        """Return the vectors of labels, computed anew since those of their subwords change."""
        return self.model.describe(self.labels[texts])

    @property
    def subwords(self) -> list[str]:
        """Subwords of the CNN, whose order is that of their vectors."""
        return self.table.subwords

    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it.

        nlp (Language): The pipeline; changed in place.
        name (str): Final folder of the pipeline, which its config names.
        folder (Path): Folder to write.
        """
        reduce_columns(self.model, self.vocabulary.frequencies(self.table), N_COLUMNS_WRITTEN)
        build_cnn(self.model, self.table, name, nlp)
        nlp.to_disk(folder)
