"""Transformers in int8, for predictions on a CPU. Needs torch: import it within functions."""

import copy
import warnings
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import Warnings

TINY = 1e-8  # of what scales divide by
ROWS = 16  # numbers of rows are multiples of it: oneDNN compiles a kernel for each number
FAR = -1e9  # added to attention scores of padding
ADDS_EIGHT = ("avx512_vnni", "avx_vnni", "amx_int8")  # sums of products of 8 bits do not overflow
LIKE_BERT = {"BertModel", "RobertaModel", "XLMRobertaModel"}  # by the class: they share their layers


@cache
def can(*features: str) -> bool:
    """Whether this CPU has one of these instruction sets, by torch's names."""
    flags: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(flags.get(name, False) for name in features)


class States(NamedTuple):
    """What a transformer gives, by the name that those of `transformers` have for it."""

    last_hidden_state: Tensor  # (n_sequences, n_pieces, width)


class Int8Linear(nn.Module):
    """A linear layer that multiplies in int8. Each row of weights and each word has a scale.

    What a word gets does not depend on the other words of its batch.

    weights (Tensor): (n_out, n_in). bias (Optional[Tensor]): (n_out,).
    """

    def __init__(self, weights: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        n_out, n_in = weights.shape
        weights = weights.detach().float()
        most = 127 if can(*ADDS_EIGHT) else 63  # weights of 8 bits, or of 7
        scales = weights.abs().amax(dim=1).clamp_min(TINY) / most
        codes = (weights / scales[:, None]).round_().to(torch.int8)
        # behind an activation the least value is small beside the greatest
        self.least = 0.2 if n_in > n_out else 1.0
        self.unit = 254 / (1 + self.least)  # codes of a word reach from -127 to 127
        self.zero = round(self.unit - 127)
        self.weights = codes.T.contiguous()
        self.scales = scales / self.unit
        self.shift = self.zero * codes.sum(dim=1) * self.scales
        self.bias = torch.zeros(n_out) if bias is None else bias.detach().float()

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Rows of outputs, (..., n_out), float32. inputs (Tensor): (..., n_in)."""
        words = inputs.reshape(-1, inputs.shape[-1])
        n = len(words)
        lowest = words.amin(dim=1, keepdim=True).mul_(-1 / self.least)
        largest = words.amax(dim=1, keepdim=True).maximum(lowest).clamp_min_(TINY)
        scaled = words * (self.unit / largest)
        codes = words.new_empty((-(-n // ROWS) * ROWS, words.shape[1]), dtype=torch.int8)
        codes[:n] = (scaled.sub_(self.zero) if self.zero else scaled).round_()
        outputs = torch._int_mm(codes, self.weights)[:n].float().mul_(self.scales)
        if self.zero:
            outputs += self.shift
        return outputs.mul_(largest).add_(self.bias).view(*inputs.shape[:-1], -1)


class Int8Layer(nn.Module):
    """A layer of BERT, with one product for queries, keys and values."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention, words = layer.attention.self, layer.attention.output
        parts = attention.query, attention.key, attention.value
        self.n_heads = attention.num_attention_heads
        self.split = Int8Linear(*(torch.cat([getattr(p, n) for p in parts]) for n in ("weight", "bias")))
        self.joined = Int8Linear(words.dense.weight, words.dense.bias)
        self.up, self.down = (
            Int8Linear(part.dense.weight, part.dense.bias) for part in (layer.intermediate, layer.output)
        )
        self.activation = layer.intermediate.intermediate_act_fn
        self.first_norm, self.last_norm = words.LayerNorm, layer.output.LayerNorm

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """The next states. mask (Tensor): (n_sequences * n_heads, 1, n_pieces), added to scores."""
        n, length, width = states.shape
        size = width // self.n_heads
        heads = self.split(states).view(n, length, 3, self.n_heads, size).permute(2, 0, 3, 1, 4)
        query, key, value = heads.reshape(3, -1, length, size)
        scores = torch.baddbmm(mask, query, key.transpose(1, 2), alpha=size**-0.5)
        read = torch.bmm(scores.softmax(dim=-1), value).view(n, self.n_heads, length, size)
        read = self.joined(read.transpose(1, 2).reshape(n, length, width))
        states = self.first_norm(read.add_(states))
        return self.last_norm(self.down(self.activation(self.up(states))).add_(states))


class Int8Bert(nn.Module):
    """BERT, or a transformer of the same layers. Its embeddings are shared."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.embeddings = encoder.embeddings
        self.layers = nn.ModuleList(map(Int8Layer, encoder.encoder.layer))
        self.n_heads = encoder.config.num_attention_heads

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> States:
        """The states of pieces. Both (n_sequences, n_pieces); the mask is 0 for padding."""
        states: Tensor = self.embeddings(input_ids=input_ids)
        mask = ((1 - attention_mask) * FAR).repeat_interleave(self.n_heads, dim=0)[:, None]
        for layer in self.layers:
            states = layer(states, mask)
        return States(states)


def in_int8(encoder: Any, shared: nn.Module) -> Any:
    """A copy of an encoder with its linear layers in int8. shared (Module): What is not copied."""
    if not can("avx2"):
        warnings.warn(Warnings.W115, stacklevel=2)
        return encoder
    by_distance = getattr(encoder.config, "position_embedding_type", "absolute") != "absolute"
    if type(encoder).__name__ in LIKE_BERT and not by_distance:
        return Int8Bert(encoder).eval()
    copied = copy.deepcopy(encoder, {id(shared): shared}).eval()
    for module in list(copied.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, Int8Linear(layer.weight, layer.bias))
    return copied
