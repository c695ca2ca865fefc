"""The parts of the training data that trials are trained on; a trial's seed is its partition."""

from dataclasses import dataclass

from ...output.amounts import number
from ...types import Block

SEED = 0  # of all draws: partitions make them differ


@dataclass(frozen=True)
class Draw:
    """Some of the training sentences."""

    n_sentences: int
    entity_share: float | None = None  # null is a uniform draw

    @property
    def title(self) -> str:
        """For people."""
        share = "" if self.entity_share is None else f" with {100 * self.entity_share:g} % entity tokens"
        return f"{number(self.n_sentences, 'sentence')}{share}"

    @property
    def x(self) -> float:
        """Where it stands on a curve."""
        return self.n_sentences if self.entity_share is None else 100 * self.entity_share

    @property
    def x_name(self) -> str:
        """What `x` is."""
        return "sentences" if self.entity_share is None else "% entity tokens"

    def reader(self) -> Block:
        """The reader that draws it."""
        name = "LowResourceCorpus" if self.entity_share is None else "ImbalancedCorpus"
        share = {} if self.entity_share is None else {"entity_share": self.entity_share}
        return {"@readers": f"longtail.{name}.v1", "n_sentences": self.n_sentences, **share}


def title_of(corpus: str, method: str, draw: Draw | None, seed: int) -> str:
    """A trial for people. RETURNS (str): Corpus, method, draw and seed."""
    drawn = "" if draw is None else f", {draw.title}"
    return f"{corpus}, {method}{drawn}, seed {seed}"
