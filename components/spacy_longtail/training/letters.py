"""Share of a corpus's letters that a pretrained encoder can read."""

import warnings
from collections import Counter
from functools import lru_cache
from itertools import islice
from pathlib import Path

import spacy
from spacy.vocab import Vocab
from thinc.api import Config

from ..corpus.formats.docbin import stream_docs
from ..corpus.parts import part_path
from ..encoders import check_encoder
from ..errors import Warnings
from ..layers.listeners import nodes_of
from ..layers.subwords import NAME as SUBWORDS
from ..layers.subwords import plain
from ..layers.windows import TRANSFORMER
from ..models.transformer import encoder_of

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
