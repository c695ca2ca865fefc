"""Teacher, whose predictions are learned, and its states, which can be stored in a cache folder."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from spacy.util import minibatch
from torch import Tensor, nn
from torch.nn import functional

from ..describers.label_encoder import subwords_of_labels
from ..layers.int8 import in_int8
from ..layers.quantized import EightBit, eight_bit
from ..output.console import progress
from ..output.writing import coded_io, whole_folder
from ..training.provenance import file_content
from .batches import DonorBatch, PackedDonor, Sentence, TrainingData, batch_without_gold, places_of
from .donors import PretrainOptions, unusable
from .transformer import TEACHER, BiEncoder, TransformerStart

TEMPERATURE = 2.0  # at which a teacher's predictions are learned
CODES, SCALES = "codes.npy", "scales.npy"
BATCH_SIZE = 64  # number of sentences that are encoded together


class Teacher:
    """Pretrained transformer whose predictions are learned on the donors in its language.

    start (TransformerStart): The transformer.
    data (TrainingData): The donors; stored states are added in place.
    options (PretrainOptions): The options.
    device (torch.device): Device to train on.
    say (Callable[[str], None]): Called with messages on the progress.
    weight (float): Weight of its predictions in the loss.
    student_width (Optional[int]): Number of columns of the student's states, which are mapped to
        those of the teacher; null if only its predictions are learned.
    n_random_labels (int): Number of random label texts, besides the candidates, for which its
        predictions are learned.
    RAISES (ValueError): If no donor is in its language (L495).
    """

    def __init__(
        self,
        start: TransformerStart,
        data: TrainingData,
        options: PretrainOptions,
        device: torch.device,
        say: Callable[[str], None],
        weight: float = 0.5,
        student_width: int | None = None,
        n_random_labels: int = 0,
    ) -> None:
        donors = [packed for packed in data.packed if packed.has_teacher]
        if not donors:
            raise unusable(
                options.teacher,
                problem=f"it reads {start.lang}, and no donor is in this language",
                fix="Omit it, or add such a donor",
                role=TEACHER,
            )
        self.weight, self.n_random_labels = weight, n_random_labels
        labels = BiEncoder(start.labels).to(device)
        self.vectors = labels.describe(subwords_of_labels(start.tokenizer, data.label_texts))
        self.model = start.model.to(device).eval()
        own = {
            label for donor in donors for labels_of_type in donor.label_ids for label in labels_of_type
        }
        self.label_ids = torch.tensor(sorted(own), device=device)
        if options.teacher_cache is not None:
            key = file_content(str(options.teacher))
            store_states(options.teacher_cache, self.model, key, donors, say)
        hidden = self.model.P.shape[2]
        self.match = None if student_width is None else nn.Linear(student_width, hidden).to(device)

    def random_labels(self) -> Tensor:
        """Return random label texts in its language, shape (n_random_labels,)."""
        device = self.label_ids.device
        return self.label_ids[torch.randint(len(self.label_ids), (self.n_random_labels,), device=device)]

    def mixed(
        self, loss: Tensor, batch: DonorBatch, label_ids: Tensor, states: Tensor, logits: Tensor
    ) -> Tensor:
        """Average the loss of the gold tags with the divergence from the teacher's predictions.

        If the student's states are mapped, add their squared distance from the teacher's states.

        loss (Tensor): The loss of the gold tags.
        batch (DonorBatch): The batch.
        label_ids (Tensor): Label texts of the candidates, then random ones, shape (n_labels,).
        states (Tensor): The student's states, shape (n_words, width).
        logits (Tensor): The student's logits, shape (n_words, 1 + 2 * n_labels).
        """
        with torch.no_grad():
            is_stored = batch.teacher_states.shape[1] > 0
            own_states = batch.teacher_states if is_stored else self.model.states(batch)
            predicted = self.model.logits(own_states, self.vectors[label_ids])
        if self.match is None:
            divergence = _divergence(batch.masked(logits), batch.masked(predicted))
            return (1 - self.weight) * loss + self.weight * divergence
        loss = (1 - self.weight) * loss + self.weight * _divergence(logits, predicted)
        normalized = functional.layer_norm(own_states, own_states.shape[1:])
        return loss + functional.mse_loss(self.match(states), normalized)


def _divergence(logits: Tensor, predicted: Tensor) -> Tensor:
    """Return the KL divergence from a teacher's predictions, in nats per word.

    It is multiplied by the squared temperature.

    SOURCE: Hinton et al. 2015, arXiv:1503.02531.
    """
    log_p, log_q = (functional.log_softmax(z / TEMPERATURE, 1) for z in (logits, predicted))
    return functional.kl_div(log_p, log_q, log_target=True, reduction="batchmean") * TEMPERATURE**2


def store_states(
    cache: Path,
    teacher: BiEncoder,
    key: str,
    donors: list[PackedDonor],
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Give each donor the states of a teacher for the words of its training sentences.

    States that are not in the cache yet are computed and stored there, in eight bits with a scale
    for each word. On a CPU, the teacher computes in int8. Stored states are memory-mapped.

    cache (Path): Folder of the cache, which several runs may share.
    teacher (BiEncoder): The teacher.
    key (str): Checksum of the teacher.
    donors (List[PackedDonor]): The donors; changed in place.
    say (Callable[[str], None]): Called with a message for each donor that is encoded.
    """
    encoder: Any = teacher.encoder
    if next(encoder.parameters()).device.type == "cpu":
        teacher.encoder = in_int8(encoder, encoder.get_input_embeddings())
    for donor in donors:
        folder = cache / f"{key[:16]}-{_digest(donor.train)}"
        if not folder.is_dir():
            say(f"{donor.name}: computing the teacher's states, once")
            with whole_folder(folder) as new:
                _write(new, teacher, donor.train)
        with coded_io(folder):
            arrays = [np.load(folder / name, mmap_mode="r") for name in (CODES, SCALES)]
        donor.teacher_states = EightBit(*arrays)
    teacher.encoder = encoder


def _digest(sentences: list[Sentence]) -> str:
    """Return a checksum of the subwords of sentences, in their order."""
    checksum = blake2b(digest_size=8)
    for sentence in sentences:
        checksum.update(sentence.ids.tobytes() + sentence.first.tobytes())
    return checksum.hexdigest()


def _write(folder: Path, teacher: BiEncoder, sentences: list[Sentence]) -> None:
    n_words = sum(len(sentence.first) for sentence in sentences)
    shape, device = (n_words, teacher.P.shape[2]), teacher.P.device
    codes = np.lib.format.open_memmap(folder / CODES, "w+", "int8", shape)
    scales = np.zeros(n_words, dtype="float32")
    order = sorted(sentences, key=lambda sentence: len(sentence.ids))
    for some in progress([*minibatch(order, BATCH_SIZE)], "teacher", "batch"):
        places = places_of(some)
        with torch.no_grad():
            states = teacher.states(batch_without_gold(some).to(device))
        codes[places], scales[places] = eight_bit(states.cpu().numpy())
    codes.flush()
    np.save(folder / SCALES, scales)
