"""States of a teacher for the words of donors, computed once and stored in a cache folder."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from spacy.util import minibatch

from ..layers.int8 import in_int8
from ..layers.quantized import EightBit, eight_bit
from ..output.console import progress
from ..output.writing import coded_io, whole_folder
from .batches import PackedDonor, Sentence, places_of, unlabelled
from .transformer import BiEncoder

CODES, SCALES = "codes.npy", "scales.npy"
BATCH_SIZE = 64  # number of sentences that are encoded together


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
        checksum.update(sentence.ids.tobytes())
        checksum.update(sentence.first.tobytes())
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
            states = teacher.states(unlabelled(some).to(device))
        codes[places], scales[places] = eight_bit(states.cpu().numpy())
    codes.flush()
    np.save(folder / SCALES, scales)
