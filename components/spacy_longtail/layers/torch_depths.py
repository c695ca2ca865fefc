"""Depths of a transformer's parameters. It needs torch: import it within functions."""

from typing import Any

import torch

POSITIONS = ("position_embeddings", "embed_positions", "wpe")  # names of tables of positions


def depths_of(encoder: Any) -> dict[str, int]:
    """Return how many layers read what each parameter computes, whatever the architecture.

    A layer is an item of a list of modules that no other list contains: of BERT's `encoder.layer`,
    or of ALBERT's groups, each of which is one layer here though it is applied many times. The
    order is that of a prediction: a final norm has depth 0, as the last layer has, embeddings have
    the number of layers, and so have parameters that several layers share, such as relative
    positions.

    encoder (PreTrainedModel): A transformer of the Hugging Face hub; it is called once.
    RETURNS (Dict[str, int]): Number of layers by the parameter's name within the encoder.
    """
    layers: dict[str, torch.nn.Module] = {}
    for name, module in encoder.named_modules():  # a list before those within its items
        if isinstance(module, torch.nn.ModuleList) and name not in layers and not _within(name, layers):
            layers |= {f"{name}.{i}": item for i, item in enumerate(module)}
    last_call: dict[str, int] = {}  # when a module was called last, counted in modules
    calls: list[str] = []
    hooks = []
    for name, module in encoder.named_modules():
        if name in layers or not _within(name, layers):

            def note(*_: object, name: str = name) -> None:
                last_call[name] = len(calls)
                calls.append(name)

            hooks.append(module.register_forward_pre_hook(note))
    was_training = encoder.training
    ids = torch.ones((1, 2), dtype=torch.long, device=next(encoder.parameters()).device)
    try:
        with torch.no_grad():
            encoder.eval()(input_ids=ids, attention_mask=torch.ones_like(ids))
    finally:
        encoder.train(was_training)
        for hook in hooks:
            hook.remove()
    ends = [last_call[name] for name in layers if name in last_call]
    depths = {}
    for name, _ in encoder.named_parameters():
        owner = _within(name, layers) or name.rpartition(".")[0]
        is_called = owner and owner in last_call  # the encoder itself is called before all layers
        depths[name] = sum(end > last_call[owner] for end in ends) if is_called else len(ends)
    return depths


def _within(name: str, layers: dict[str, torch.nn.Module]) -> str | None:
    """Return the layer that a module or parameter is part of."""
    parts = name.split(".")
    paths = (".".join(parts[:i]) for i in range(1, len(parts)))
    return next((path for path in paths if path in layers), None)


def positions_of(encoder: Any) -> int | None:
    """Return how many subwords an encoder can read at once, special ones included.

    RoBERTa counts positions from its padding on, so that 514 positions are 512 subwords.

    RETURNS (Optional[int]): Null for an encoder without a table of positions, which has no limit.
    """
    for name, module in encoder.named_modules():
        if isinstance(module, torch.nn.Embedding) and name.rpartition(".")[2] in POSITIONS:
            padding = -1 if module.padding_idx is None else module.padding_idx
            known = getattr(encoder.config, "max_position_embeddings", module.num_embeddings)
            return int(min(module.num_embeddings, known)) - padding - 1
    return None
