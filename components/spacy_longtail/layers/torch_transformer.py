"""A transformer over batches of subwords. It needs torch: import it within functions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from thinc.api import ArgsKwargs, torch2xp, xp2torch
from thinc.types import FloatsXd
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..hub import no_model_code
from .int8 import can, in_int8
from .subword_tokenizer import SubwordTokenizer
from .torch_depths import depths_of, positions_of
from .torch_format import from_bytes, to_bytes
from .torch_layer import TorchShim
from .torch_threads import side_by_side
from .windows import DEFAULT_PIECES, Sequences, by_length

if TYPE_CHECKING:
    from transformers import PretrainedConfig

DROPOUT = 0.1  # of the outputs, in training


def has_bf16() -> bool:
    """Return whether this CPU multiplies in bfloat16, which shortens training by a third."""
    return can("avx512_bf16", "amx_bf16")


class Padded(NamedTuple):
    """Batch of sequences of similar length, padded to one array."""

    ids: Tensor  # (n_sequences, n_pieces)
    mask: Tensor  # (n_sequences, n_pieces), 0 for padding
    rows: Tensor  # (n_words,), which sequence each word is in
    columns: Tensor  # (n_words,), where its first piece stands


def pad_batches(
    sequences: Sequences, ends: tuple[list[int], list[int]], limit: int, device: torch.device
) -> tuple[list[Padded], Tensor]:
    """Put sequences of similar lengths into batches, with special subwords and padding.

    sequences (Sequences): Windows of documents.
    ends (Tuple[List[int], List[int]]): Special subwords before and after a sequence.
    limit (int): Maximum number of subwords of a batch, with padding.
    device (torch.device): Device of the tensors.
    RETURNS (Tuple[List[Padded], Tensor]): The batches, and the position in them of each word of the
        documents, shape (n_words,).
    """
    before, after = ends
    sizes = np.array([*map(len, sequences.ids)], dtype="int64") + len(before) + len(after)
    counts = np.array([*map(len, sequences.columns)], dtype="int64")
    offsets = np.cumsum(counts) - counts
    batches, order = [], [np.zeros(0, dtype="int64")]
    for chosen in by_length(sizes, limit):
        ids = np.zeros((len(chosen), int(sizes[chosen].max())), dtype="int64")
        for row, i in enumerate(chosen):
            ids[row, : sizes[i]] = np.concatenate([before, sequences.ids[i], after])
        mask = np.arange(ids.shape[1]) < sizes[chosen][:, None]
        columns = np.concatenate([sequences.columns[i] for i in chosen]) + len(before)
        rows = np.repeat(np.arange(len(chosen)), counts[chosen])
        arrays = (ids, mask.astype("int64"), rows, columns)
        batches.append(Padded(*(torch.from_numpy(a).to(device) for a in arrays)))
        order += [np.arange(offsets[i], offsets[i] + counts[i]) for i in chosen]
    return batches, torch.from_numpy(np.argsort(np.concatenate(order))).to(device)


class PieceEncoder(nn.Module):
    """Transformer that represents a word by the state of its first subword.

    It is empty until `build` is called: at initialisation, or when weights are loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder: Any = None
        self.subword_tokenizer: SubwordTokenizer | None = None
        self.max_pieces: int | None = None  # of a text without special ones; None for no limit
        self.dropout = nn.Dropout(DROPOUT)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """Return the tokenizer; None before `build`."""
        return None if self.subword_tokenizer is None else self.subword_tokenizer.tokenizer

    def build(self, config: "PretrainedConfig", tokenizer: Tokenizer, encoder: nn.Module | None) -> None:
        """Set the transformer, or create one with random weights. Word embeddings are frozen."""
        from transformers import AutoModel

        with no_model_code():
            self.encoder = AutoModel.from_config(config) if encoder is None else encoder
        for name in ("pooler", "lm_head"):
            if getattr(self.encoder, name, None) is not None:
                setattr(self.encoder, name, None)
        self.encoder.get_input_embeddings().weight.requires_grad_(False)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.subword_tokenizer = SubwordTokenizer(tokenizer)
        n_positions = positions_of(self.encoder)
        n_special = sum(map(len, self.subword_tokenizer.ends))
        self.max_pieces = None if n_positions is None else n_positions - n_special

    @property
    def width(self) -> int:
        """Return the number of columns of the states."""
        return int(self.encoder.config.hidden_size)

    def forward(self, batches: Sequence[Padded], order: Tensor, encoder: Any = None) -> Tensor:
        """Return the states of all words.

        batches (Sequence[Padded]): All sequences.
        order (Tensor): Position of each word among the words of all batches, shape (n_words,).
        encoder (Optional[nn.Module]): A copy of the transformer to use instead, such as an int8
            one.
        RETURNS (Tensor): (n_words, width).
        """
        if not batches:
            return torch.zeros((0, self.width), device=order.device, requires_grad=self.training)
        encoder = self.encoder if encoder is None else encoder

        def read(b: Padded) -> Tensor:
            states: Tensor = encoder(input_ids=b.ids, attention_mask=b.mask)[0]
            return states[b.rows, b.columns]

        if not self.training:
            is_cpu = order.device.type == "cpu"
            states = side_by_side(read, batches) if is_cpu else [*map(read, batches)]
        else:
            with torch.autocast("cpu", torch.bfloat16, enabled=has_bf16()):
                states = [*map(read, batches)]
        return self.dropout(torch.cat(states).float()).index_select(0, order)


class TransformerShim(TorchShim):
    """Shim of a transformer, with lower learning rates of lower layers and int8 predictions.

    It knows no mixed precision, so it takes no other settings of thinc's shim.

    module (PieceEncoder): The transformer.
    layer_decay (float): Learning rate of a layer, as a multiple of that of the layer above it.
    """

    def __init__(self, module: PieceEncoder, layer_decay: float) -> None:
        super().__init__(module, serialize_model=to_bytes, deserialize_model=from_bytes)
        self.layer_decay = layer_decay
        self._short: tuple[Any, Any] | None = None  # the encoder, and its copy in int8
        self._depths: tuple[Any, dict[str, int]] | None = None  # the encoder, and those in it

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the copies that are derived from the weights."""
        return {**self.__dict__, "_short": None, "_depths": None}

    def predict(self, inputs: ArgsKwargs) -> Tensor:
        """Return the states of words. The keyword `int8` says whether to multiply in int8."""
        options = dict(inputs.kwargs)
        if options.pop("int8", False):
            options["encoder"] = self.short_encoder()
        return super().predict(ArgsKwargs(inputs.args, options))

    def short_encoder(self) -> Any:
        """Return the transformer in int8, quantized from the current weights."""
        encoder, short = self.module.encoder, self._short
        if short is None or short[0] is not encoder:
            short = encoder, in_int8(encoder, encoder.get_input_embeddings())
            self._short = short
        return short[1]

    def begin_update(self, inputs: ArgsKwargs) -> Any:
        """Return the outputs and a callback for their gradients, in full precision."""
        self._short = None  # of no use in training
        options = {name: value for name, value in inputs.kwargs.items() if name != "int8"}
        return super().begin_update(ArgsKwargs(inputs.args, options))

    @contextmanager
    def use_params(self, params: Mapping[tuple[int, str], FloatsXd]) -> Iterator[None]:
        """Predict with other weights for a while, in int8 as well."""
        self._short = None
        try:
            with super().use_params(params):
                yield
        finally:
            self._short = None

    def finish_update(self, optimizer: Any) -> None:
        """Step with `layer_decay` times the learning rate of the layer above in each layer."""
        module = self.module
        if self._depths is None or self._depths[0] is not module.encoder:
            self._depths = module.encoder, depths_of(module.encoder)
        depths = self._depths[1]
        try:
            for name, parameter in module.named_parameters():
                if parameter.grad is None:
                    continue
                data, gradient = torch2xp(parameter.data), torch2xp(parameter.grad)
                rate = self.layer_decay ** depths[name.removeprefix("encoder.")]
                weights, _ = optimizer((self.id, name), data, gradient, lr_scale=rate)
                parameter.data = xp2torch(weights, requires_grad=True, device=parameter.device)
                parameter.grad.zero_()
        finally:  # an error may leave some layers with other weights
            self._short = None


def longest_window(module: PieceEncoder, max_pieces: int | None) -> int:
    """Return the maximum number of subwords that are encoded together.

    max_pieces (Optional[int]): The setting. What an older version saved may be more than the
        encoder can read.
    """
    limit = module.max_pieces
    wanted = DEFAULT_PIECES if max_pieces is None else max_pieces
    return wanted if limit is None else min(wanted, limit)
