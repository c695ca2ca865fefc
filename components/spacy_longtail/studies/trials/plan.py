"""A plan of trials, read from YAML: methods, corpora, draws and seeds, all with equal steps."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...corpus.parts import with_name
from ...errors import Errors
from ...output.amounts import number
from ...types import Overrides
from .compose import HERE, apply, compose, read_base
from .draws import SEED, Draw, title_of
from .methods import Method, check_equal, read_methods
from .plan_file import DRAWN, MOST_TRIALS, NEEDED, PATIENCE, beside, read_fields, read_yaml, unusable

PRESETS = HERE / "presets"
PLAIN = "${corpora.plain}"


class Trial(NamedTuple):
    corpus: Path
    method: Method
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
    methods: list[Method]
    seeds: list[int]
    draws: list[Draw]  # none is all of the training data
    steps: int  # of every training; with patience at most
    baseline: str
    patience: int = 0  # steps without a better score on dev that end a training; 0: equal steps for all
    is_needed: bool = False  # only to find out the equal steps: those of the method that needs the most

    @property
    def schedule(self) -> str:
        """How long each training is, for people."""
        if not self.patience:
            return f"{number(self.steps, 'step')} each"
        until = f"each until it is no better on dev for {self.patience:,} steps"
        return f"{until}, {self.steps:,} at most"

    def first_seed(self) -> "Plan":
        """The plan with its first seed alone."""
        return self._replace(seeds=self.seeds[:1], is_needed=False)

    def at_equal_steps(self, steps: int) -> "Plan":
        """The plan with the same number of steps for all.

        steps (int): Of every training.
        """
        own = {"training.max_steps": steps, "training.patience": 0}
        methods = [m._replace(config=compose(m.config, {}, own)) for m in self.methods]
        return self._replace(methods=methods, steps=steps, patience=0, is_needed=False)

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
    RETURNS (Plan): The plan. RAISES (ValueError): L402, L470, L471, L472, L473, L474.
    """
    path = PRESETS / f"{source}.yml" if source in presets() else Path(source)
    found = _overridden(_read(path), {k: v for k, v in (given or {}).items() if v is not None})
    fields = read_fields(found, path)
    steps, patience = fields.max_steps, fields.patience
    if fields.is_needed and not patience:
        patience = PATIENCE
    settings = {**fields.settings, "training.max_steps": steps}
    if patience:  # without one a config that has its own is refused
        settings["training.patience"] = patience
    base = read_base(beside(path, fields.config))
    methods = read_methods(fields, base, settings, path)
    if not methods:
        raise unusable(path, "it has neither grids nor methods.")
    check_equal(methods, steps, patience)
    frequency = methods[0].config["training"]["eval_frequency"]
    if 0 < patience < 2 * frequency:
        raise unusable(path, f"patience must be two evaluations at least, {2 * frequency} steps.")
    names = [method.name for method in methods]
    baseline = fields.baseline or names[0]
    if baseline not in names:
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=", ".join(names)))
    corpora = [with_name(Path(corpus)) for corpus in fields.corpora]
    draws: list[Draw] = [Draw(size) for size in sorted(fields.sizes)]
    draws += [Draw(fields.n_sentences, share) for share in sorted(fields.shares)]
    seeds = fields.seed_list
    n_trials = len(methods) * len(seeds) * max(len(corpora), 1) * max(len(draws), 1)
    if n_trials > MOST_TRIALS:
        raise unusable(path, f"it has {n_trials:,} trials, and a plan has {MOST_TRIALS:,} at most.")
    return Plan(corpora, methods, seeds, draws, steps, baseline, patience, fields.is_needed)


def _read(path: Path) -> Overrides:
    if not path.is_file():
        known = ", ".join(presets())
        raise ValueError(Errors.L402.format(path=path, fix=f"Name a YAML file or a preset: {known}."))
    return read_yaml(path)


def _overridden(found: Overrides, given: Overrides) -> Overrides:
    """A plan with values of the command line: each replaces those that it has no place beside."""
    replaced: set[str] = set()
    if set(DRAWN) & set(given):
        replaced |= {*DRAWN, "n_sentences", "seeds"}
        if found.get("steps") == NEEDED:
            replaced |= {"steps", "patience", "most_steps"}
    if given.get("steps", NEEDED) != NEEDED:
        replaced |= {"patience", "most_steps"}
    kept = {name: value for name, value in found.items() if name not in replaced}
    own = found.get("settings", {})
    if isinstance(own, dict):  # else the check of the fields refuses it
        own = {**own, **given.get("settings", {})}
    return {**kept, **given, "settings": own}


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Let every reader of the training data read the draw. RAISES (ValueError): L475."""
    plain = config["corpora"].get("plain")
    train = config["corpora"]["train"]
    reads = json.dumps(train, default=str)
    is_through = train == plain or (PLAIN in reads and "${paths.train}" not in reads)
    if plain is None or not is_through:
        raise ValueError(Errors.L475.format(method=name))
    drawn = {**draw.reader(), "corpus": plain, "partition": partition, "seed": SEED}
    apply(config, {"corpora.plain": drawn})
    if train == plain:
        apply(config, {"corpora.train": drawn})
