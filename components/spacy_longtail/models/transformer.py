"""A transformer as an ordinary tok2vec: sentences sorted by length, a row for each token."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Doc
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d

from ..errors import Errors
from ..extras import extra
from ..hub import load_transformer
from ..layers.torch_layer import rows_from_torch, shim_of, torch_layer
from ..layers.windows import DEFAULT_PIECES, TRANSFORMER, by_length, windows_of
from ..sentences import sentence_lengths
from ..settings import finite, whole

if TYPE_CHECKING:  # an extra
    from ..layers.torch_transformer import PieceEncoder

CPU_PIECES = 512  # of a batch: what a layer computes of more leaves the cache of a core


def Transformer(
    name: str | None = None,
    layer_decay: float = 0.8,
    max_pieces: int | None = None,
    batch_pieces: int = 4096,
) -> Model[list[Doc], list[Floats2d]]:
    """A transformer as a tok2vec: a token's row is the last state of its first subword.

    It reads sentence by sentence where sentence boundaries are set, else the whole document, and
    sorts what it reads by length. Its word embeddings are not trained, so that words that the
    training data lack keep their meaning.

    name (Optional[str]): A transformer on the Hugging Face hub, or its folder; null for a component
        with a `source`, or one whose weights are loaded.
    layer_decay (float): Learning rate of a layer, as a multiple of that of the layer above it.
    max_pieces (Optional[int]): Subwords that are read together; longer sentences become overlapping
        windows. Null is 254, or what the transformer has positions for if that is less.
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
    limit = None if max_pieces is None else whole("max_pieces", max_pieces, "Use null.", 8)
    size = whole("batch_pieces", batch_pieces, "4096 is the default.", limit or DEFAULT_PIECES)
    module = torch_transformer.PieceEncoder()
    model = torch_layer(module, convert_inputs, rows_from_torch, init)
    save, load = torch_transformer.to_bytes, torch_transformer.from_bytes
    model.shims[0] = torch_transformer.TransformerShim(
        module, decay, serialize_model=save, deserialize_model=load
    )
    model.name = TRANSFORMER
    model.attrs.update(name=name, max_pieces=limit, batch_pieces=size)
    return model


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
        wanted, known = model.attrs["max_pieces"], module.max_pieces
        if wanted is not None and known is not None and wanted > known:
            raise ValueError(Errors.L820.format(name=name, wanted=wanted, known=known))
        module.to(shim_of(model).device)


def convert_inputs(model: Model, docs: list[Doc], is_train: bool) -> tuple[ArgsKwargs, Callable]:
    """Documents as batches of sequences of similar lengths."""
    import torch

    from ..layers.torch_transformer import Padded, longest_window

    module = encoder_of(model)
    pieces = module.pieces
    if pieces is None:
        raise ValueError(Errors.L265.format(name=model.attrs["name"], problem="It has no weights yet."))
    device = shim_of(model).device
    before, after = pieces.ends
    limit = longest_window(module, model.attrs["max_pieces"])
    sequences, first_pieces = [], []  # of each window its subwords, and where its words begin
    for doc, words in zip(docs, pieces.of(docs), strict=True):
        ends = np.cumsum(words.lengths)
        starts = ends - words.lengths
        for start, end, first, stop in windows_of(words.lengths, sentence_lengths(doc), limit):
            sequences.append(words.ids[starts[start] : ends[end - 1]])
            first_pieces.append(starts[first:stop] - starts[start])
    sizes = np.array([*map(len, sequences)], dtype="int64") + len(before) + len(after)
    counts = np.array([*map(len, first_pieces)], dtype="int64")
    offsets = np.cumsum(counts) - counts
    batches, order = [], [np.zeros(0, dtype="int64")]
    is_cpu, size = device.type == "cpu", model.attrs["batch_pieces"]
    for chosen in by_length(sizes, min(size, CPU_PIECES) if is_cpu else size):
        ids = np.zeros((len(chosen), int(sizes[chosen].max())), dtype="int64")
        for row, i in enumerate(chosen):
            ids[row, : sizes[i]] = np.concatenate([before, sequences[i], after])
        mask = np.arange(ids.shape[1]) < sizes[chosen][:, None]
        columns = np.concatenate([first_pieces[i] for i in chosen]) + len(before)
        rows = np.repeat(np.arange(len(chosen)), counts[chosen])
        arrays = (ids, mask.astype("int64"), rows, columns)
        batches.append(Padded(*(torch.from_numpy(a).to(device) for a in arrays)))
        order += [np.arange(offsets[i], offsets[i] + counts[i]) for i in chosen]
    place = np.argsort(np.concatenate(order))  # where each word of the documents stands in the batches
    args = (batches, torch.from_numpy(place).to(device))
    int8 = not is_train and is_cpu and model.attrs.get("int8", False)
    return ArgsKwargs(args=args, kwargs={"int8": int8}), lambda d_inputs: []
