"""spaCy's CNN over hashed attributes and subwords as a bi-encoder: in torch, and as a pipeline."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from spacy.language import Language
from spacy.util import registry
from spacy.vocab import Vocab
from thinc.api import Model, NumpyOps
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ..describers.static import subwords_of_texts
from ..layers.pieces import Pieces
from ..layers.quantised import eight_bit
from ..layers.subwords import GOES_ON, NAME, NO_SUBWORDS, SubwordTable, plain
from ..models.rich_embed import FIRST_SEED
from ..training.loading import load_pipeline
from ..types import Block
from .matcher import Matcher, add_described_ner, head_of, read_weights, write_weights
from .records import unusable
from .transformer import ENCODER, Start

ATTRIBUTES = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
BEGINS = ("\u2581", "\u0120")  # of SentencePiece and of byte pairs: before a word's first subword
BROKEN = "\ufffd"  # of a part of a character
EPSILON = 1e-8  # of layer normalisation, as in thinc
PIECES = 3  # of maxout
ROWS = (5000, 1000, 2500, 2500)  # of the hash tables of a new CNN
OF_WORD, OF_TEXT = 12, 64  # subwords that training reads, at most
COLUMNS = 128  # of the table in training
LAST_LATIN = 0x24F  # code points
FEWEST_FOREIGN = 20  # times that a subword of another script occurs in the donors, to be kept
SMOOTHED = 5  # times more that each subword counts as read
BATCH = 512

CNNStart = tuple["CNNBiEncoder", SubwordTable]


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
        tables = [nn.Parameter(torch.empty(n, width).uniform_(-0.1, 0.1)) for n in rows]
        self.tables = nn.ParameterList(tables)
        self.vectors = nn.Parameter(vectors.clone().float())
        self.project = nn.Linear(vectors.shape[1], width, bias=False)
        self.mix = Maxout(width * (len(rows) + 1), width)
        self.blocks = nn.ModuleList([Maxout(width * 3, width) for _ in range(depth)])

    def mean(self, subwords: Tensor) -> Tensor:
        """Mean vectors, (n_texts, n_columns). subwords (Tensor): (n_texts, n_subwords), padded."""
        lengths = (subwords < len(self.vectors)).sum(1, keepdim=True).clamp(min=1)
        table = torch.cat([self.vectors, self.vectors.new_zeros(1, self.vectors.shape[1])])
        return functional.embedding(subwords, table).sum(1) / lengths

    def embed(self, rows: Tensor, subwords: Tensor) -> Tensor:
        """Words by themselves, (n_words, width).

        rows (Tensor): (n_words, n_attributes, 4), of the hash tables.
        subwords (Tensor): (n_words, n_subwords), padded.
        """
        parts = [functional.embedding(rows[:, i], table).sum(1) for i, table in enumerate(self.tables)]
        parts.append(self.project(self.mean(subwords)))
        return self.mix(torch.cat(parts, 1))

    def encode(self, words: Tensor, lengths: Tensor, dropout: float = 0.0) -> Tensor:
        """(n_tokens, width). words (Tensor): The same. lengths (Tensor): (n_sentences,)."""
        n = int(lengths.sum()) + self.depth * (len(lengths) + 1)
        sentence = torch.arange(len(lengths), device=words.device).repeat_interleave(lengths)
        at = torch.arange(len(words), device=words.device) + self.depth * (1 + sentence)
        X = words.new_zeros(n, self.width).index_copy(0, at, words)  # sentences, with zeros between them
        edge = words.new_zeros(1, self.width)
        for block in self.blocks:
            window = torch.cat([torch.cat([edge, X[:-1]]), X, torch.cat([X[1:], edge])], 1)
            X = X + functional.dropout(block(window), dropout, self.training)
        return X[at]


class CNNBiEncoder(Matcher):
    """The CNN below the head of longtail.DescribedTypes.v1, labels read by the same subwords."""

    encoder: CNN

    def __init__(self, encoder: CNN, width: int = 256) -> None:
        super().__init__(encoder, encoder.width, encoder.vectors.shape[1], width)

    def describe(self, subwords: Tensor) -> Tensor:
        """(n_labels, n_columns), of unit length. subwords (Tensor): Padded, a row for a label."""
        return functional.normalize(self.encoder.mean(subwords), dim=1)


def reduce_columns(model: CNNBiEncoder, counts: np.ndarray, n_columns: int) -> None:
    """Keep the directions of the subword table that the projections of words and labels use most.

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
    """The distinct words of sentences."""

    def __init__(self, orths: np.ndarray, vocab: Vocab) -> None:
        self.keys, self.counts = np.unique(orths, return_counts=True)
        self.lexemes = [vocab[key] for key in self.keys.astype("uint64").tolist()]
        self.words = [lexeme.text for lexeme in self.lexemes]

    def features(self, table: SubwordTable, n_rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """What `CNN.embed` reads of each word. n_rows (Sequence[int]): Of the hash tables."""
        rows = []
        for i, (name, n) in enumerate(zip(ATTRIBUTES, n_rows, strict=True)):
            keys = np.array([getattr(lexeme, name.lower()) for lexeme in self.lexemes], dtype="uint64")
            rows.append(NumpyOps().hash(keys, FIRST_SEED + i) % n)
        hashed = torch.from_numpy(np.stack(rows, axis=1).astype("int32"))
        return hashed, padded(table.cut(self.words), len(table.subwords), OF_WORD)

    def frequencies(self, table: SubwordTable) -> np.ndarray:
        """How often the sentences have each subword, (n_subwords,)."""
        rows = table.cut(self.words)
        times = np.repeat(self.counts, [*map(len, rows)])
        return np.bincount([*chain.from_iterable(rows)], times, minlength=len(table.subwords))


def padded(rows: Sequence[Sequence[int]], n_subwords: int, most: int) -> Tensor:
    """Subwords of texts in one array, padded with `n_subwords`. most (int): Of a text."""
    cut = [torch.tensor(row[:most], dtype=torch.int32) for row in ([n_subwords], *rows)]
    return pad_sequence(cut, batch_first=True, padding_value=n_subwords)[1:]


def subwords_of(tokenizer: Tokenizer) -> dict[str, int]:
    """A tokenizer's subwords as a table writes them, with their numbers, without special ones."""
    special = tokenizer.get_added_tokens_decoder()
    tokens = {i: tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size()) if i not in special}
    is_marked = any(token.startswith(BEGINS) for token in tokens.values())
    subwords: dict[str, int] = {}
    for i, token in tokens.items():
        goes_on = not token.startswith(BEGINS) if is_marked else token.startswith(GOES_ON)
        text = tokenizer.decode([i]).strip()
        text = text.removeprefix(GOES_ON) if goes_on else text
        if text.split() == [text] and BROKEN not in text:
            subwords.setdefault(f"{GOES_ON * goes_on}{text}", i)
    return subwords


def new_cnn(teacher: Start, vocabulary: Vocabulary, texts: list[str]) -> CNNStart:
    """A CNN with those subwords of a teacher that the donors have, and the table of them.

    Their vectors are the states of the label encoder and the teacher for each subword alone, side
    by side, in the directions in which frequent subwords differ most. texts (List[str]): Labels.
    """
    tokenizer = teacher.tokenizer
    ids = subwords_of(tokenizer)
    is_plain = all(subword == plain(subword) for subword in ids)
    whole = SubwordTable(NO_SUBWORDS.vectors, list(ids), is_plain)
    in_words = vocabulary.frequencies(whole)
    in_texts = [*chain.from_iterable(subwords_of_texts(whole, texts))]
    is_kept = in_words >= [*map(_fewest, ids)]
    is_kept[in_texts] = True
    kept = np.flatnonzero(is_kept)
    table = SubwordTable(NO_SUBWORDS.vectors, [whole.subwords[i] for i in kept], is_plain)
    pieces, ends = np.array(list(ids.values()))[kept], Pieces(tokenizer).ends
    read = (_alone(encoder, pieces, *ends) for encoder in (teacher.labels, teacher.model.encoder))
    X = np.concatenate([*read], axis=1)
    weights = (in_words[kept] + SMOOTHED) ** 0.5
    weights /= weights.sum()
    X -= weights @ X
    _, directions = np.linalg.eigh(X.T @ (X * weights[:, None]))
    vectors = X @ directions[:, ::-1][:, :COLUMNS]
    return CNNBiEncoder(CNN(torch.from_numpy(vectors / vectors.std()), ROWS)), table


def _fewest(subword: str) -> int:
    """How often the donors must have a subword. Latin letters stay: they make up any word."""
    if any(ord(letter) > LAST_LATIN for letter in subword):
        return FEWEST_FOREIGN
    return int(len(subword.removeprefix(GOES_ON)) > 1)


@torch.no_grad()
def _alone(encoder: Any, pieces: np.ndarray, before: list[int], behind: list[int]) -> np.ndarray:
    """Each subword as a transformer reads it alone, (n_subwords, hidden), of unit length."""
    rows = torch.tensor([[*before, piece, *behind] for piece in pieces.tolist()]).split(BATCH)
    device = next(encoder.parameters()).device
    states = [encoder.eval()(input_ids=ids.to(device)).last_hidden_state[:, len(before)] for ids in rows]
    return functional.normalize(torch.cat(states).double(), dim=1).cpu().numpy()


def read_cnn(name: str) -> CNNStart:
    """Read the pipeline of a CNN that `pretrain` wrote, of any language, and its subwords."""
    nlp = load_pipeline(name)
    head = head_of(nlp)
    config = {} if head is None else nlp.config["components"]["tok2vec"].get("model", {})
    embed, encode = config.get("embed", {}), config.get("encode", {})
    block = _tok2vec(embed.get("width"), embed.get("rows"), encode.get("depth"), embed.get("subwords"))
    if head is None or config != block:
        problem = f"its components {', '.join(nlp.pipe_names) or '(none)'} are no pretrained CNN"
        fix = "Name a pipeline of a CNN that `pretrain` wrote, as the folder model/, or en_longtail_cnn"
        raise unusable(name, problem, fix, ENCODER)
    table: SubwordTable = _nodes(nlp, NAME)[0].attrs["subwords"]
    cnn = CNN(torch.from_numpy(table.vectors.expand()), embed["rows"], embed["width"], encode["depth"])
    model = CNNBiEncoder(cnn, head.get_dim("nM"))
    read_weights(_pairs(nlp, model))
    return model, table


def build_cnn(model: CNNBiEncoder, table: SubwordTable, name: str, nlp: Language) -> None:
    """Add `tok2vec` and `ner` to an empty pipeline, which needs neither torch nor a file."""
    cnn = model.encoder
    codes = eight_bit(cnn.vectors.detach().cpu().float().numpy())
    table = SubwordTable(codes, table.subwords, table.is_plain)
    block = _tok2vec(cnn.width, list(map(len, cnn.tables)), cnn.depth, name)
    nlp.add_pipe("tok2vec", config={"model": block})
    _nodes(nlp, NAME)[0].attrs["subwords"] = table
    add_described_ner(nlp, model, {"@misc": "longtail.SubwordDescriptions.v1", "source": name})
    write_weights(_pairs(nlp, model))


def _tok2vec(width: int, rows: list[int], depth: int, subwords: str) -> Block:
    """The config of the CNN, with the defaults of its architectures."""
    embed = {"width": width, "attrs": list(ATTRIBUTES), "rows": rows, "subwords": subwords}
    encode = {"width": width, "window_size": 1, "maxout_pieces": PIECES, "depth": depth}
    block = {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {"@architectures": "longtail.RichEmbed.v1", **embed},
        "encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", **encode},
    }
    return registry.fill({"model": block}, validate=False)["model"]


def _pairs(nlp: Language, model: CNNBiEncoder) -> Iterator[tuple[Model, str, Tensor]]:
    cnn = model.encoder
    for node, table in zip(_nodes(nlp, "hashembed"), cnn.tables, strict=True):
        yield node, "E", table
    yield _nodes(nlp, NAME)[0], "W", cnn.project.weight
    blocks: list[Any] = [cnn.mix, *cnn.blocks]
    for maxout, norm, block in zip(_nodes(nlp, "maxout"), _nodes(nlp, "layernorm"), blocks, strict=True):
        yield from ((maxout, "W", block.W), (maxout, "b", block.b))
        yield from ((norm, "G", block.G), (norm, "b", block.shift))
    yield from model.pairs(nlp)


def _nodes(nlp: Language, name: str) -> list[Model]:
    tok2vec: Any = nlp.get_pipe("tok2vec")
    return [node for node in tok2vec.model.walk() if node.name == name]
