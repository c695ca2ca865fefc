"""A transformer as an ordinary tok2vec: sentences sorted by length, a row for each token."""

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d, Ints1d

from ..corpus.sentences import sentence_lengths
from ..errors import Errors
from ..extras import extra
from ..hub import load_transformer
from ..layers.listeners import nodes_of
from ..layers.torch_layer import rows_from_torch, shim_of, torch_layer
from ..settings import finite, whole

if TYPE_CHECKING:  # an extra
    from tokenizers import Tokenizer

    from ..layers.torch_transformer import PieceEncoder

NAME = "transformer_tok2vec"
MOST_PIECES = 12  # of a word
MOST_CHARACTERS = 80  # of a word that are read
MOST_WORDS = 100_000  # whose pieces are remembered
CPU_PIECES = 512  # of a batch: what a layer computes of more leaves the cache of a core


def Transformer(
    name: str | None = None, layer_decay: float = 0.8, max_pieces: int = 254, batch_pieces: int = 4096
) -> Model[list[Doc], list[Floats2d]]:
    """A transformer as a tok2vec: a token's row is the last state of its first subword.

    It reads sentence by sentence where sentence boundaries are set, else the whole document, and
    sorts what it reads by length. Its word embeddings are not trained, so that words that the
    training data lack keep their meaning.

    name (Optional[str]): A transformer on the Hugging Face hub, or its folder; null for a component
        with a `source`, or one whose weights are loaded.
    layer_decay (float): Learning rate of a layer, as a multiple of that of the layer above it.
    max_pieces (int): Subwords that are read together; longer sentences become overlapping windows.
    batch_pieces (int): Subwords of a batch, with padding; on a CPU at most 512, which is faster.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, hidden size).
    SOURCE: Devlin et al. 2019, BERT; rates by layer: Howard and Ruder 2018, ULMFiT.
    """
    with extra("", "transformers"):
        import torch  # noqa: F401
        import transformers  # noqa: F401
    from ..layers import torch_transformer

    rule, fix = "a number above 0, at most 1", "0.8 is the default."
    decay = finite("layer_decay", layer_decay, rule, fix, 1e-3, 1)
    longest = whole("max_pieces", max_pieces, "254 is the default.", 8)
    size = whole("batch_pieces", batch_pieces, "4096 is the default.", longest)
    module = torch_transformer.PieceEncoder()
    model = torch_layer(module, convert_inputs, rows_from_torch, init)
    save, load = torch_transformer.to_bytes, torch_transformer.from_bytes
    shim = torch_transformer.TransformerShim(module, serialize_model=save, deserialize_model=load)
    shim.kept = decay
    model.shims[0] = shim
    model.name = NAME
    model.attrs.update(name=name, max_pieces=longest, batch_pieces=size)
    return model


def use_int8(nlp: Language) -> Language:
    """Let the transformers of a pipeline predict in int8 on a CPU, more than twice as fast.

    The linear layers round their weights once, and what they read in each batch. Scores move a
    little: compare `evaluate` before and after. Training, and predictions on a GPU, do not use
    int8. A pipeline that is saved afterwards predicts in int8 when it is loaded.

    nlp (Language): A pipeline with a longtail.Transformer.v1; changed in place.
    RETURNS (Language): The pipeline.
    """
    transformers = [node for node in nodes_of(nlp) if node.name == NAME]
    if not transformers:
        raise ValueError(Errors.L860)
    for node in transformers:
        node.attrs["int8"] = True
    return nlp


def encoder_of(model: Model) -> "PieceEncoder":
    """The torch module of a Transformer."""
    module: PieceEncoder = shim_of(model)._model
    return module


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    """Load the transformer, unless its weights are there."""
    module = encoder_of(model)
    if module.encoder is None:
        name = model.attrs["name"]
        if name is None:
            raise ValueError(Errors.L265.format(name=name, problem="'name' of the transformer is null."))
        tokenizer, encoder = load_transformer(name)
        module.build(encoder.config, tokenizer.backend_tokenizer, encoder)
        module.to(shim_of(model).device)


class Words(NamedTuple):
    """Words as subwords, one after the other."""

    ids: Ints1d  # (n_pieces,)
    lengths: Ints1d  # (n_words,)


class Pieces:
    """The subwords of words, remembered by the word's hash. Threads may share it."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self.known: dict[int, list[int]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"tokenizer": self.tokenizer, "known": {}}

    @cached_property
    def ends(self) -> tuple[list[int], list[int]]:
        """What the tokenizer puts before and behind a sequence."""
        encoding = self.tokenizer.encode("a")
        inner = [i for i, word in enumerate(encoding.word_ids) if word is not None]
        return encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :]

    @cached_property
    def unknown(self) -> int:
        """The subword for what has none, such as white space."""
        ids = map(self.tokenizer.token_to_id, ("[UNK]", "<unk>", "<|endoftext|>"))
        return next((int(i) for i in ids if i is not None), 0)

    def of(self, docs: Iterable[Doc]) -> list[Words]:
        """The subwords of each document's words."""
        docs = list(docs)
        known = self.known if len(self.known) <= MOST_WORDS else {}  # other threads keep the old one
        keys = [doc.to_array(ORTH).tolist() for doc in docs]
        fresh: dict[int, str] = {}
        for doc, doc_keys in zip(docs, keys, strict=True):
            new = [key for key in {*doc_keys} if key not in known]
            fresh |= {key: doc.vocab.strings[key][:MOST_CHARACTERS] for key in new}
        if fresh:
            texts = [[text] for text in fresh.values()]
            options = {"is_pretokenized": True, "add_special_tokens": False}
            encodings = self.tokenizer.encode_batch(texts, **options)
            for key, encoding in zip(fresh, encodings, strict=True):
                known[key] = encoding.ids[:MOST_PIECES] or [self.unknown]
        self.known = known
        by_doc = [[known[key] for key in doc_keys] for doc_keys in keys]
        return [
            Words(np.fromiter(chain.from_iterable(ids), "int64"), np.fromiter(map(len, ids), "int64"))
            for ids in by_doc
        ]


class Window(NamedTuple):
    """What is read together."""

    ids: Ints1d  # subwords, without those at the ends
    first: Ints1d  # (n_words,), where the first subword of each word stands
    kept: slice  # the words whose states are taken


def windows_of(words: Words, sentences: Ints1d, most: int) -> list[Window]:
    """A document's sentences, cut into windows where they are longer than `most` subwords.

    A window begins with a fourth of the one before, and its last eighth is read again after it.

    RETURNS (List[Window]): In order; the words that are taken of them are the document's.
    """
    ends = np.cumsum(words.lengths)
    starts = ends - words.lengths
    windows, first = [], 0
    for n in sentences.tolist():
        at, last = first, first + n
        while at < last:
            low = max(int(np.searchsorted(starts, starts[at] - most // 4)), first) if at > first else at
            high = int(np.searchsorted(ends, starts[low] + most, side="right"))
            high = stop = min(max(high, at + 1), last)
            if high < last:
                stop = max(int(np.searchsorted(starts, ends[high - 1] - most // 8)), at + 1)
            ids = words.ids[starts[low] : ends[high - 1]]
            windows.append(Window(ids, starts[low:high] - starts[low], slice(at - low, stop - low)))
            at = stop
        first = last
    return windows


def convert_inputs(model: Model, docs: list[Doc], is_train: bool) -> tuple[ArgsKwargs, Callable]:
    """Documents as batches of sequences of similar lengths."""
    import torch

    from ..layers.torch_transformer import Padded

    module = encoder_of(model)
    if module.tokenizer is None:
        raise ValueError(Errors.L265.format(name=model.attrs["name"], problem="It has no weights yet."))
    pieces = module.pieces = module.pieces or Pieces(module.tokenizer)
    device = shim_of(model).device
    before, behind = pieces.ends
    windows = [
        sequence
        for doc, words in zip(docs, pieces.of(docs), strict=True)
        for sequence in windows_of(words, sentence_lengths(doc), model.attrs["max_pieces"])
    ]
    sizes = np.array([len(s.ids) for s in windows], dtype="int64") + len(before) + len(behind)
    counts = np.array([s.kept.stop - s.kept.start for s in windows], dtype="int64")
    offsets = np.cumsum(counts) - counts
    batches, order = [], [np.zeros(0, dtype="int64")]
    is_cpu, most = device.type == "cpu", model.attrs["batch_pieces"]
    for chosen in _by_length(sizes, min(most, CPU_PIECES) if is_cpu else most):
        ids = np.zeros((len(chosen), int(sizes[chosen].max())), dtype="int64")
        for row, i in enumerate(chosen):
            ids[row, : sizes[i]] = np.concatenate([before, windows[i].ids, behind])
        mask = np.arange(ids.shape[1]) < sizes[chosen][:, None]
        columns = np.concatenate([windows[i].first[windows[i].kept] for i in chosen]) + len(before)
        rows = np.repeat(np.arange(len(chosen)), counts[chosen])
        arrays = (ids, mask.astype("int64"), rows, columns)
        batches.append(Padded(*(torch.from_numpy(a).to(device) for a in arrays)))
        order += [np.arange(offsets[i], offsets[i] + counts[i]) for i in chosen]
    place = np.argsort(np.concatenate(order))  # where each word of the documents stands in the batches
    args = (batches, torch.from_numpy(place).to(device))
    int8 = not is_train and is_cpu and model.attrs.get("int8", False)
    return ArgsKwargs(args=args, kwargs={"int8": int8}), lambda d_inputs: []


def _by_length(sizes: Ints1d, most: int) -> list[list[int]]:
    """Batches of sequences, the shortest first, of at most so many subwords with padding."""
    batches: list[list[int]] = []
    for i in np.argsort(sizes, kind="stable").tolist():
        if batches and sizes[i] * (len(batches[-1]) + 1) <= most:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
