"""A transformer over batches of pieces. Needs torch: import it within functions."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from thinc.api import torch2xp, xp2torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..errors import Errors
from ..hub import no_model_code
from .int8 import can, in_int8
from .quantised import GROUP, EightBit, FourBit, eight_bit, four_bit
from .torch_layer import TorchShim, load_state, read_safetensors, tensor_checksum, tensors_of
from .torch_threads import side_by_side

if TYPE_CHECKING:
    from transformers import PretrainedConfig

DROPOUT = 0.1  # of the outputs, in training
EIGHT, FOUR = ".eight.", ".four."  # between the name of a weight and of a part of its short form
FORMAT = "1"  # of the weights on disk
KEPT = 0.8  # of the learning rate, from a layer to the one below


def has_bf16() -> bool:
    """Whether this CPU multiplies in bfloat16, in which training takes two thirds of the time."""
    return can("avx512_bf16", "amx_bf16")


class Padded(NamedTuple):
    """Sequences of similar lengths in one array."""

    ids: Tensor  # (n_sequences, n_pieces)
    mask: Tensor  # (n_sequences, n_pieces), 0 for padding
    rows: Tensor  # (n_words,), which sequence each word is in
    columns: Tensor  # (n_words,), where its first piece stands


class PieceEncoder(nn.Module):
    """A transformer that gives a word the state of its first piece.

    It is empty until `build` is called: at initialisation, or when weights are loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder: Any = None
        self.tokenizer: Tokenizer | None = None
        self.pieces: Any = None  # of the words that were read, by what reads them
        self.int8: tuple[Any, ...] = ()  # the transformer in int8, once a prediction asked for it
        self.dropout = nn.Dropout(DROPOUT)

    def build(self, config: "PretrainedConfig", tokenizer: Tokenizer, encoder: nn.Module | None) -> None:
        """Take a transformer, or one with random weights. Word embeddings are not trained."""
        from transformers import AutoModel

        with no_model_code():
            self.encoder = AutoModel.from_config(config) if encoder is None else encoder
        for name in ("pooler", "lm_head"):
            if getattr(self.encoder, name, None) is not None:
                setattr(self.encoder, name, None)
        self.encoder.get_input_embeddings().weight.requires_grad_(False)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer

    @property
    def width(self) -> int:
        """Columns of the states."""
        return int(self.encoder.config.hidden_size)

    def __getstate__(self) -> dict[str, Any]:
        """Without the weights in int8, which are made from the others."""
        return {**self.__dict__, "int8": ()}

    def quantised(self) -> Any:
        """The transformer with its linear layers in int8, made once for the weights as they are."""
        if not self.int8:
            self.int8 = (in_int8(self.encoder, self.encoder.get_input_embeddings()),)
        return self.int8[0]

    def forward(self, batches: Sequence[Padded], order: Tensor, int8: bool = False) -> Tensor:
        """The states of all words.

        batches (Sequence[Padded]): All sequences. int8 (bool): Whether to multiply in int8.
        order (Tensor): (n_words,), the place of each word among the words of all batches.
        RETURNS (Tensor): (n_words, width).
        """
        if not batches:
            return torch.zeros((0, self.width), device=order.device, requires_grad=self.training)
        encoder = self.quantised() if int8 else self.encoder

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

    def depths(self) -> dict[str, int]:
        """How many layers lie above each parameter."""
        n_layers = int(self.encoder.config.num_hidden_layers)
        depths = {}
        for name, _ in self.named_parameters():
            layer = next((int(part) for part in name.split(".") if part.isdigit()), -1)
            depths[name] = n_layers - 1 - layer
        return depths


class TransformerShim(TorchShim):
    """Steps lower layers less far; reads and writes a transformer, its config and its tokenizer."""

    kept: float = KEPT

    def begin_update(self, inputs: Any) -> Any:
        """The outputs and a callback for their gradients. Weights in int8 are then outdated."""
        self._model.int8 = ()
        return super().begin_update(inputs)

    @contextmanager
    def use_params(self, params: Any) -> Iterator[None]:
        """Predict with other weights for a while, in int8 too."""
        self._model.int8 = ()
        with super().use_params(params):
            yield
        self._model.int8 = ()

    def finish_update(self, optimizer: Any) -> None:
        """Step each layer `kept` times as far as the one above it."""
        depths = self._model.depths()
        for name, parameter in self._model.named_parameters():
            if parameter.grad is None:
                continue
            data, gradient = torch2xp(parameter.data), torch2xp(parameter.grad)
            weights, _ = optimizer((self.id, name), data, gradient, lr_scale=self.kept ** depths[name])
            parameter.data = xp2torch(weights, requires_grad=True, device=parameter.device)
            parameter.grad.zero_()


def to_bytes(module: PieceEncoder) -> bytes:
    """The transformer as a safetensors file in full precision; empty before it is initialized."""
    import safetensors.torch

    if module.encoder is None or module.tokenizer is None:
        return b""
    tensors = tensors_of(module)
    return safetensors.torch.save(tensors, metadata=_metadata(module, tensors))


def _metadata(module: PieceEncoder, tensors: dict[str, Tensor]) -> dict[str, str]:
    return {
        "format": FORMAT,
        "config": module.encoder.config.to_json_string(use_diff=False),
        "tokenizer": module.tokenizer.to_str(),  # type: ignore[union-attr]
        "sha256": tensor_checksum(tensors),
    }


def from_bytes(module: PieceEncoder, data: bytes, device: torch.device) -> PieceEncoder:
    from transformers import AutoConfig

    if not data:
        return module
    who = type(module).__name__
    tensors, metadata = read_safetensors(data, who)
    check_format(metadata, who)
    try:
        known = json.loads(metadata["config"])
        config = AutoConfig.for_model(known.pop("model_type"), **known)
        loaded = PieceEncoder()
        loaded.build(config, Tokenizer.from_str(metadata["tokenizer"]), None)
    except Exception as error:  # whatever the parsers say of a file without these
        raise ValueError(Errors.L221.format(who=who, problem=error)) from error
    load_state(loaded, expand(tensors), who)
    return loaded.to(device).train(module.training)


def check_format(metadata: dict[str, str], who: str) -> None:
    """Refuse weights of another format than this version reads."""
    if (format_ := metadata.get("format", FORMAT)) != FORMAT:
        problem = f"they have the format {format_}, and this version of spacy-longtail reads {FORMAT}"
        raise ValueError(Errors.L221.format(who=who, problem=problem))


def expand(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights in full precision from their short forms."""
    expanded: dict[str, Tensor] = {}
    parts: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for name, tensor in tensors.items():
        kind = EIGHT if EIGHT in name else FOUR if FOUR in name else None
        if kind is None:
            expanded[name] = tensor.float() if tensor.is_floating_point() else tensor
        else:
            base, part = name.split(kind)
            parts.setdefault((base, kind), {})[part] = tensor.numpy()
    for (base, kind), pieces in parts.items():
        short = EightBit(**pieces) if kind == EIGHT else FourBit(**pieces)
        expanded[base] = torch.from_numpy(short.expand())
    return expanded


def short_form(module: PieceEncoder, bits: float = 8, embedding_bits: float = 8) -> bytes:
    """The transformer as `from_bytes` reads it: matrices in few bits, all else in half precision.

    bits (float): Of the layers' matrices, 4 to 8. embedding_bits (float): Of word embeddings.
    """
    import safetensors.torch

    tensors: dict[str, Tensor] = {}
    for name, tensor in module.state_dict().items():
        is_words = "word_embeddings" in name
        if not tensor.is_floating_point():
            tensors[name] = tensor.clone()
        elif is_words or (tensor.ndim == 2 and ".layer." in name):
            n_bits = embedding_bits if is_words else bits
            matrix = tensor.float().cpu().numpy()
            is_four = n_bits == 4 and matrix.shape[1] % GROUP == 0
            short: EightBit | FourBit = four_bit(matrix) if is_four else eight_bit(matrix, n_bits)
            kind = FOUR if is_four else EIGHT
            for part, array in short._asdict().items():
                tensors[f"{name}{kind}{part}"] = torch.from_numpy(np.ascontiguousarray(array))
        else:
            tensors[name] = tensor.half().cpu().contiguous().clone()
    return safetensors.torch.save(tensors, metadata=_metadata(module, tensors))
