"""What trainable pipes share: two learning rates in one pipe, and what none of them does."""

from collections.abc import Callable
from typing import Any

from spacy.pipeline.trainable_pipe import TrainablePipe
from thinc.api import Model

from ..errors import Errors
from ..layers import listener_in
from ..settings import finite


class LongtailPipe(TrainablePipe):
    """A pipe with a model, an encoder in it, and settings that are saved as `cfg`."""

    def __init__(
        self,
        vocab: Any,
        model: Model,
        name: str,
        *,
        scorer: Callable | None,
        head_rate: float,
        cfg: dict[str, Any],
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.head_rate = head_rate
        self.cfg = cfg

    def finish_update(self, sgd: Any) -> None:
        """Step the optimizer, `head_rate` times as far outside the encoder."""
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))

    def rehearse(self, examples: Any, **settings: Any) -> dict[str, float]:
        """Refused: spaCy would pass over the pipe silently. RAISES (ValueError): L219."""
        raise ValueError(Errors.L219.format(who=self.name, reason="it has no rehearsal update"))


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
