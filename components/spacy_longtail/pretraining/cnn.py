"""spaCy's CNN over hashed attributes and subwords as a bi-encoder: in torch, and as a pipeline."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.language import Language
from spacy.vocab import Vocab
from thinc.api import Model, NumpyOps, to_numpy
from torch import Tensor, nn
from torch.nn import functional

from ..corpus.tokenizers import blank
from ..describers import SubwordDescriptions
from ..describers.static import subwords_of_texts
from ..layers.quantised import eight_bit
from ..layers.subwords import GOES_ON, NAME, NO_SUBWORDS, SubwordTable, plain, subwords_of
from ..models.rich_embed import FIRST_SEED
from ..models.transformer import Pieces
from ..types import Block
from .batches import PackedDonor
from .matcher import (
    PREFIXES,
    Matcher,
    add_described_ner,
    described_layer,
    no_start,
    read_pipeline,
    set_rows,
)
from .transformer import ENCODER, Start

ATTRIBUTES = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
EPSILON = 1e-8  # of layer normalisation, as in thinc
PIECES = 3  # of maxout
ROWS = (5000, 1000, 2500, 2500)  # of the hash tables of a new CNN
OF_WORD, OF_TEXT = 12, 64  # subwords that training reads, at most
COLUMNS = 128  # of the table in training
LAST_LATIN = 0x24F  # code points
FEWEST_FOREIGN = 20  # times that a subword of another script occurs in the donors, to be kept
SMOOTHED = 5  # times more that each subword counts as read
BATCH = 512


class WordFeatures(NamedTuple):
    """What the CNN knows of each word of a vocabulary, in arrays."""

    rows: Tensor  # (n_words, n_attributes, 4), rows of the hash tables
    subwords: Tensor  # (n_words, n_subwords), padded with the number of subwords that there are


class Maxout(nn.Module):
    """thinc's Maxout with layer normalisation."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(n_out, PIECES, n_in))
        self.b = nn.Parameter(torch.zeros(n_out, PIECES))
        self.G = nn.Parameter(torch.ones(n_out))
        self.shift = nn.Parameter(torch.zeros(n_out))
        nn.init.uniform_(self.W, -((6 / (n_in + n_out)) ** 0.5), (6 / (n_in + n_out)) ** 0.5)

    def forward(self, rows: Tensor) -> Tensor:
        n_out, n_pieces, n_in = self.W.shape
        best = functional.linear(rows, self.W.view(-1, n_in), self.b.view(-1))
        best = best.view(len(rows), n_out, n_pieces).amax(2)
        return functional.layer_norm(best.float(), (n_out,), self.G, self.shift, EPSILON)


class CNN(nn.Module):
    """longtail.RichEmbed.v1 with attributes and subwords, and spacy.MaxoutWindowEncoder.v2.

    vectors (Tensor): (n_subwords, n_columns), the table of subwords at first.
    """

    def __init__(self, vectors: Tensor, rows: Sequence[int], width: int = 96, depth: int = 4) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        self.tables = nn.ParameterList(
            [nn.Parameter(torch.empty(n, width).uniform_(-0.1, 0.1)) for n in rows]
        )
        self.vectors = nn.Parameter(vectors.clone().float())
        self.project = nn.Linear(vectors.shape[1], width, bias=False)
        self.mix = Maxout(width * (len(rows) + 1), width)
        self.blocks = nn.ModuleList([Maxout(width * 3, width) for _ in range(depth)])

    def mean(self, subwords: Tensor) -> Tensor:
        """Mean vectors, (n_texts, n_columns). subwords (Tensor): (n_texts, n_subwords), padded."""
        n = len(self.vectors)
        lengths = (subwords < n).sum(1, keepdim=True).clamp(min=1)
        table = torch.cat([self.vectors, self.vectors.new_zeros(1, self.vectors.shape[1])])
        return functional.embedding(subwords, table).sum(1) / lengths

    def embed(self, features: WordFeatures) -> Tensor:
        """(n_words, width)."""
        parts = [functional.embedding(features.rows[:, i], t).sum(1) for i, t in enumerate(self.tables)]
        parts.append(self.project(self.mean(features.subwords)))
        return self.mix(torch.cat(parts, 1))

    def encode(self, words: Tensor, lengths: Tensor, dropout: float = 0.0) -> Tensor:
        """(n_tokens, width). words (Tensor): (n_tokens, width). lengths (Tensor): (n_sentences,)."""
        n = int(lengths.sum()) + self.depth * (len(lengths) + 1)
        at = torch.arange(len(words), device=words.device) + self.depth * (
            1 + torch.repeat_interleave(torch.arange(len(lengths), device=words.device), lengths)
        )
        X = words.new_zeros(n, self.width).index_copy(0, at, words)  # sentences, with zeros between them
        edge = words.new_zeros(1, self.width)
        for block in self.blocks:
            window = torch.cat([torch.cat([edge, X[:-1]]), X, torch.cat([X[1:], edge])], 1)
            X = X + functional.dropout(block(window), dropout, self.training)
        return X[at]


class CNNBiEncoder(Matcher):
    """The CNN below the head of longtail.DescribedTypes.v1, its labels read by the same subwords."""

    encoder: CNN

    def __init__(self, encoder: CNN, width: int = 256) -> None:
        super().__init__(encoder, encoder.width, encoder.vectors.shape[1], width)

    def describe(self, subwords: Tensor) -> Tensor:
        """(n_labels, n_columns), of unit length. subwords (Tensor): (n_labels, n_subwords), padded."""
        return functional.normalize(self.encoder.mean(subwords), dim=1)


def reduce_columns(model: CNNBiEncoder, counts: np.ndarray, n_columns: int) -> None:
    """Keep the directions of the table of subwords that the projections of words and labels use most.

    counts (np.ndarray): (n_subwords,), how often the donors have each subword.
    """
    parts = (model.encoder.vectors, model.encoder.project.weight, model.Q)
    table, words, labels = (part.detach().double().cpu().numpy() for part in parts)
    if table.shape[1] <= n_columns:
        return
    weights = (counts + 1) ** 0.5
    C = table.T @ (table * (weights / weights.sum())[:, None])
    values, axes = np.linalg.eigh(C)
    root = axes * np.maximum(values, 0) ** 0.5
    used = sum(Q.T @ Q / np.trace(Q @ C @ Q.T) for Q in (words, labels.reshape(-1, labels.shape[2])))
    _, directions = np.linalg.eigh(root.T @ used @ root)
    basis = torch.from_numpy(np.linalg.qr(root @ directions[:, -n_columns:])[0]).float()
    model.encoder.vectors, model.encoder.project.weight, model.Q = (
        nn.Parameter(part.detach().cpu() @ basis) for part in parts
    )


class Vocabulary:
    """The distinct words of donors.

    donors (Iterable[PackedDonor]): What is trained on, and what is scored.
    vocab (Vocab): Of their words.
    """

    def __init__(self, donors: Iterable[PackedDonor], vocab: Vocab) -> None:
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


def _times(rows: list[list[int]], n_subwords: int, counts: np.ndarray | None = None) -> np.ndarray:
    flat = np.array([row for own in rows for row in own], dtype="int64")
    weights = None if counts is None else np.repeat(counts, [len(own) for own in rows])
    return np.bincount(flat, weights, minlength=n_subwords)


class CNNStart(NamedTuple):
    """A CNN to go on from, and the subwords of the rows of its table."""

    model: CNNBiEncoder
    table: SubwordTable  # its vectors are the model's, which are trained


def new_cnn(teacher: Start, vocabulary: Vocabulary, texts: list[str]) -> CNNStart:
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
    vectors = X @ directions[:, ::-1][:, :COLUMNS]
    return CNNStart(CNNBiEncoder(CNN(torch.from_numpy(vectors / vectors.std()), ROWS)), table)


def _fewest(subword: str) -> int:
    """How often the donors must have a subword. Latin letters stay: any word can be cut into them."""
    if any(ord(letter) > LAST_LATIN for letter in subword):
        return FEWEST_FOREIGN
    return int(len(subword.removeprefix(GOES_ON)) > 1)


@torch.no_grad()
def _alone(encoder: Any, pieces: np.ndarray, before: list[int], behind: list[int]) -> np.ndarray:
    """Each subword as a transformer reads it alone, (n_subwords, hidden), of unit length."""
    rows = torch.tensor([[*before, piece, *behind] for piece in pieces.tolist()]).split(BATCH)
    device = next(encoder.parameters()).device
    states = [encoder.eval()(input_ids=own.to(device)).last_hidden_state[:, len(before)] for own in rows]
    found: np.ndarray = functional.normalize(torch.cat(states).double(), dim=1).cpu().numpy()
    return found


def read_cnn(name: str, lang: str) -> CNNStart:
    """Read a pipeline of a CNN that `pretrain` wrote. lang (str): Of the donors."""
    nlp = read_pipeline(name)
    layer, problem = described_layer(nlp), ""
    own = nlp.config["components"].get("tok2vec", {}).get("model", {})
    embed, encode = own.get("embed", {}), own.get("encode", {})
    shape = (embed.get("width"), embed.get("rows"), encode.get("depth"), embed.get("subwords"))
    if layer is None or own != _tok2vec(*shape) or layer.get_param("P").shape[0] != PREFIXES:
        problem = f"it has the components {', '.join(nlp.pipe_names) or 'none'}, and no pretrained CNN"
    elif nlp.lang != lang:
        problem = f"its language is {nlp.lang}, and the donors have the language {lang}"
    if problem:
        fix = "Name a pipeline of a CNN that `pretrain` wrote, as the folder model/, or en_longtail_cnn"
        raise no_start(name, ENCODER, problem, fix)
    table: SubwordTable = _nodes(nlp, NAME)[0].attrs["subwords"]
    cnn = CNN(torch.from_numpy(table.vectors.expand()), embed["rows"], embed["width"], encode["depth"])
    model = CNNBiEncoder(cnn, layer.get_dim("nM"))
    for node, param, values in _pairs(nlp, model):
        values.data.copy_(torch.from_numpy(to_numpy(node.get_param(param))[: len(values)]))
    return CNNStart(model, table)


def build_cnn(model: CNNBiEncoder, table: SubwordTable, name: str, lang: str, tokens: str) -> Language:
    """A pipeline of `tok2vec` and `ner` that needs neither torch nor a file.

    model (CNNBiEncoder): What was pretrained. table (SubwordTable): Its subwords.
    name (str): That the pipeline will be found by. lang (str): Of the donors, whose tokens are tokens.
    """
    encoder = model.encoder
    table = SubwordTable(eight_bit(_array(encoder.vectors)), table.subwords, table.is_plain)
    nlp = blank(lang, tokens)
    architecture = _tok2vec(encoder.width, list(map(len, encoder.tables)), encoder.depth, name)
    nlp.add_pipe("tok2vec", config={"model": architecture})
    _nodes(nlp, NAME)[0].attrs["subwords"] = table
    describe = SubwordDescriptions(name)
    known = describe.__dict__
    known["_table"] = table  # as the cached property does: nothing has that name yet
    block = {"@misc": "longtail.SubwordDescriptions.v1", "source": name}
    add_described_ner(nlp, model, block, describe)
    for node, param, values in _pairs(nlp, model):
        set_rows(node, param, _array(values))
    known["_table"] = table  # which initialization lets go of
    return nlp


def _tok2vec(width: int, rows: list[int], depth: int, subwords: str) -> Block:
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "longtail.RichEmbed.v1",
            "width": width,
            "attrs": list(ATTRIBUTES),
            "rows": rows,
            "include_static_vectors": False,
            "clusters": None,
            "cluster_bits": [32, 10, 6],
            "cluster_rows": [1500, 1000, 128],
            "subwords": subwords,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": width,
            "window_size": 1,
            "maxout_pieces": PIECES,
            "depth": depth,
        },
    }


def _pairs(nlp: Language, model: CNNBiEncoder) -> Iterator[tuple[Model, str, Tensor]]:
    """Each parameter of a pipeline with the rows that it has in torch: of W and b those of O."""
    encoder = model.encoder
    for node, table in zip(_nodes(nlp, "hashembed"), encoder.tables, strict=True):
        yield node, "E", table
    yield _nodes(nlp, NAME)[0], "W", encoder.project.weight
    blocks: Any = list(chain([encoder.mix], encoder.blocks))
    for node, own in zip(_nodes(nlp, "maxout"), blocks, strict=True):
        yield from ((node, "W", own.W), (node, "b", own.b))
    for node, own in zip(_nodes(nlp, "layernorm"), blocks, strict=True):
        yield from ((node, "G", own.G), (node, "b", own.shift))
    yield from model.pairs(described_layer(nlp))


def _nodes(nlp: Language, name: str) -> list[Model]:
    model: Model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    return [node for node in model.walk() if node.name == name]


def _array(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.detach().cpu().float().numpy()
    return found
