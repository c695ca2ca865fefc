"""A transformer over batches of subwords. It needs torch: import it within functions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from thinc.api import ArgsKwargs, torch2xp, xp2torch
from thinc.types import FloatsXd
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..errors import Errors
from ..hub import no_model_code
from .int8 import can, in_int8
from .quantized import GROUP, EightBit, FourBit, eight_bit, four_bit
from .subword_tokenizer import SubwordTokenizer
from .torch_depths import depths_of, positions_of
from .torch_layer import TorchShim, load_state, read_safetensors, tensors_of, write_safetensors
from .torch_threads import side_by_side
from .windows import DEFAULT_PIECES, Sequences, by_length

if TYPE_CHECKING:
    from transformers import PretrainedConfig

DROPOUT = 0.1  # of the outputs, in training
# between the name of a weight and of a part of its short form
FORMS: dict[str, type[EightBit | FourBit]] = {".eight.": EightBit, ".four.": FourBit}
FORMAT = "1"  # of the weights on disk


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


def to_bytes(module: PieceEncoder) -> bytes:
    """Return the transformer as a safetensors file in full precision; empty before `build`."""
    if module.encoder is None:
        return b""
    return write_safetensors(tensors_of(module), **_metadata(module))


def _metadata(module: PieceEncoder) -> dict[str, str]:
    return {
        "format": FORMAT,
        "config": module.encoder.config.to_json_string(use_diff=False),
        "tokenizer": module.tokenizer.to_str(),  # type: ignore[union-attr]
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
        problem = f"they have format {format_}, but this version of spacy-longtail loads format {FORMAT}"
        raise ValueError(Errors.L221.format(who=who, problem=problem))


def expand(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights in full precision from their quantized forms."""
    expanded: dict[str, Tensor] = {}
    parts: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for name, tensor in tensors.items():
        kind = next((kind for kind in FORMS if kind in name), None)
        if kind is None:
            expanded[name] = tensor.float() if tensor.is_floating_point() else tensor
        else:
            base, part = name.split(kind)
            parts.setdefault((base, kind), {})[part] = tensor.numpy()
    for (base, kind), pieces in parts.items():
        expanded[base] = torch.from_numpy(FORMS[kind](**pieces).expand())
    return expanded


def short_form(module: PieceEncoder, bits: float = 8, embedding_bits: float = 8) -> bytes:
    """Return the transformer as `from_bytes` loads it, with quantized matrices.

    All other weights are in half precision.

    bits (float): Number of bits of the layers' matrices, 4 to 8.
    embedding_bits (float): Number of bits of the word embeddings.
    """
    tensors: dict[str, Tensor] = {}
    for name, tensor in module.state_dict().items():
        is_words = "word_embeddings" in name
        if not tensor.is_floating_point():
            tensors[name] = tensor.clone()
        elif is_words or (tensor.ndim == 2 and ".layer." in name):
            n_bits = embedding_bits if is_words else bits
            matrix = tensor.float().cpu().numpy()
            is_four = n_bits == 4 and matrix.shape[1] % GROUP == 0
            short = four_bit(matrix) if is_four else eight_bit(matrix, n_bits)
            kind = next(kind for kind, form in FORMS.items() if isinstance(short, form))
            for part, array in short._asdict().items():
                tensors[f"{name}{kind}{part}"] = torch.from_numpy(np.ascontiguousarray(array))
        else:
            tensors[name] = tensor.half().cpu().contiguous().clone()
    return write_safetensors(tensors, **_metadata(module))
