"""A plan of trials, read from YAML: methods, corpora, draws and seeds, all with equal steps."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...corpus.parts import with_name
from ...errors import Errors
from ...output.amounts import number
from ...types import Block, Overrides
from .compose import HERE, apply, compose, read_base
from .methods import TrialMethod, check_equal, read_methods
from .plan_file import beside, read_fields, read_yaml, unusable

PRESETS = HERE / "presets"
SEED = 0  # of all draws: partitions make them differ
PLAIN = "${corpora.plain}"
DRAWN = {"sizes", "shares", "n_sentences", "seeds"}  # fields that another kind of draw replaces


@dataclass(frozen=True)
class Draw:
    """Some of the training sentences."""

    n_sentences: int
    entity_share: float | None = None  # null is a uniform draw

    @property
    def x(self) -> tuple[str, float]:
        """What changes along a curve, and where on it this draw is."""
        if self.entity_share is None:
            return "sentences", self.n_sentences
        return "% entity tokens", 100 * self.entity_share

    def reader(self) -> Block:
        """The reader that draws it."""
        if self.entity_share is None:
            return {"@readers": "longtail.LowResourceCorpus.v1", "n_sentences": self.n_sentences}
        own = {"n_sentences": self.n_sentences, "entity_share": self.entity_share}
        return {"@readers": "longtail.ImbalancedCorpus.v1", **own}


def title_of(corpus: str, method: str, draw: Draw | None, seed: int) -> str:
    """A trial for people. RETURNS (str): Corpus, method, draw and seed."""
    drawn = "" if draw is None else f", {number(draw.n_sentences, 'sentence')}"
    share = "" if draw is None or draw.entity_share is None else f" with {draw.x[1]:g} % entity tokens"
    return f"{corpus}, {method}{drawn}{share}, seed {seed}"


class Trial(NamedTuple):
    corpus: Path
    method: TrialMethod
    seed: int
    draw: Draw | None

    @property
    def title(self) -> str:
        """Corpus, method, draw and seed, for people."""
        return title_of(self.corpus.name, self.method.name, self.draw, self.seed)

    def config(self) -> Config:
        """The complete config of the training."""
        config = compose(self.method.config, {}, {"system.seed": self.seed})
        if self.draw is not None:
            _set_draw(config, self.draw, self.seed, self.method.name)
        return config


class Plan(NamedTuple):
    corpora: list[Path]
    methods: list[TrialMethod]
    seeds: list[int]
    draws: list[Draw]  # none is all of the training data
    steps: int  # of every training; with patience at most
    baseline: str
    patience: int = 0  # steps without a better score on dev that end a training; 0: none do

    @property
    def schedule(self) -> str:
        """How long each training is, for people."""
        if not self.patience:
            return f"{number(self.steps, 'step')} each"
        until = f"each until it is no better on dev for {self.patience:,} steps"
        return f"{until}, {self.steps:,} at most"

    def trials(self) -> Iterator[Trial]:
        """All trials, those of one seed after the other, so that a table fills evenly."""
        draws: list[Draw | None] = [*self.draws] or [None]
        for seed, corpus, draw in itertools.product(self.seeds, self.corpora, draws):
            for method in self.methods:
                yield Trial(corpus, method, seed, draw)


def presets() -> list[str]:
    """The names of the plans that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.yml"))


def read_plan(source: str, given: Overrides | None = None) -> Plan:
    """Read a plan and check it.

    source (str): A YAML file, or the name of a preset.
    given (Optional[Overrides]): Values that replace the file's; settings are added to its own.
    RETURNS (Plan): The plan.
    """
    path = PRESETS / f"{source}.yml" if source in presets() else Path(source)
    if not path.is_file():
        fix = f"Name a YAML file or a preset: {', '.join(presets())}."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    own = {name: value for name, value in (given or {}).items() if value is not None}
    fields = read_fields(_overridden(read_yaml(path), own), path)
    settings = {**fields.settings, "training.max_steps": fields.steps}
    if fields.patience:  # without one a config that has its own is refused
        settings["training.patience"] = fields.patience
    methods = read_methods(fields, read_base(beside(path, fields.config)), settings, path)
    if not methods:
        raise unusable(path, "it has no method.")
    check_equal(methods, fields.steps, fields.patience, path)
    names = [method.name for method in methods]
    baseline = fields.baseline or names[0]
    if baseline not in names:
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=", ".join(names)))
    corpora = [with_name(Path(corpus)) for corpus in fields.corpora]
    draws: list[Draw] = [Draw(size) for size in sorted(fields.sizes)]
    draws += [Draw(fields.n_sentences, share) for share in sorted(fields.shares)]
    return Plan(corpora, methods, fields.seed_list, draws, fields.steps, baseline, fields.patience)


def _overridden(found: Overrides, given: Overrides) -> Overrides:
    """A plan with values of the command line: each replaces those that it has no place beside."""
    replaced = set(DRAWN) if {"sizes", "shares"} & set(given) else set()
    if "steps" in given:
        replaced.add("patience")
    kept = {name: value for name, value in found.items() if name not in replaced}
    own = found.get("settings", {})
    if isinstance(own, dict):  # else the check of the fields refuses it
        own = {**own, **given.get("settings", {})}
    return {**kept, **given, "settings": own}


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Let every reader of the training data read the draw."""
    plain, train = config["corpora"].get("plain"), config["corpora"]["train"]
    reads = json.dumps(train, default=str)
    if plain is None or not (train == plain or (PLAIN in reads and "${paths.train}" not in reads)):
        problem = "no part of its training data can be drawn: corpora.train must read ${corpora.plain}."
        raise unusable(f"the method {name!r}", problem)
    drawn = {**draw.reader(), "corpus": plain, "partition": partition, "seed": SEED}
    apply(config, {"corpora.plain": drawn})
    if train == plain:
        apply(config, {"corpora.train": drawn})
