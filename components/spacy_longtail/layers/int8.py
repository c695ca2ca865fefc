"""Transformers in int8, for predictions on a CPU. Needs torch: import it within functions."""

import copy
import warnings
from functools import cache

import torch
from torch import Tensor, nn

TINY = 1e-8  # of what scales divide by


@cache
def can(*features: str) -> bool:
    """Whether this CPU has one of these instruction sets, by torch's names."""
    found: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(found.get(name, False) for name in features)


class Int8Linear(nn.Module):
    """A linear layer that multiplies in int8: each row of weights has a scale, and so has what is read.

    One scale serves all inputs of a batch. Where inputs are wider than outputs, behind an activation,
    a few words have far greater values than all others: there each word has a scale of its own.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weights = layer.weight.detach().float()
        bias = None if layer.bias is None else layer.bias.detach().float()
        scales = weights.abs().amax(dim=1).clamp_min(TINY) / 127
        self.by_word = layer.in_features > layer.out_features
        self.bias = torch.zeros(len(weights)) if bias is None else bias
        # without these instructions sums of products of 8 bits overflow: inputs then have 7
        self.is_short = not can("avx512_vnni", "avx_vnni", "amx_int8")
        with warnings.catch_warnings():  # torch means to move this to a package of its own
            warnings.simplefilter("ignore")
            zeros = torch.zeros(len(weights), dtype=torch.long)
            short = torch.quantize_per_channel(weights, scales.double(), zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(short, None if self.by_word else bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Rows of outputs, (..., n_out), float32. inputs (Tensor): (..., n_in)."""
        multiply = torch.ops.quantized.linear_dynamic
        if not self.by_word:
            outputs: Tensor = multiply(inputs, self.packed, self.is_short)
            return outputs
        scales = inputs.abs().amax(dim=-1, keepdim=True).clamp_min_(TINY)
        return torch.addcmul(self.bias, multiply(inputs / scales, self.packed, self.is_short), scales)


def in_int8(encoder: nn.Module, shared: nn.Module) -> nn.Module:
    """A copy of an encoder with its linear layers in int8."""
    found = copy.deepcopy(encoder, {id(shared): shared}).eval()
    for module in list(found.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return found
