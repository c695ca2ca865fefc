"""Learner of a transformer, which may learn the predictions of another one."""

from collections.abc import Callable
from pathlib import Path

import torch
from spacy.language import Language
from torch import Tensor

from ..describers.label_encoder import subwords_of_labels
from ..layers.subword_tokenizer import SubwordTokenizer
from ..types import Block
from .batches import DonorBatch, TrainingData, pack_donors
from .donors import Donor, PretrainOptions, unusable
from .learners import Learner, PretrainRates, Student, device_of, rates_of, similar_labels
from .teaching import Teacher
from .transformer import (
    TEACHER,
    BiEncoder,
    TransformerStart,
    build_transformer,
    short_labels,
    write_transformer,
)


class TransformerStudent(Student):
    """Transformer that is trained against fixed vectors of labels.

    start (TransformerStart): The weights to start from.
    data (TrainingData): The donors.
    device (torch.device): Device to train on.
    """

    model: BiEncoder

    def __init__(self, start: TransformerStart, data: TrainingData, device: torch.device) -> None:
        self.tokenizer = start.tokenizer
        self.label_data, labels = short_labels(start)
        super().__init__(start.model.to(device))
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
