"""Warnings about a pretrained encoder: sentences of a corpus that it has seen, and unknown letters.

The pretraining writes a sample of the hashes of its sentences to seen.bin in the pipeline's folder.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.util import dict_to_dot
from spacy.vocab import Vocab
from thinc.api import Config
from thinc.types import Ints1d

from ..corpus.likeness import text_key
from ..corpus.parts import part_path, stream_docs, stream_sentences
from ..encoders import check_encoder, located
from ..errors import START, Errors, Warnings
from ..layers.listeners import nodes_of
from ..layers.subwords import NAME as SUBWORDS
from ..layers.subwords import plain
from ..layers.windows import TRANSFORMER
from ..models.transformer import encoder_of

SEEN_FILE = "seen.bin"  # in the pipeline's folder: ascending hashes of 4 bytes, little-endian
SAMPLED = 4  # one of so many sentences is sampled, by its hash and so in all corpora alike
MIN_WORDS = 5  # shorter sentences are equal by chance
MAX_SEEN = 0.02  # fraction of seen sentences above which scores on a corpus are not valid


def sketch(sentences: Iterable[Doc]) -> Ints1d:
    """Return the sampled hashes of sentences, ignoring white space and case.

    sentences (Iterable[Doc]): Documents of one sentence each.
    RETURNS (Ints1d): Unique hashes in ascending order, uint32 of shape (n_sampled,).
    """
    numbers = {text_key(doc.text) % (SAMPLED << 32) for doc in sentences if len(doc) >= MIN_WORDS}
    return np.array(sorted(n // SAMPLED for n in numbers if n % SAMPLED == 0), dtype="<u4")


def write_seen(pipeline: Path, sentences: Iterable[Doc], earlier: Iterable[int] = ()) -> None:
    """Write the sampled hashes of the sentences on which a pipeline was pretrained.

    pipeline (Path): Folder of the pipeline.
    sentences (Iterable[Doc]): Documents of one sentence each.
    earlier (Iterable[int]): Sampled hashes of the encoder that the pretraining started from.
    """
    hashes = np.union1d(sketch(sentences), np.array([*earlier], dtype="<u4"))
    (pipeline / SEEN_FILE).write_bytes(hashes.tobytes())


def read_seen(pipeline: Path) -> Ints1d:
    """Return the sampled hashes of the sentences on which a pipeline was pretrained.

    pipeline (Path): Folder of the pipeline, or an installed package.
    RETURNS (Ints1d): In ascending order, uint32 of shape (n_sampled,); empty without a list.
    RAISES (ValueError): If the list is damaged (L274).
    """
    path = located(pipeline) / SEEN_FILE
    data = path.read_bytes() if path.is_file() else b""
    if len(data) % 4:
        raise ValueError(
            Errors.L274.format(
                who="A training", path=pipeline, problem=f"{SEEN_FILE} is damaged", fix=START
            )
        )
    return np.frombuffer(data, dtype="<u4")


def seen_share(pipeline: Path, parts: Iterable[Path]) -> float:
    """Estimate the fraction of a corpus's sentences on which a pipeline was pretrained.

    pipeline (Path): Folder of the pipeline, or an installed package.
    parts (Iterable[Path]): Parts of the corpus: .spacy files or folders. Missing ones are ignored.
    RETURNS (float): In [0, 1]. 0 if the pipeline has no list of sentences.
    RAISES (ValueError): If the list is damaged (L274).
    """
    if not len(known := read_seen(pipeline)):
        return 0.0
    vocab = Vocab()
    sampled = sketch(d for part in parts if part.exists() for d in stream_sentences(part, vocab))
    return float(np.isin(sampled, known).mean()) if len(sampled) else 0.0


def warn_seen(config: Config, corpus: Path) -> None:
    """Warn of encoders that were pretrained on the dev or test part of a corpus.

    config (Config): The config, interpolated. Its components and [initialize] name the encoders.
    corpus (Path): Folder of a converted corpus.
    """
    parts = tuple(path for name in ("dev", "test") if (path := part_path(corpus, name)).exists())
    blocks = {name: config.get(name, {}) for name in ("components", "initialize")}
    values = {str(value) for value in dict_to_dot(blocks).values()}
    # unlike a method of Path, `isfile` accepts a text that is too long for a path
    for folder in sorted(v for v in values if v and os.path.isfile(located(v) / SEEN_FILE)):
        if (share := _share(folder, parts)) > MAX_SEEN:
            warnings.warn(
                Warnings.W103.format(path=folder, corpus=corpus, share=f"{100 * share:.0f} %"),
                stacklevel=3,
            )


@lru_cache(maxsize=64)
def _share(folder: str, parts: tuple[Path, ...]) -> float:
    """Return the result of `seen_share`, computed once for all methods of a plan."""
    return seen_share(Path(folder), parts)


MIN_KNOWN_LETTERS = 0.5  # share of letters below which an encoder is not tried
N_DOCS = 500  # number of documents that are counted


@lru_cache(maxsize=8)
def _letters(encoder: str) -> tuple[frozenset[str], bool]:
    """Return the letters that are subwords of an encoder, and whether they are plain."""
    for node in nodes_of(spacy.load(check_encoder(encoder))):
        if node.name == SUBWORDS:
            table = node.attrs["subwords"]
            return frozenset(s.removeprefix("##") for s in table.subwords), table.is_plain
        if node.name == TRANSFORMER:
            tokenizer = encoder_of(node).tokenizer
            known = {} if tokenizer is None else tokenizer.get_vocab()
            letters = frozenset(s.removeprefix("##") for s in known)
            return letters, all(s == s.lower() for s in letters if not s.startswith("["))
    return frozenset(), False


def share_of_letters(encoder: str, corpus: Path) -> float:
    """Return the share of a corpus's training letters that an encoder has subwords for.

    encoder (str): An installed encoder such as "en_longtail_cnn", or a folder of `pretrain`.
    corpus (Path): Folder of a converted corpus.
    RETURNS (float): In [0, 1]. 1 if the encoder has no list of subwords or the text no letters.
    """
    known, is_plain = _letters(encoder)
    texts = (doc.text for doc in islice(stream_docs(part_path(corpus, "train"), Vocab()), N_DOCS))
    counts = Counter(c for text in texts for c in (plain(text) if is_plain else text) if c.isalpha())
    if not known or not counts:
        return 1.0
    return sum(n for letter, n in counts.items() if letter in known) / counts.total()


def warn_letters(config: Config, corpus: Path) -> None:
    """Warn of a pretrained encoder that lacks most letters of a corpus.

    config (Config): The config, interpolated.
    corpus (Path): Folder of a converted corpus.
    """
    encoder = config.get("paths", {}).get("pretrained")
    if encoder and (share := share_of_letters(str(encoder), corpus)) < MIN_KNOWN_LETTERS:
        warnings.warn(
            Warnings.W206.format(encoder=encoder, share=f"{100 * share:.0f} %", corpus=corpus),
            stacklevel=3,
        )
