"""The words of donors as the CNN reads them, and a new CNN with vectors of their subwords."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.vocab import Vocab
from thinc.api import NumpyOps
from torch import Tensor
from torch.nn import functional

from ...describers.static import subwords_of_texts
from ...layers.subwords import GOES_ON, NO_SUBWORDS, SubwordTable, plain, subwords_of
from ...models.rich_embed import FIRST_SEED
from ...models.transformer import Pieces
from .cnn import ATTRIBUTES, CNN, CNNBiEncoder, WordFeatures
from .data import Donor
from .start import Start

ROWS = (5000, 1000, 2500, 2500)  # of the hash tables of a new CNN
OF_WORD, OF_TEXT = 12, 64  # subwords that training reads, at most
COLUMNS = 128  # of the table in training
LAST_LATIN = 0x24F  # code points
FEWEST_FOREIGN = 20  # times that a subword of another script occurs in the donors, to be kept
SMOOTHED = 5  # times more that each subword counts as read
BATCH = 512


class Vocabulary:
    """The distinct words of donors.

    donors (Iterable[Donor]): What is trained on, and what is scored. vocab (Vocab): Of their words.
    """

    def __init__(self, donors: Iterable[Donor], vocab: Vocab) -> None:
        orths = np.concatenate([own for donor in donors for own in donor.words])
        self.keys, self.counts = np.unique(orths, return_counts=True)
        self.words = [vocab.strings[key] for key in self.keys.astype("uint64").tolist()]
        lexemes = [vocab[word] for word in self.words]
        self.attributes = [
            np.array([getattr(lexeme, name.lower()) for lexeme in lexemes], dtype="uint64")
            for name in ATTRIBUTES
        ]

    def features(self, table: SubwordTable, n_rows: Sequence[int]) -> WordFeatures:
        """What the CNN knows of each word. n_rows (Sequence[int]): Of the hash tables."""
        ops = NumpyOps()
        rows = [
            ops.hash(keys, FIRST_SEED + i) % n
            for i, (keys, n) in enumerate(zip(self.attributes, n_rows, strict=True))
        ]
        hashed = torch.from_numpy(np.stack(rows, axis=1).astype("int32"))
        return WordFeatures(hashed, padded(table.cut(self.words), len(table.subwords), OF_WORD))

    def frequencies(self, table: SubwordTable) -> np.ndarray:
        """How often the donors have each subword, (n_subwords,)."""
        return _times(table.cut(self.words), len(table.subwords), self.counts)


def padded(rows: Sequence[Sequence[int]], n_subwords: int, most: int) -> Tensor:
    """Subwords of texts in one array, padded with `n_subwords`. most (int): Of a text."""
    width = max(1, min(most, max(map(len, rows), default=1)))
    found = np.full((len(rows), width), n_subwords, dtype="int32")
    for i, own in enumerate(rows):
        found[i, : len(own)] = own[:width]
    return torch.from_numpy(found)


class ReadCNN(NamedTuple):
    """A CNN, and the subwords of the rows of its table."""

    model: CNNBiEncoder
    table: SubwordTable  # its vectors are the model's, which are trained


def new_cnn(teacher: Start, vocabulary: Vocabulary, texts: list[str]) -> ReadCNN:
    """A CNN with those subwords of a teacher that the donors have.

    Their vectors are the states of the label encoder and of the teacher for each subword alone, side by
    side, in the directions in which frequent subwords differ most.

    texts (List[str]): Of all labels.
    """
    tokenizer = teacher.tokenizer
    ids = subwords_of(tokenizer, range(tokenizer.get_vocab_size()))
    is_plain = all(subword == plain(subword) for subword in ids)
    whole = SubwordTable(NO_SUBWORDS.vectors, list(ids), is_plain)
    in_words = vocabulary.frequencies(whole)
    in_texts = _times(subwords_of_texts(whole, texts), len(ids))
    kept = np.flatnonzero((in_words >= [*map(_fewest, ids)]) | (in_texts > 0))
    table = SubwordTable(NO_SUBWORDS.vectors, [whole.subwords[i] for i in kept], is_plain)
    pieces, ends = np.array(list(ids.values()))[kept], Pieces(tokenizer).ends
    read = (_alone(encoder, pieces, *ends) for encoder in (teacher.labels, teacher.model.encoder))
    X = np.concatenate([*read], axis=1)
    weights = (in_words[kept] + SMOOTHED) ** 0.5
    weights /= weights.sum()
    X -= weights @ X
    _, directions = np.linalg.eigh(X.T @ (X * weights[:, None]))
    found = X @ directions[:, ::-1][:, :COLUMNS]
    return ReadCNN(CNNBiEncoder(CNN(torch.from_numpy(found / found.std()), ROWS)), table)


def _fewest(subword: str) -> int:
    """How often the donors must have a subword. Latin letters stay: any word can be cut into them."""
    if any(ord(letter) > LAST_LATIN for letter in subword):
        return FEWEST_FOREIGN
    return int(len(subword.removeprefix(GOES_ON)) > 1)


def _times(rows: list[list[int]], n_subwords: int, counts: np.ndarray | None = None) -> np.ndarray:
    flat = np.array([row for own in rows for row in own], dtype="int64")
    weights = None if counts is None else np.repeat(counts, [len(own) for own in rows])
    return np.bincount(flat, weights, minlength=n_subwords)


@torch.no_grad()
def _alone(encoder: Any, pieces: np.ndarray, before: list[int], behind: list[int]) -> np.ndarray:
    """Each piece as a transformer reads it without others, (n_pieces, hidden), of unit length."""
    rows = torch.tensor([[*before, piece, *behind] for piece in pieces.tolist()]).split(BATCH)
    device = next(encoder.parameters()).device
    states = [encoder.eval()(input_ids=own.to(device)).last_hidden_state[:, len(before)] for own in rows]
    found: np.ndarray = functional.normalize(torch.cat(states).double(), dim=1).cpu().numpy()
    return found
