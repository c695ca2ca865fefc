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
    flags: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(flags.get(name, False) for name in features)


class Int8Linear(nn.Module):
    """A linear layer that multiplies in int8. Each row of weights and each word has a scale.

    What a word gets does not depend on the other words of its batch.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weights = layer.weight.detach().float()
        scales = weights.abs().amax(dim=1).clamp_min(TINY) / 127
        self.bias = torch.zeros(len(weights)) if layer.bias is None else layer.bias.detach().float()
        # behind an activation the least value is small beside the greatest
        self.least = 0.2 if layer.in_features > layer.out_features else 1.0
        self.ends = torch.zeros(layer.in_features)  # the range of words that are scaled
        self.ends[:2] = torch.tensor([-self.least, 1.0])
        # without these instructions sums of products of 8 bits overflow: inputs then have 7
        self.is_short = not can("avx512_vnni", "avx_vnni", "amx_int8")
        with warnings.catch_warnings():  # torch means to move this to a package of its own
            warnings.simplefilter("ignore")
            zeros = torch.zeros(len(weights), dtype=torch.long)
            short = torch.quantize_per_channel(weights, scales.double(), zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(short, None)

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Rows of outputs, (..., n_out), float32. inputs (Tensor): (..., n_in)."""
        words = inputs.reshape(-1, inputs.shape[-1])
        lowest = words.amin(dim=1, keepdim=True).mul_(-1 / self.least)
        scales = words.amax(dim=1, keepdim=True).maximum(lowest).clamp_min_(TINY)
        scaled = words.new_empty((len(words) + 1, words.shape[1]))
        torch.div(words, scales, out=scaled[:-1])
        scaled[-1] = self.ends  # torch takes its scale from the least and the greatest of all values
        outputs = torch.ops.quantized.linear_dynamic(scaled, self.packed, self.is_short)[:-1]
        torch.addcmul(self.bias, outputs, scales, out=outputs)
        return outputs.view(*inputs.shape[:-1], -1)


def in_int8(encoder: nn.Module, shared: nn.Module) -> nn.Module:
    """A copy of an encoder with its linear layers in int8."""
    copied = copy.deepcopy(encoder, {id(shared): shared}).eval()
    for module in list(copied.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer))
    return copied
