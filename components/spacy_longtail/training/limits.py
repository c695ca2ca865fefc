"""Values of a config that no training can work with, and that spaCy takes."""

from collections.abc import Mapping
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from thinc.api import Config, Optimizer

from ..records import problem_of

Size = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
N_PROBED = 10  # steps of a schedule that are looked at


class _Numbers(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, from_attributes=True)


class _Training(_Numbers):
    dropout: Share = 0.0
    patience: Size = 0
    max_epochs: Annotated[int, Field(ge=-1)] = 0
    max_steps: Size = 0
    eval_frequency: Positive = 1
    accumulate_gradient: Positive = 1
    score_weights: dict[str, Rate | None] = {}
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None


class _Optimizer(_Numbers):
    learn_rate: Rate
    L2: Rate
    grad_clip: Rate
    b1: Share
    b2: Share
    eps: Annotated[float, Field(gt=0)]


def check_training(training: Mapping[str, Any], batcher: Mapping[str, object]) -> None:
    """Refuse numbers that are out of range, and a training that never ends.

    training (Mapping[str, Any]): [training], resolved.
    batcher (Mapping[str, object]): [training.batcher] as it is written.
    """
    _checked(_Training, training, "[training]")
    for name in ("size", "buffer"):
        value = batcher.get(name)
        if isinstance(value, (int, float)) and not value >= 1:
            raise ValueError(f"[training.batcher] {name} must be at least 1, found {value!r}.")
    optimizer = training.get("optimizer")
    if isinstance(optimizer, Optimizer):
        _checked(_Optimizer, optimizer, "[training.optimizer]")
        rates = _next_rates(optimizer)
        if min(rates) < 0 or not max(rates) > 0:
            raise ValueError(f"[training.optimizer] learn_rate must be above 0, found {rates}.")
    if all((training.get(name) or 0) <= 0 for name in ("max_steps", "max_epochs", "patience")):
        raise ValueError("neither max_steps, max_epochs nor patience ends the training.")


def _next_rates(optimizer: Optimizer) -> list[float]:
    """The next learning rates. A schedule still gives them afterwards."""
    schedule = optimizer.schedules.get("learn_rate")
    if schedule is None:
        return [optimizer.learn_rate]
    rates = list(islice(schedule, N_PROBED))
    optimizer.schedules["learn_rate"] = chain(rates, schedule)
    return rates


def check_written(config: Config) -> None:
    """Refuse a config that spaCy would stumble over before it checks [training].

    config (Config): Filled in for a corpus.
    """
    training = config.get("training", {})
    if missing := [name for name in ("seed", "gpu_allocator") if name not in training]:
        fix = "`python -m spacy init fill-config` writes all defaults"
        raise ValueError(f"[training] has no {missing[0]!r}; {fix}.")
    weights = {"score_weights": training.get("score_weights", {})}
    _checked(_Training, weights, "[training]")


def _checked(schema: type[_Numbers], values: object, subject: str) -> None:
    try:
        schema.model_validate(values)
    except ValidationError as error:
        raise ValueError(f"{problem_of(error, subject)}.") from error
