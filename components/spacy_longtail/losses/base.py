"""What every loss is to the pipes and heads that train with it."""

from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import Field
from thinc.types import Floats1d

from ..errors import Errors
from ..settings import CHECKED as CHECKED
from ..types import ClassWeights

Share = Annotated[float, Field(ge=0, le=1)]


class Loss(ABC):
    """A frozen value with an exact gradient. Who trains with it looks at `heads` first.

    The heads softmax and sigmoid call the loss itself, crf and transition its `of_gold`, binary its
    `binary`. The head two_task calls a `TwoTaskLoss`.
    """

    @property
    @abstractmethod
    def heads(self) -> tuple[str, ...]:
        """What it can train: softmax, sigmoid, crf, transition, binary, two_task."""

    @property
    def preset(self) -> ClassWeights | None:
        """The class weights of the loss, if it has any."""
        return None

    def bind(self, class_values: Floats1d) -> Any:
        """The same loss with its preset resolved.

        class_values (Floats1d): (n_tags,), one number per column of the logits.
        """
        return self

    @property
    def reads_soft(self) -> bool:
        """Whether it learns from soft targets, too: what a teacher made of each token."""
        return False


def check_loss(loss: object, head: str, who: str, fix: str) -> Any:
    """The loss itself, if it trains a head. fix (str): What to use instead."""
    heads = loss.heads if isinstance(loss, Loss) else ()
    if head not in heads:
        reason = f"it trains {' or '.join(heads) or 'nothing here'}, not {head}"
        raise ValueError(Errors.L002.format(who=who, loss=loss, reason=reason, fix=fix))
    return loss
