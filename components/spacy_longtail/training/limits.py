"""Values of a config that no training can work with, and that spaCy takes."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)
from thinc.api import Config

from ..records import problem_of


class _Training(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    patience: NonNegativeInt = 0
    max_epochs: Annotated[int, Field(ge=-1)] = 0
    max_steps: NonNegativeInt = 0
    eval_frequency: PositiveInt = 1
    accumulate_gradient: PositiveInt = 1
    score_weights: dict[str, NonNegativeFloat | None] = {}
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None


def check_training(training: Mapping[str, Any], batcher: Mapping[str, object] = {}) -> None:
    """Refuse numbers of [training] that are out of range, and a training that never ends.

    training (Mapping[str, Any]): The section, resolved.
    batcher (Mapping[str, object]): [training.batcher] as it is written.
    """
    try:
        _Training.model_validate({k: v for k, v in training.items() if k in _Training.model_fields})
    except ValidationError as error:
        raise ValueError(f"{problem_of(error, '[training]')}.") from error
    size, rate = batcher.get("size"), getattr(training.get("optimizer"), "learn_rate", 0.0)
    if isinstance(size, (int, float)) and size < 1:
        raise ValueError(f"[training.batcher] size must be at least 1, found {size!r}.")
    if rate < 0:
        raise ValueError(f"[training.optimizer] learn_rate must not be negative, found {rate}.")
    if all((training.get(name) or 0) <= 0 for name in ("max_steps", "max_epochs", "patience")):
        raise ValueError("neither max_steps, max_epochs nor patience ends the training.")


def check_written(config: Config) -> None:
    """Refuse a config that spaCy would stumble over before it checks [training].

    config (Config): Filled in for a corpus.
    """
    training = config.get("training", {})
    if missing := [name for name in ("seed", "gpu_allocator") if name not in training]:
        fix = "`python -m spacy init fill-config` writes all defaults"
        raise ValueError(f"[training] has no {missing[0]!r}; {fix}.")
    check_training({"max_steps": 1, "score_weights": training.get("score_weights", {})})
