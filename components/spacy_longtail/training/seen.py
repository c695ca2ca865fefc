"""Sentences that an encoder was pretrained on, known again by a sample of their hashes."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.types import Ints1d

from ..corpus.formats.docbin import stream_sentences
from ..encoders import located
from ..errors import Errors
from ..sentences import plain_text

FILE = "seen.bin"  # beside the meta.json of a pipeline: ascending, 4 bytes each, little-endian
SAMPLED = 4  # one sentence in so many, the same whatever corpus it is in
LEAST_WORDS = 5  # shorter ones are alike by chance
MOST = 0.02  # of a corpus, from which its scores are said to be no measurement


def sketch(sentences: Iterable[Doc]) -> Ints1d:
    """The sampled hashes of sentences, up to white space and case.

    sentences (Iterable[Doc]): One each. RETURNS (Ints1d): (n_sampled,) uint32, ascending, unique.
    """
    texts = (plain_text(d.text).encode("utf8", "replace") for d in sentences if len(d) >= LEAST_WORDS)
    hashes = (hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    numbers = {int.from_bytes(digest, "big") % (SAMPLED << 32) for digest in hashes}
    kept = sorted(number // SAMPLED for number in numbers if number % SAMPLED == 0)
    return np.array(kept, dtype="<u4")


def write_seen(pipeline: Path, sentences: Iterable[Doc]) -> None:
    """Keep beside a pipeline what it was pretrained on. sentences (Iterable[Doc]): One each."""
    (pipeline / FILE).write_bytes(sketch(sentences).tobytes())


def seen_share(pipeline: Path, parts: Iterable[Path]) -> float:
    """The share of a corpus's sentences that a pipeline was pretrained on, by the sample of them.

    pipeline (Path): Its folder, or an installed package; one without the file has seen nothing.
    parts (Iterable[Path]): Files of a corpus, or folders of them; absent ones do not count.
    """
    path = located(pipeline) / FILE
    data = path.read_bytes() if path.is_file() else b""
    if len(data) % 4:
        problem = f"{FILE} is damaged"
        raise ValueError(Errors.L274.format(who="A training", path=pipeline, problem=problem))
    if not data:
        return 0.0
    vocab = Vocab()
    there = (part for part in parts if part.exists())
    sampled = sketch(doc for part in there for doc in stream_sentences(part, vocab))
    return float(np.isin(sampled, np.frombuffer(data, dtype="<u4")).mean()) if len(sampled) else 0.0
