"""spaCy's CNN over hashed attributes and subwords as a bi-encoder, in torch and as a pipeline."""

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
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ..describers.static import subwords_of_texts
from ..layers.quantized import eight_bit
from ..layers.subword_tokenizer import SubwordTokenizer
from ..layers.subwords import NAME as SUBWORDS
from ..layers.subwords import NO_SUBWORDS, WITHIN, SubwordTable, plain
from ..models.rich_embed import FIRST_SEED
from ..training.loading import load_pipeline
from ..types import Block
from .donors import unusable
from .matcher import Matcher, add_described_ner, head_of, read_weights, write_weights
from .transformer import ENCODER, TransformerStart

ATTRIBUTES = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
WORD_STARTS = ("\u2581", "\u0120")  # mark of a word's first subword: SentencePiece, byte pairs
BROKEN = "\ufffd"  # part of a character
EPSILON = 1e-8  # of layer normalization, as in thinc
N_PIECES = 3  # of maxout
N_ROWS = (5000, 1000, 2500, 2500)  # of the hash tables of a new CNN
WORD_SUBWORDS, TEXT_SUBWORDS = 12, 64  # maximum number of subwords that training reads
N_COLUMNS = 128  # of the table of subwords in training
LAST_LATIN = 0x24F  # code point
MIN_FOREIGN = 20  # occurrences in the donors, for a subword of another script to be kept
SMOOTHING = 5  # added to the number of occurrences of each subword
BATCH_SIZE = 512

CNNStart = tuple["CNNBiEncoder", SubwordTable]


class Maxout(nn.Module):
    """thinc's Maxout with layer normalization.

    n_in (int): Number of columns of the inputs.
    n_out (int): Number of columns of the outputs.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(n_out, N_PIECES, n_in))
        self.b = nn.Parameter(torch.zeros(n_out, N_PIECES))
        self.G = nn.Parameter(torch.ones(n_out))
        self.shift = nn.Parameter(torch.zeros(n_out))
        nn.init.uniform_(self.W, -((6 / (n_in + n_out)) ** 0.5), (6 / (n_in + n_out)) ** 0.5)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the outputs, shape (n_rows, n_out).

        rows (Tensor): The inputs, shape (n_rows, n_in).
        """
        n_out, n_pieces, n_in = self.W.shape
        best = functional.linear(rows, self.W.view(-1, n_in), self.b.view(-1))
        best = best.view(len(rows), n_out, n_pieces).amax(2)
        return functional.layer_norm(best.float(), (n_out,), self.G, self.shift, EPSILON)


class CNN(nn.Module):
    """longtail.RichEmbed.v1 with attributes and subwords, and spacy.MaxoutWindowEncoder.v2.

    vectors (Tensor): Initial vectors of the subwords, shape (n_subwords, n_columns).
    rows (Sequence[int]): Number of rows of each hash table.
    width (int): Number of columns of the states.
    depth (int): Number of convolutions.
    """

    def __init__(self, vectors: Tensor, rows: Sequence[int], width: int = 96, depth: int = 4) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        tables = (nn.Parameter(torch.empty(n, width).uniform_(-0.1, 0.1)) for n in rows)
        self.tables = nn.ParameterList(tables)
        self.vectors = nn.Parameter(vectors.clone().float())
        self.project = nn.Linear(vectors.shape[1], width, bias=False)
        self.mix = Maxout(width * (len(rows) + 1), width)
        self.blocks = nn.ModuleList([Maxout(width * 3, width) for _ in range(depth)])

    def mean(self, subwords: Tensor) -> Tensor:
        """Return the mean vector of each text, shape (n_texts, n_columns).

        subwords (Tensor): Subwords of each text, padded, shape (n_texts, n_subwords).
        """
        lengths = (subwords < len(self.vectors)).sum(1, keepdim=True).clamp(min=1)
        table = torch.cat([self.vectors, self.vectors.new_zeros(1, self.vectors.shape[1])])
        return functional.embedding(subwords, table).sum(1) / lengths

    def embed(self, rows: Tensor, subwords: Tensor) -> Tensor:
        """Return the embeddings of words, without their context, shape (n_words, width).

        rows (Tensor): Rows of the hash tables, shape (n_words, n_attributes, 4).
        subwords (Tensor): Subwords of each word, padded, shape (n_words, n_subwords).
        """
        hashed = (functional.embedding(rows[:, i], table).sum(1) for i, table in enumerate(self.tables))
        return self.mix(torch.cat([*hashed, self.project(self.mean(subwords))], 1))

    def encode(self, words: Tensor, lengths: Tensor, dropout: float = 0.0) -> Tensor:
        """Return the states of words in their sentences, shape (n_words, width).

        words (Tensor): Embeddings, shape (n_words, width).
        lengths (Tensor): Number of words of each sentence, shape (n_sentences,).
        dropout (float): Dropout rate of each convolution, in training.
        """
        n = int(lengths.sum()) + self.depth * (len(lengths) + 1)
        sentence = torch.arange(len(lengths), device=words.device).repeat_interleave(lengths)
        at = torch.arange(len(words), device=words.device) + self.depth * (1 + sentence)
        X = words.new_zeros(n, self.width).index_copy(0, at, words)  # sentences with zeros in between
        edge = words.new_zeros(1, self.width)
        for block in self.blocks:
            window = torch.cat([torch.cat([edge, X[:-1]]), X, torch.cat([X[1:], edge])], 1)
            X = X + functional.dropout(block(window), dropout, self.training)
        return X[at]


class CNNBiEncoder(Matcher):
    """CNN below the head of longtail.DescribedTypes.v1. The same subwords encode the labels.

    encoder (CNN): The CNN.
    width (int): Number of columns in which words and labels are compared.
    """

    encoder: CNN

    def __init__(self, encoder: CNN, width: int = 256) -> None:
        super().__init__(encoder, encoder.width, encoder.vectors.shape[1], width)

    def describe(self, subwords: Tensor) -> Tensor:
        """Return the vectors of labels, of unit length, shape (n_labels, n_columns).

        subwords (Tensor): Subwords of each label, padded, shape (n_labels, n_subwords).
        """
        return functional.normalize(self.encoder.mean(subwords), dim=1)


def reduce_columns(model: CNNBiEncoder, counts: np.ndarray, n_columns: int) -> None:
    """Reduce the table of subwords to the directions that the projections use most.

    model (CNNBiEncoder): The model; changed in place.
    counts (np.ndarray): Occurrences of each subword in the donors, shape (n_subwords,).
    n_columns (int): Number of columns to keep.
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
    """Distinct words of the donors, with their numbers.

    orths (np.ndarray): Hashes of the words, with repetitions, shape (n_words,).
    vocab (Vocab): Vocabulary that has the words.
    """

    def __init__(self, orths: np.ndarray, vocab: Vocab) -> None:
        self.keys, self.counts = np.unique(orths, return_counts=True)
        self.lexemes = [vocab[key] for key in self.keys.astype("uint64").tolist()]
        self.words = [lexeme.text for lexeme in self.lexemes]

    def features(self, table: SubwordTable, n_rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the arguments of `CNN.embed` for every word.

        table (SubwordTable): The subwords.
        n_rows (Sequence[int]): Number of rows of each hash table.
        """
        keys = (
            np.array([getattr(lexeme, name.lower()) for lexeme in self.lexemes], dtype="uint64")
            for name in ATTRIBUTES
        )
        rows = [
            NumpyOps().hash(own, FIRST_SEED + i) % n
            for i, (own, n) in enumerate(zip(keys, n_rows, strict=True))
        ]
        hashed = torch.from_numpy(np.stack(rows, axis=1).astype("int32"))
        return hashed, padded(table.cut(self.words), len(table.subwords), WORD_SUBWORDS)

    def frequencies(self, table: SubwordTable) -> np.ndarray:
        """Return the number of occurrences of each subword, shape (n_subwords,)."""
        rows = table.cut(self.words)
        weights = np.repeat(self.counts, [*map(len, rows)])
        return np.bincount([*chain.from_iterable(rows)], weights, minlength=len(table.subwords))


def padded(rows: Sequence[Sequence[int]], n_subwords: int, max_length: int) -> Tensor:
    """Return the subwords of texts as one array, padded with `n_subwords`.

    rows (Sequence[Sequence[int]]): Subwords of each text.
    n_subwords (int): Number of subwords in the table.
    max_length (int): Maximum number of subwords of a text; further ones are cut off.
    """
    cut = [torch.tensor(row[:max_length], dtype=torch.int32) for row in ([n_subwords], *rows)]
    return pad_sequence(cut, batch_first=True, padding_value=n_subwords)[1:]


def subwords_of(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the subwords of a tokenizer with their ids, written as in a table.

    Special subwords and parts of characters are skipped.
    """
    special = tokenizer.get_added_tokens_decoder()
    tokens = {i: tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size()) if i not in special}
    is_marked = any(token.startswith(WORD_STARTS) for token in tokens.values())
    subwords: dict[str, int] = {}
    for i, token in tokens.items():
        is_inner = not token.startswith(WORD_STARTS) if is_marked else token.startswith(WITHIN)
        text = tokenizer.decode([i]).strip()
        text = text.removeprefix(WITHIN) if is_inner else text
        if text.split() == [text] and BROKEN not in text:
            subwords.setdefault(f"{WITHIN * is_inner}{text}", i)
    return subwords


def new_cnn(teacher: TransformerStart, vocabulary: Vocabulary, texts: list[str]) -> CNNStart:
    """Return a new CNN and its table, with those subwords of a teacher that occur in the donors.

    The vector of a subword consists of its states in the label encoder and in the teacher, where
    it is encoded alone, projected to the directions in which frequent subwords differ most.

    teacher (TransformerStart): The transformer.
    vocabulary (Vocabulary): Words of the donors.
    texts (List[str]): Label texts of the donors.
    """
    tokenizer = teacher.tokenizer
    ids = subwords_of(tokenizer)
    is_plain = all(subword == plain(subword) for subword in ids)
    whole = SubwordTable(NO_SUBWORDS.vectors, list(ids), is_plain)
    counts = vocabulary.frequencies(whole)
    is_kept = counts >= [*map(_min_count, ids)]
    is_kept[[*chain.from_iterable(subwords_of_texts(whole, texts))]] = True
    kept = np.flatnonzero(is_kept)
    table = SubwordTable(NO_SUBWORDS.vectors, [whole.subwords[i] for i in kept], is_plain)
    kept_ids, ends = np.array(list(ids.values()))[kept], SubwordTokenizer(tokenizer).ends
    encoders = (teacher.labels, teacher.model.encoder)
    X = np.concatenate([_states_alone(own, kept_ids, *ends) for own in encoders], axis=1)
    weights = (counts[kept] + SMOOTHING) ** 0.5
    weights /= weights.sum()
    X -= weights @ X
    _, directions = np.linalg.eigh(X.T @ (X * weights[:, None]))
    vectors = X @ directions[:, ::-1][:, :N_COLUMNS]
    return CNNBiEncoder(CNN(torch.from_numpy(vectors / vectors.std()), N_ROWS)), table


def choose_subwords(table: SubwordTable, words: Vocabulary, n_subwords: int) -> list[str]:
    """Return the most useful subwords of the donors' text that a table does not have.

    table (SubwordTable): The subwords of a CNN.
    words (Vocabulary): Words of the donors.
    n_subwords (int): Maximum number of new subwords.
    """
    tokenizer = Tokenizer(WordPiece())
    splitter = tokenizer.pre_tokenizer = BertPreTokenizer()
    forms = [plain(word) if table.is_plain else word for word in words.words]
    parts = [part for form in forms for part, _ in splitter.pre_tokenize_str(form)]
    letters = sorted({letter for part in parts for letter in part})
    inner = sorted({f"{WITHIN}{letter}" for part in parts for letter in part[1:]})
    trainer = WordPieceTrainer(
        vocab_size=len(table.subwords) + n_subwords,  # enough for this number of others
        show_progress=False,
        # given in order, since ties are broken by numbers, and letters get theirs at random
        special_tokens=[*letters, *inner],
        continuing_subword_prefix=WITHIN,
    )
    pairs = zip(forms, words.counts.tolist(), strict=True)  # frequent words must not rule the choice
    tokenizer.train_from_iterator((" ".join([form] * round(n**0.5)) for form, n in pairs), trainer)
    known, ids = {*table.subwords}, tokenizer.get_vocab()
    return [subword for subword in sorted(ids, key=ids.__getitem__) if subword not in known][:n_subwords]


def add_subwords(model: CNNBiEncoder, table: SubwordTable, new: list[str]) -> CNNStart:
    """Add subwords to a CNN. Each starts with the mean of the vectors of its parts.

    model (CNNBiEncoder): The model; changed in place.
    table (SubwordTable): Its subwords.
    new (List[str]): The subwords to add.
    """
    vectors = torch.from_numpy(table.means(table.parts(new)))
    model.encoder.vectors = nn.Parameter(torch.cat([model.encoder.vectors.detach(), vectors]))
    return model, SubwordTable(NO_SUBWORDS.vectors, [*table.subwords, *new], table.is_plain)


def _min_count(subword: str) -> int:
    """Return the minimum number of occurrences in the donors for a subword to be kept.

    Single Latin letters are always kept, so that every Latin word has subwords.
    """
    if any(ord(letter) > LAST_LATIN for letter in subword):
        return MIN_FOREIGN
    return int(len(subword.removeprefix(WITHIN)) > 1)


@torch.no_grad()
def _states_alone(encoder: Any, subwords: np.ndarray, before: list[int], after: list[int]) -> np.ndarray:
    """Encode each subword without context, normalized to length 1: (n_subwords, hidden)."""
    rows = torch.tensor([[*before, i, *after] for i in subwords.tolist()]).split(BATCH_SIZE)
    device = next(encoder.parameters()).device
    states = [encoder.eval()(input_ids=ids.to(device)).last_hidden_state[:, len(before)] for ids in rows]
    return functional.normalize(torch.cat(states).double(), dim=1).cpu().numpy()


def read_cnn(name: str) -> CNNStart:
    """Load the CNN of a pipeline that `pretrain` wrote, of any language, and its subwords.

    name (str): Name of an installed pipeline, or a folder.
    RAISES (ValueError): If the pipeline is another one.
    """
    nlp = load_pipeline(name)
    head = head_of(nlp)
    config = {} if head is None else nlp.config["components"]["tok2vec"].get("model", {})
    if head is None or not _is_own_cnn(config):
        raise unusable(
            name,
            problem=f"it is not a pretrained CNN. Its components: {', '.join(nlp.pipe_names) or 'none'}",
            fix="Name the folder model/ that `pretrain` wrote for a CNN, or en_longtail_cnn",
            role=ENCODER,
        )
    embed, encode = config["embed"], config["encode"]
    table: SubwordTable = _nodes(nlp, SUBWORDS)[0].attrs["subwords"]
    cnn = CNN(torch.from_numpy(table.vectors.expand()), embed["rows"], embed["width"], encode["depth"])
    model = CNNBiEncoder(cnn, head.get_dim("nM"))
    read_weights(_pairs(nlp, model))
    return model, table


def _is_own_cnn(config: Block) -> bool:
    """Return whether the model of a tok2vec is a CNN as `build_cnn` makes it, of any size."""
    embed, encode = config.get("embed", {}), config.get("encode", {})
    sizes = (embed.get("width"), embed.get("rows"), encode.get("depth"))
    return config == _tok2vec(*sizes, embed.get("subwords"))


def build_cnn(model: CNNBiEncoder, table: SubwordTable, name: str, nlp: Language) -> None:
    """Add `tok2vec` and `ner` to an empty pipeline, which needs neither torch nor another file.

    model (CNNBiEncoder): The trained weights.
    table (SubwordTable): The subwords; their vectors are replaced by those of the model.
    name (str): Folder of the pipeline, which its config names as the source of the subwords.
    nlp (Language): The pipeline; changed in place.
    """
    cnn = model.encoder
    codes = eight_bit(cnn.vectors.detach().cpu().float().numpy())
    block = _tok2vec(cnn.width, list(map(len, cnn.tables)), cnn.depth, name)
    nlp.add_pipe("tok2vec", config={"model": block})
    _nodes(nlp, SUBWORDS)[0].attrs["subwords"] = SubwordTable(codes, table.subwords, table.is_plain)
    add_described_ner(nlp, model, {"@misc": "longtail.SubwordDescriptions.v1", "source": name})
    write_weights(_pairs(nlp, model))


def _tok2vec(width: int, rows: list[int], depth: int, subwords: str) -> Block:
    """Return the config of a CNN, with the defaults of its architectures."""
    block = {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "longtail.RichEmbed.v1",
            "width": width,
            "attrs": list(ATTRIBUTES),
            "rows": rows,
            "subwords": subwords,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": width,
            "window_size": 1,
            "maxout_pieces": N_PIECES,
            "depth": depth,
        },
    }
    return registry.fill({"model": block}, validate=False)["model"]


def _pairs(nlp: Language, model: CNNBiEncoder) -> Iterator[tuple[Model, str, Tensor]]:
    """Yield pairs of the same parameter: that of a pipeline's CNN, and that of the torch CNN."""
    cnn = model.encoder
    for node, table in zip(_nodes(nlp, "hashembed"), cnn.tables, strict=True):
        yield node, "E", table
    yield _nodes(nlp, SUBWORDS)[0], "W", cnn.project.weight
    blocks: list[Any] = [cnn.mix, *cnn.blocks]
    for maxout, norm, block in zip(_nodes(nlp, "maxout"), _nodes(nlp, "layernorm"), blocks, strict=True):
        yield from (
            (maxout, "W", block.W),
            (maxout, "b", block.b),
            (norm, "G", block.G),
            (norm, "b", block.shift),
        )
    yield from model.pairs(nlp)


def _nodes(nlp: Language, name: str) -> list[Model]:
    tok2vec: Any = nlp.get_pipe("tok2vec")
    return [node for node in tok2vec.model.walk() if node.name == name]
