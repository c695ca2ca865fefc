"""Weights of a transformer as bytes, in full precision or quantized.

It needs torch: import it within functions.
"""

import json
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer

from ..errors import Errors
from .quantized import GROUP, EightBit, FourBit, eight_bit, four_bit
from .torch_layer import load_state, read_safetensors, tensors_of, write_safetensors

if TYPE_CHECKING:
    from .torch_transformer import PieceEncoder

FORMAT = "1"  # of the weights on disk
EIGHT, FOUR = ".eight.", ".four."  # between the name of a weight and of a part of its short form
FORMS: dict[str, type[EightBit | FourBit]] = {EIGHT: EightBit, FOUR: FourBit}


def to_bytes(module: "PieceEncoder") -> bytes:
    """Return the transformer as a safetensors file in full precision; empty before `build`."""
    if module.encoder is None:
        return b""
    return write_safetensors(tensors_of(module), **_metadata(module))


def _metadata(module: "PieceEncoder") -> dict[str, str]:
    return {
        "format": FORMAT,
        "config": module.encoder.config.to_json_string(use_diff=False),
        "tokenizer": module.tokenizer.to_str(),  # type: ignore[union-attr]
    }


def from_bytes(module: "PieceEncoder", data: bytes, device: torch.device) -> "PieceEncoder":
    """Return a transformer with the weights that `to_bytes` or `short_form` returned.

    module (PieceEncoder): The transformer to replace; it is returned if there are no weights.
    RAISES (ValueError): If the weights are damaged or of another format (L221).
    """
    from transformers import AutoConfig

    if not data:
        return module
    who = type(module).__name__
    tensors, metadata = read_safetensors(data, who)
    check_format(metadata, who)
    try:
        known = json.loads(metadata["config"])
        config = AutoConfig.for_model(known.pop("model_type"), **known)
        loaded = type(module)()
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


def expand(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights in full precision from their quantized forms."""
    expanded: dict[str, torch.Tensor] = {}
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


def short_form(module: "PieceEncoder", bits: float = 8, embedding_bits: float = 8) -> bytes:
    """Return the transformer as `from_bytes` loads it, with quantized matrices.

    All other weights are in half precision.

    bits (float): Number of bits of the layers' matrices, 4 to 8.
    embedding_bits (float): Number of bits of the word embeddings.
    """
    tensors: dict[str, torch.Tensor] = {}
    for name, tensor in module.state_dict().items():
        is_words = "word_embeddings" in name
        if not tensor.is_floating_point():
            tensors[name] = tensor.clone()
        elif is_words or (tensor.ndim == 2 and ".layer." in name):
            n_bits = embedding_bits if is_words else bits
            matrix = tensor.float().cpu().numpy()
            is_four = n_bits == 4 and matrix.shape[1] % GROUP == 0
            kind, short = (FOUR, four_bit(matrix)) if is_four else (EIGHT, eight_bit(matrix, n_bits))
            for part, array in short._asdict().items():
                tensors[f"{name}{kind}{part}"] = torch.from_numpy(np.ascontiguousarray(array))
        else:
            tensors[name] = tensor.half().cpu().contiguous().clone()
    return write_safetensors(tensors, **_metadata(module))
