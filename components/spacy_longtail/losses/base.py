"""What every loss is to the pipes and heads that train with it."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from thinc.types import Floats1d

from ..errors import Errors
from ..types import ClassPreset


class BinaryResult(NamedTuple):
    loss: float
    d_logits: Floats1d  # (n,)


class Loss(ABC):
    """A frozen value with an exact gradient. Who trains with it looks at `heads` first.

    What is called then: of "softmax" and "sigmoid" the loss itself; of "crf" and "transition" `of_gold`
    and `weight`; of "binary" `binary_rows`, or `of_set` at level "set"; of "two_task" the loss itself.
    """

    @property
    @abstractmethod
    def heads(self) -> tuple[str, ...]:
        """What it can train: softmax, sigmoid, crf, transition, binary, two_task."""

    @property
    def preset(self) -> ClassPreset | None:
        """What has to be known of each class; None for nothing."""
        return None

    @property
    def log_likelihood(self) -> bool:
        """Whether the loss is -log p(gold): a CRF then trains on its exact likelihood."""
        return False

    @property
    def reads_soft(self) -> bool:
        """Whether it is also taken of soft targets, what a teacher made of each token."""
        return False


def check_loss(loss: object, who: str) -> Loss:
    """A loss of this package's interface."""
    if not isinstance(loss, Loss):
        raise ValueError(Errors.L003.format(who=who, found=repr(loss)))
    return loss
