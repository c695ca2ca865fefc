"""Trial: a training of one method on one corpus or sample with one seed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...output.console import number
from ...types import Block
from ..configs.compose import apply, compose
from .plan_file import invalid_plan

SEED = 0  # random seed of all samples, which differ by their partition
PLAIN = "${corpora.plain}"


@dataclass(frozen=True)
class Draw:
    """Random sample of the training sentences."""

    n_sentences: int
    entity_share: float | None = None  # fraction of entity tokens; null is a uniform sample

    @property
    def x(self) -> tuple[str, float]:
        """Return the name of the learning curve's x axis, and the value of this sample."""
        if self.entity_share is None:
            return "sentences", self.n_sentences
        return "% entity tokens", 100 * self.entity_share

    def reader(self) -> Block:
        """Return the config block of the reader that draws this sample."""
        name = "LowResourceCorpus" if self.entity_share is None else "ImbalancedCorpus"
        settings = {key: value for key, value in asdict(self).items() if value is not None}
        return {"@readers": f"longtail.{name}.v1", **settings}


def title_of(corpus: str, method: str, draw: Draw | None, seed: int) -> str:
    """Return the title of a trial.

    corpus (str): Name of the corpus.
    method (str): Name of the method.
    draw (Optional[Draw]): Sample of the training sentences, or None for all of them.
    seed (int): Random seed of the training.
    RETURNS (str): Corpus, method, sample and seed.
    """
    drawn = "" if draw is None else f", {number(draw.n_sentences, 'sentence')}"
    share = "" if draw is None or draw.entity_share is None else f" with {draw.x[1]:g} % entity tokens"
    return f"{corpus}, {method}{drawn}{share}, seed {seed}"


class TrialMethod(NamedTuple):
    """Method of a plan."""

    name: str
    choices: dict[str, str]  # by axis; empty for a method with its own config
    config: Config  # not interpolated


class Trial(NamedTuple):
    """One training of a plan."""

    corpus: Path
    method: TrialMethod
    seed: int
    draw: Draw | None

    @property
    def title(self) -> str:
        """Return corpus, method, sample and seed, for people."""
        return title_of(self.corpus.name, self.method.name, self.draw, self.seed)

    def make_config(self) -> Config:
        """Return the complete config of the training, not interpolated."""
        config = compose(self.method.config, {}, {"system.seed": self.seed})
        if self.draw is not None:
            _set_draw(config, self.draw, self.seed, self.method.name)
        return config


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Replace the training data of a config by a sample.

    config (Config): The config, changed in place.
    draw (Draw): The sample.
    partition (int): Number of the sample; each number gives another one.
    name (str): Name of the method, for messages.
    """
    plain, train = config["corpora"].get("plain"), config["corpora"]["train"]
    reads = json.dumps(train, default=str)
    if plain is None or not (train == plain or (PLAIN in reads and "${paths.train}" not in reads)):
        raise invalid_plan(
            f"the method {name!r}",
            "no part of its training data can be drawn: corpora.train must read ${corpora.plain}.",
        )
    drawn = {**draw.reader(), "corpus": plain, "partition": partition, "seed": SEED}
    apply(config, {"corpora.plain": drawn, **({"corpora.train": drawn} if train == plain else {})})
