"""Two learning rates in one pipe: the optimizer's for the encoder, a multiple of it for the rest."""

from collections.abc import Callable
from typing import Any

from thinc.api import Model

from ..errors import Errors
from ..layers import listener_in
from ..settings import finite


def check_head_rate(head_rate: Any) -> float:
    """RAISES (ValueError): L001, L243."""
    rule, fix = "a finite number of at least 0", "1 is the optimizer's own rate."
    rate = finite("head_rate", head_rate, rule, fix, 0.0)
    if rate == 0:
        raise ValueError(Errors.L243.format(value=head_rate))
    return rate


def with_head_rate(optimizer: Any, encoder: Model, head_rate: float) -> Any:
    """An optimizer that steps all parameters outside a pipe's encoder `head_rate` times as far.

    optimizer (Any): thinc's, or whatever else steps a parameter by its key; False and None pass.
    encoder (Model): The part of the pipe's model that gives token vectors. Where a listener is in it,
        the encoder is another component's, and what is beside the listener is scaled, too.
    head_rate (float): A multiple of the learning rate; 1 gives the optimizer itself back.
    RETURNS (Any): What `Model.finish_update` takes.
    """
    if head_rate == 1 or not callable(optimizer):
        return optimizer
    own = {part.id for node in encoder.walk() for part in (node, *node.shims)}
    if listener_in(encoder):
        own.clear()
    step: Callable = optimizer

    def scaled(key: tuple[int, str], weights: Any, gradient: Any) -> Any:
        if key[0] in own:
            return step(key, weights, gradient)
        return step(key, weights, gradient, lr_scale=head_rate)

    return scaled
