"""Learner of a CNN, which may learn the predictions and the states of a transformer."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from spacy.attrs import ORTH
from spacy.language import Language
from torch import Tensor

from ..describers.static import subwords_of_texts
from ..layers.subword_tokenizer import SubwordTokenizer
from ..types import Block
from .batches import Cutter, DonorBatch, TableCutter, TrainingData, pack_donors
from .cnn import (
    TEXT_SUBWORDS,
    CNNBiEncoder,
    CNNStart,
    Vocabulary,
    add_subwords,
    build_cnn,
    choose_subwords,
    new_cnn,
    padded,
    reduce_columns,
)
from .donors import Donor, PretrainOptions
from .learners import CHUNK, Learner, PretrainRates, Student, device_of, rates_of, similar_labels
from .teaching import Teacher
from .transformer import TransformerStart

CNN_RATES = PretrainRates(encoder_rate=2e-3, head_rate=2e-3, warmup=0.03)
TABLE_RATE = 0.5  # learning rate of the subword vectors, relative to that of the encoder
# cosine, as for a transformer, but means of subwords are more similar than its vectors
MIN_SIMILARITY = 0.65
TEACHER_WEIGHT = 0.6  # weight of a teacher's predictions in the loss
N_RANDOM_LABELS = 64  # number of random label texts in a batch
N_COLUMNS_WRITTEN = 96  # of the table of subwords


class CNNStudent(Student):
    """CNN that is trained together with the vectors of its subwords, which also describe labels.

    start (CNNStart): The weights to start from.
    data (TrainingData): The donors.
    vocabulary (Vocabulary): Their words.
    device (torch.device): Device to train on.
    """

    model: CNNBiEncoder
    betas = (0.9, 0.98)

    def __init__(
        self, start: CNNStart, data: TrainingData, vocabulary: Vocabulary, device: torch.device
    ) -> None:
        self.model, self.table, self.vocabulary = start[0].to(device), start[1], vocabulary
        self.subwords = self.table.subwords
        features = vocabulary.features(self.table, [*map(len, self.model.encoder.tables)])
        self.features = [part.to(device) for part in features]
        self.keys = torch.from_numpy(vocabulary.keys).to(device)
        rows = subwords_of_texts(self.table, list(data.label_texts))
        self.labels = padded(rows, len(self.subwords), TEXT_SUBWORDS).to(device)

    def states(self, batch: DonorBatch, dropout: float) -> Tensor:
        """Return the states of words, shape (n_words, width)."""
        places = torch.searchsorted(self.keys, batch.words)
        cnn, (rows, subwords) = self.model.encoder, self.features
        lengths = torch.bincount(batch.sentences, minlength=len(batch.ids))
        return cnn.encode(cnn.embed(rows[places], subwords[places]), lengths, dropout / 2)

    def describe(self, label_ids: Tensor) -> Tensor:
        """Compute the vectors of label texts.

        They change in training, as the vectors of their subwords do.
        """
        return self.model.describe(self.labels[label_ids])

    def encoder_groups(self, rates: PretrainRates) -> list[Block]:
        """Return the groups of parameters. Subword vectors have a low rate and are not decayed."""
        vectors = self.model.encoder.vectors
        others = [p for p in self.model.encoder.parameters() if p is not vectors]
        return [
            {"params": [vectors], "rate": TABLE_RATE * rates.encoder_rate, "weight_decay": 0.0},
            {"params": others, "rate": rates.encoder_rate, "weight_decay": rates.weight_decay},
        ]

    def write(self, nlp: Language, name: str, folder: Path) -> None:
        """Add the trained components to an empty pipeline, and write it."""
        reduce_columns(self.model, self.vocabulary.frequencies(self.table), N_COLUMNS_WRITTEN)
        build_cnn(self.model, self.table, name, nlp)
        nlp.to_disk(folder)


def cnn_learner(
    start: CNNStart | TransformerStart,
    teacher_start: TransformerStart | None,
    donors: list[Donor],
    options: PretrainOptions,
    say: Callable[[str], None],
    subwords: Sequence[str] = (),
) -> Learner:
    """Return a learner of a CNN.

    start (CNNStart | TransformerStart): The weights to start from. A new CNN gets its subwords and
        their vectors from a transformer.
    teacher_start (Optional[TransformerStart]): Teacher, whose tokenizer splits the donors' words.
    donors (List[Donor]): The donors.
    options (PretrainOptions): The options.
    say (Callable[[str], None]): Called with messages on the progress.
    subwords (Sequence[str]): Subwords of the interrupted run that is resumed, if any.
    RAISES (ValueError): If an option cannot be used.
    """
    vocab, device = donors[0].train[0].vocab, device_of(options.gpu_id)
    if not isinstance(start, TransformerStart) and options.new_subwords:
        orths = np.concatenate([doc.to_array(ORTH) for donor in donors for doc in donor.train])
        words, table = Vocabulary(orths, vocab), start[1]
        # another version of `tokenizers` may choose others
        new = list(subwords[len(table.subwords) :])
        new = new or choose_subwords(table, words, options.new_subwords)
        start = add_subwords(start[0], table, new)
    splitter = teacher_start or start
    cutter: Cutter = (
        SubwordTokenizer(splitter.tokenizer)
        if isinstance(splitter, TransformerStart)
        else TableCutter(splitter[1])
    )
    data = pack_donors(donors, cutter, options.share, teacher_start and teacher_start.lang)
    sentences = [sentence for own in data.packed for sentence in (*own.train, *own.dev)]
    vocabulary = Vocabulary(np.concatenate([sentence.words for sentence in sentences]), vocab)
    if isinstance(start, TransformerStart):
        start = new_cnn(start, vocabulary, list(data.label_texts))
    student = CNNStudent(start, data, vocabulary, device)
    teacher = teacher_start and Teacher(
        start=teacher_start,
        data=data,
        options=options,
        device=device,
        say=say,
        weight=TEACHER_WEIGHT,
        student_width=student.model.encoder.width,
        n_random_labels=N_RANDOM_LABELS,
    )
    if teacher and all(packed.has_teacher for packed in data.packed):
        similar = similar_labels(teacher.vectors)
    else:
        with torch.no_grad():
            vectors = torch.cat([*map(student.model.describe, student.labels.split(CHUNK))])
        similar = similar_labels(vectors, MIN_SIMILARITY)
    return Learner(data, student, teacher, similar, options, rates_of(options, CNN_RATES))
