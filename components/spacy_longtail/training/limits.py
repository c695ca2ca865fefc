"""Values of a config that no training can work with, and that spaCy takes."""

import math
from collections.abc import Mapping
from itertools import chain, islice

from thinc.api import Config, Optimizer

# (least, largest); the least of those in ABOVE is not allowed itself
SETTINGS = {
    "dropout": (0, 0.999),
    "patience": (0, math.inf),
    "max_epochs": (-1, math.inf),
    "max_steps": (0, math.inf),
    "eval_frequency": (1, math.inf),
    "accumulate_gradient": (1, math.inf),
    "seed": (0, 2**32 - 1),
}
OPTIMIZER = {
    "learn_rate": (0, math.inf),
    "L2": (0, math.inf),
    "grad_clip": (0, math.inf),
    "b1": (0, 1),
    "b2": (0, 1),
    "eps": (0, math.inf),
}
ABOVE = ("learn_rate", "eps")  # a schedule may begin with 0
N_PROBED = 10  # steps of a schedule that are looked at
SIZES = ("size", "buffer")  # of a batcher
NEEDED = ("seed", "gpu_allocator")  # without which spaCy begins no training
PATHS = {"paths": ("train", "dev"), "initialize": ("vectors", "init_tok2vec")}
OPTIONAL = "initialize"  # null says that there is none


def check_training(training: Mapping[str, object], batcher: Mapping[str, object]) -> None:
    """Refuse numbers that are out of range, and a training that never ends.

    training (Mapping[str, object]): [training], resolved.
    batcher (Mapping[str, object]): [training.batcher] as it is written.
    """
    for name, (low, high) in SETTINGS.items():
        _check(name, training.get(name), low, high)
    for name in SIZES:
        if isinstance(batcher.get(name), (int, float)):
            _check(f"batcher.{name}", batcher[name], 1, math.inf)
    optimizer = training.get("optimizer")
    if isinstance(optimizer, Optimizer):
        for name, (low, high) in OPTIMIZER.items():
            above = name in ABOVE and name not in optimizer.schedules
            _check(f"optimizer.{name}", getattr(optimizer, name), low, high, above)
            for value in _begin(optimizer, name):
                _check(f"optimizer.{name}", value, low, high)
    ends = [training.get(name, 1) or 0 for name in ("max_steps", "max_epochs", "patience")]
    if max(ends) <= 0:  # type: ignore[type-var, operator]
        raise ValueError("neither max_steps, max_epochs nor patience ends the training.")


def _begin(optimizer: Optimizer, name: str) -> list[float]:
    """The next values of a setting that follows a schedule, which still gives them afterwards."""
    schedule = optimizer.schedules.get(name)
    if schedule is None:
        return []
    found = list(islice(schedule, N_PROBED))
    optimizer.schedules[name] = chain(found, schedule)
    return found


def check_written(config: Config) -> None:
    """Refuse a config without what spaCy needs of [training], paths that are no text, and weights of
    scores that it cannot add up, which it does before it reads that section.

    config (Config): Filled in for a corpus, not interpolated.
    """
    if "training" not in config:
        raise ValueError("it has no [training].")
    if missing := [name for name in NEEDED if name not in config["training"]]:
        fix = "`python -m spacy init fill-config` writes all defaults"
        raise ValueError(f"[training] has no {' and no '.join(missing)}; {fix}.")
    filled = config.interpolate()
    check_paths(filled)
    weights = filled["training"].get("score_weights", {})
    if not isinstance(weights, Mapping):
        raise ValueError(f"[training] score_weights must be a section of numbers, found {weights!r}.")
    for name, weight in weights.items():
        _check(f"score_weights.{name}", weight, 0, math.inf)


def check_paths(config: Config) -> None:
    """Refuse paths that are no text. config (Config): Interpolated."""
    for section, names in PATHS.items():
        block = config.get(section, {})
        for name in (name for name in names if name in block):
            path = block[name]
            if not (isinstance(path, str) or (path is None and section == OPTIONAL)):
                other = " or null" if section == OPTIONAL else ""
                raise ValueError(f"{section}.{name} must be a path{other}, found {path!r}.")


def _check(name: str, value: object, low: float, high: float, above: bool = False) -> None:
    if value is None:
        return
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high and (number > low or not above)):
        least = f"above {low}" if above else f"at least {low}"
        most = f" and at most {high}" if math.isfinite(high) else ""
        raise ValueError(f"[training] {name} must be {least}{most}, found {value!r}.")
