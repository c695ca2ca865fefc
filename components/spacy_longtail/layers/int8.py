"""Transformers in int8, for predictions on a CPU. It needs torch: import it within functions."""

import copy
import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

TINY = 1e-8  # of what scales divide by
ROWS = 16  # numbers of rows are multiples of it: oneDNN compiles a kernel for each number
MASKED = -1e9  # added to the attention scores of padding
ADDS_EIGHT = ("avx512_vnni", "avx_vnni", "amx_int8")  # sums of products of 8 bits do not overflow
LIKE_BERT = {"BertModel", "RobertaModel", "XLMRobertaModel"}  # by the class: they share their layers


@cache
def can(*features: str) -> bool:
    """Return whether this CPU has one of these instruction sets, by torch's names."""
    flags: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(flags.get(name, False) for name in features)


class Int8Linear(nn.Module):
    """Linear layer in int8: weights are quantized per output channel, activations per subword.

    The output for a subword does not depend on the other subwords of its batch.

    weights (Tensor): Shape (n_out, n_in).
    bias (Optional[Tensor]): Shape (n_out,).
    """

    def __init__(self, weights: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        n_out, n_in = weights.shape
        weights = weights.detach().float()
        self.bias = torch.zeros(n_out) if bias is None else bias.detach().float()
        # after an activation the minimum is small compared with the maximum
        self.min_ratio = 0.2 if n_in > n_out else 1.0
        self.settle(weights, weights.abs().amax(dim=1).clamp_min(TINY) / 127)

    def settle(self, weights: Tensor, scales: Tensor) -> None:
        """Quantize the weights.

        weights (Tensor): Shape (n_out, n_in).
        scales (Tensor): Scale of each output channel, shape (n_out,).
        """
        codes = (weights / scales[:, None]).round_().to(torch.int8)
        self.levels = 254 / (1 + self.min_ratio)  # codes of a subword reach from -127 to 127
        self.zero_point = round(self.levels - 127)
        self.weights = codes.T.contiguous()
        self.scales = scales / self.levels
        self.shift = self.zero_point * codes.sum(dim=1) * self.scales

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Return outputs in float32, shape (..., n_out).

        inputs (Tensor): Shape (..., n_in).
        """
        subwords = inputs.reshape(-1, inputs.shape[-1])
        lowest = subwords.amin(dim=1, keepdim=True).mul_(-1 / self.min_ratio)
        largest = subwords.amax(dim=1, keepdim=True).maximum(lowest).clamp_min_(TINY)
        outputs = self.products(subwords, largest).mul_(largest).add_(self.bias)
        return outputs.view(*inputs.shape[:-1], -1)

    def products(self, subwords: Tensor, largest: Tensor) -> Tensor:
        """Multiply subwords, each scaled by its maximum, by the weights: (n_subwords, n_out)."""
        n = len(subwords)
        scaled = subwords * (self.levels / largest)
        codes = subwords.new_empty((-(-n // ROWS) * ROWS, subwords.shape[1]), dtype=torch.int8)
        codes[:n] = (scaled.sub_(self.zero_point) if self.zero_point else scaled).round_()
        products = torch._int_mm(codes, self.weights)[:n].float().mul_(self.scales)
        return products.add_(self.shift) if self.zero_point else products


class ReducedLinear(Int8Linear):
    """Linear layer in int8 for CPUs whose sums of 8-bit products overflow: subwords have 7 bits."""

    def settle(self, weights: Tensor, scales: Tensor) -> None:
        """Quantize and pack the weights. The arguments are those of `Int8Linear.settle`."""
        self.ends = torch.zeros(weights.shape[1])  # the range of scaled subwords
        self.ends[:2] = torch.tensor([-self.min_ratio, 1.0])
        with warnings.catch_warnings():  # torch means to move this to a package of its own
            warnings.simplefilter("ignore")
            zeros = torch.zeros(len(weights), dtype=torch.long)
            short = torch.quantize_per_channel(weights, scales.double(), zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(short, None)

    def products(self, subwords: Tensor, largest: Tensor) -> Tensor:
        """Multiply subwords, each scaled by its maximum, by the weights: (n_subwords, n_out)."""
        scaled = subwords.new_empty((len(subwords) + 1, subwords.shape[1]))
        torch.div(subwords, largest, out=scaled[:-1])
        scaled[-1] = self.ends  # torch computes the scale from the minimum and maximum of all values
        return torch.ops.quantized.linear_dynamic(scaled, self.packed, True)[:-1]


def short_linear(weights: Tensor, bias: Tensor | None) -> Int8Linear:
    """Return a linear layer in int8 that this CPU computes without overflow."""
    return (Int8Linear if can(*ADDS_EIGHT) else ReducedLinear)(weights, bias)


class Int8Layer(nn.Module):
    """Layer of BERT in int8, with one multiplication for queries, keys and values."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention, output = layer.attention.self, layer.attention.output
        parts = attention.query, attention.key, attention.value
        self.n_heads = attention.num_attention_heads
        weights, bias = (torch.cat([getattr(p, name) for p in parts]) for name in ("weight", "bias"))
        others = (part.dense for part in (output, layer.intermediate, layer.output))
        self.split = short_linear(weights, bias)
        self.joined, self.up, self.down = (short_linear(part.weight, part.bias) for part in others)
        self.activation = layer.intermediate.intermediate_act_fn
        self.first_norm, self.last_norm = output.LayerNorm, layer.output.LayerNorm

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the next states.

        mask (Tensor): Added to attention scores, shape (n_sequences * n_heads, 1, n_pieces).
        """
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
    """BERT in int8, or a transformer of the same layers. Its embeddings are shared."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.embeddings = encoder.embeddings
        self.layers = nn.ModuleList(map(Int8Layer, encoder.encoder.layer))
        self.n_heads = encoder.config.num_attention_heads

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor]:
        """Return the states of subwords.

        input_ids (Tensor): Subwords, shape (n_sequences, n_pieces).
        attention_mask (Tensor): 0 for padding, else 1, in the same shape.
        """
        states: Tensor = self.embeddings(input_ids=input_ids)
        mask = ((1 - attention_mask) * MASKED).repeat_interleave(self.n_heads, dim=0)[:, None]
        for layer in self.layers:
            states = layer(states, mask)
        return (states,)


def in_int8(encoder: Any, shared: nn.Module) -> Any:
    """Return a copy of an encoder with all of its linear layers in int8.

    encoder (PreTrainedModel): Transformer. Layers of BERT are replaced as a whole.
    shared (Module): Module that both use, such as the word embeddings.
    """
    is_plain = getattr(encoder.config, "position_embedding_type", "absolute") == "absolute"
    if type(encoder).__name__ in LIKE_BERT and is_plain and not encoder.config.is_decoder:
        return Int8Bert(encoder).eval()
    copied = copy.deepcopy(encoder, {id(shared): shared}).eval()
    for module in list(copied.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, short_linear(layer.weight, layer.bias))
    return copied
