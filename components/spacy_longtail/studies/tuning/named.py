"""The parameters that a search knows by name: where in a config they are, and their usual range."""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.util import registry
from thinc.api import Config

from ...types import Overrides
from ..trials.compose import apply, known_choices

POLICY, RATE = "policy", "learning_rate"
POLICIES = ("plain", "sC", "sCR", "sCRD", "nsCRD")
RESAMPLED = "longtail.ResampledCorpus.v1"
MARGIN, COMPOSITIONAL = "longtail.AUCMargin.v1", "longtail.CompositionalAUC.v1"


class Named(NamedTuple):
    find: Callable[[Config], list[str]]  # the places in a config, dotted names
    range: tuple[float, float] | None  # null is a tenth to ten times the config's value
    where: str  # what a config without a place lacks
    fix: str
    baseline: float | None = None  # null is the config's value
    log: bool = False
    whole: bool = False


def blocks(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Overrides]]:
    """The blocks of a config with their dotted names, outer ones first."""
    if isinstance(value, Mapping):
        yield ".".join(path), value
        for key, inner in value.items():
            yield from blocks(inner, (*path, key))


def _arguments(kind: str, names: tuple[str, ...], argument: str) -> Callable[[Config], list[str]]:
    return lambda config: [
        f"{path}.{argument}" for path, block in blocks(config) if block.get(f"@{kind}") in names
    ]


def _thresholds(config: Config) -> list[str]:
    """The gate's."""
    pipes = config.get("components", {}).items()
    gates = [name for name, pipe in pipes if pipe.get("factory") == "longtail_sentence_gate"]
    return [f"components.{name}.threshold" for name in gates]


def _rates(config: Config) -> list[str]:
    place, rate = "training.optimizer.learn_rate", _get(config, "training.optimizer.learn_rate")
    if isinstance(rate, Mapping):
        place, rate = f"{place}.initial_rate", rate.get("initial_rate")
    return [place] if isinstance(rate, float) and rate > 0 else []


def _readers(config: Config) -> list[str]:
    """The training corpus, where its policy can be exchanged and nothing else is lost."""
    corpora = config.get("corpora", {})
    train, plain = corpora.get("train", {}), corpora.get("plain")
    is_resampled = train.get("@readers") == RESAMPLED and not train.get("augmenter")
    return ["corpora.train"] if plain is not None and (is_resampled or train == plain) else []


BASE = "or name a config that has it with --config."
NAMED = {
    "lam": Named(
        _arguments("losses", ("longtail.MoM.v1",), "lam"),
        (0.0, 1.0),
        "a loss longtail.MoM.v1",
        f"Choose --loss MoM, {BASE}",
        baseline=1.0,
    ),
    "gamma": Named(
        _arguments("losses", ("longtail.Focal.v1", "longtail.OneVersusRestFocal.v1"), "gamma"),
        (0.0, 10.0),
        "a loss longtail.Focal.v1 or longtail.OneVersusRestFocal.v1",
        f"Choose --loss focal, {BASE}",
        baseline=0.0,
    ),
    "beta": Named(
        _arguments("misc", ("longtail.log_inverse_frequency.v1",), "beta"),
        (1.0, 10.0),
        "class weights longtail.log_inverse_frequency.v1",
        f"Choose --loss weighted, {BASE}",
    ),
    "begin_weight": Named(
        _arguments("losses", (MARGIN, "longtail.TwoTaskCrossEntropy.v1"), "begin_weight"),
        (1.0, 1000.0),
        "a loss of two tasks, such as longtail.AUCMargin.v1",
        f"Choose --head two_task --loss AUC-2T, {BASE}",
        log=True,
    ),
    "cap": Named(
        _arguments("misc", tuple(f"longtail.{name}.v1" for name in POLICIES[1:]), "cap"),
        (2, 20),
        "a resampling policy, such as longtail.sCR.v1",
        f"Choose --reader sCR, add --search policy, {BASE}",
        whole=True,
    ),
    "threshold": Named(
        _thresholds,
        (0.05, 0.95),
        "a sentence gate and a head of two tasks",
        f"Choose --gate gated or --head two_task, {BASE}",
    ),
    RATE: Named(
        _rates,
        None,
        "a number as training.optimizer.learn_rate or its initial_rate",
        "Name the value itself, as SECTION.NAME=LOW:HIGH:log.",
        log=True,
    ),
}
USUAL = tuple(name for name in NAMED if name != RATE)  # searched if none is named
POLICY_WHERE = "corpora.plain, and as corpora.train the same or longtail.ResampledCorpus.v1 on it"


def named_places(name: str, config: Config) -> list[str]:
    """Where a config has a named parameter, as dotted names; none where it has no place for it."""
    return _readers(config) if name == POLICY else NAMED[name].find(config)


def explicit(config: Config) -> Config:
    """The same config, with a block where null stands for a loss that has a parameter."""
    own = Config(copy.deepcopy(dict(config)))
    found = [path for path, block in blocks(own) if block.get("@losses") == COMPOSITIONAL]
    for path in found:
        if not _get(own, f"{path}.auc"):
            apply(own, {f"{path}.auc": {"@losses": MARGIN}})
    return own


def with_policy(config: Config, name: str) -> Config:
    """The same config with another resampling policy; "plain" is the untouched training data."""
    own = Config(copy.deepcopy(dict(config)))
    is_resampled = own["corpora"]["train"].get("@readers") == RESAMPLED
    if name == "plain":
        if is_resampled:
            apply(own, {"corpora.train": own["corpora"]["plain"]})
        return own
    settings = known_choices()["reader"][name]
    if is_resampled:
        settings = {"corpora.train.repeats": settings["corpora.train"]["repeats"]}
    apply(own, settings)
    return own


def current(config: Config, place: str) -> Any:
    """A config's value, or what it is where the config leaves it out.

    config (Config): Interpolated. place (str): A dotted name; its block is there.
    """
    path, _, last = place.rpartition(".")
    block = _get(config, path) or {}
    if last in block:
        return block[last]
    for kind in ("losses", "misc"):
        if f"@{kind}" in block:
            made = getattr(registry, kind).get(block[f"@{kind}"])
            argument = inspect.signature(made).parameters.get(last)
            return None if argument is None else argument.default
    if "factory" in block and Language.has_factory(block["factory"]):  # which loads its module
        return (Language.get_factory_meta(block["factory"]).default_config or {}).get(last)
    return None


def is_written(config: Config, place: str) -> bool:
    """Whether a config has a value, if only null. place (str): A dotted name."""
    path, _, last = place.rpartition(".")
    return last in (_get(config, path) or {})


def _get(config: Any, place: str) -> Any:
    for name in place.split("."):
        config = config.get(name) if isinstance(config, Mapping) else None
    return config
