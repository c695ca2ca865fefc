"""Transformers as tok2vec layers: one row per token."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from spacy.tokens import Doc
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d

from ..errors import Errors
from ..extras import extra
from ..hub import load_transformer
from ..layers.torch_layer import rows_from_torch, shim_of, torch_layer
from ..layers.windows import DEFAULT_PIECES, TRANSFORMER, cut_documents
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
    """Create a tok2vec of a transformer: a token's row is the last state of its first subword.

    The context window is a sentence if sentence boundaries are set, otherwise the whole document.
    Windows are sorted by length. Word embeddings are not trained, so that words that are not in
    the training data keep their meaning.

    name (Optional[str]): A transformer on the Hugging Face hub, or its folder; null for a component
        with a `source`, or one whose weights are loaded.
    layer_decay (float): Learning rate of a layer, as a multiple of that of the layer above it.
    max_pieces (Optional[int]): Maximum number of subwords of a window; longer sentences are cut
        into overlapping windows. Null is 254, or the maximum of the transformer if it is less.
    batch_pieces (int): Maximum number of subwords of a batch, with padding. On a CPU it is at most
        512, which is faster.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, hidden size).
    SOURCE: Devlin et al. 2019, BERT; rates by layer: Howard and Ruder 2018, ULMFiT.
    """
    with extra("", "transformers"):
        import torch  # noqa: F401
        import transformers  # noqa: F401
    from ..layers import torch_transformer

    decay = finite(
        "layer_decay", layer_decay, "a number above 0, at most 1", "0.8 is the default.", 1e-3, 1
    )
    limit = None if max_pieces is None else whole("max_pieces", max_pieces, "Use null.", 8)
    size = whole("batch_pieces", batch_pieces, "4096 is the default.", limit or DEFAULT_PIECES)
    module = torch_transformer.PieceEncoder()
    shim = torch_transformer.TransformerShim(module, decay)
    model = torch_layer(module, convert_inputs, rows_from_torch, init, shim)
    model.name = TRANSFORMER
    model.attrs.update(name=name, max_pieces=limit, batch_pieces=size)
    return model


def encoder_of(model: Model) -> "PieceEncoder":
    """Return the torch module of a longtail.Transformer.v1."""
    return shim_of(model).module


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
    _set_width(model)


def _set_width(model: Model) -> None:
    """Set the width of the rows, without which spaCy cannot process an empty document."""
    if model.has_dim("nO") is None:
        model.set_dim("nO", encoder_of(model).width)


def convert_inputs(model: Model, docs: list[Doc], is_train: bool) -> tuple[ArgsKwargs, Callable]:
    """Convert documents to padded batches: subwords of words, windows of sentences, batches."""
    from ..layers.torch_transformer import longest_window, pad_batches

    module = encoder_of(model)
    pieces, size = module.subword_tokenizer, model.attrs["batch_pieces"]
    if pieces is None:
        raise ValueError(Errors.L265.format(name=model.attrs["name"], problem="It has no weights yet."))
    _set_width(model)  # version 0.3.0 did not save it
    device = shim_of(model).device
    is_cpu = device.type == "cpu"
    limit = longest_window(module, model.attrs["max_pieces"])
    sequences = cut_documents(docs, pieces.of(docs), limit)
    max_pieces = min(size, CPU_PIECES) if is_cpu else size
    args = pad_batches(sequences, pieces.ends, max_pieces, device)
    int8 = not is_train and is_cpu and model.attrs.get("int8", False)
    return ArgsKwargs(args=args, kwargs={"int8": int8}), lambda d_inputs: []
