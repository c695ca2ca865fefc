"""The package's CNN: batches of donors, each masked to its own types."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Optimizer

from ...corpus.cutting import bare
from ...pipes.token_ner import TokenNER
from ...training.averages import keep
from .batches import batches
from .donors import Donor, joint_types
from .learner import Options
from .records import DonorScore, Progress
from .scoring import score_donors
from .state import load_state, save_state

STEPS, WORDS = 20_000, 1_000
N_SAMPLE = 10  # documents that the model is initialized with


class Built(NamedTuple):
    """A pipeline that is not initialized."""

    nlp: Language
    optimizer: Optimizer
    dropout: float


class CNN:
    """A learner. What a step does depends on its number and the seed alone."""

    def __init__(self, built: Built, donors: list[Donor], options: Options, words: int) -> None:
        self.nlp, self.optimizer, self.dropout = built
        self.donors, self.options, self.words = donors, options, words
        self.stream: Iterator[list[Doc]] | None = None
        _initialize(self.nlp, donors)

    def batches(self, start: int) -> Iterator[list[Doc]]:
        """The batches from a step on. start (int): Its number."""
        lengths = [[len(doc) for doc in donor.train] for donor in self.donors]
        drawn = batches(lengths, self.words, self.options.power, self.options.seed, start)
        for i, chosen in drawn:
            yield [self.donors[i].train[k] for k in chosen]

    def step(self, step: int) -> float:
        """One update. step (int): Its number. RETURNS (float): The loss of a word."""
        if self.stream is None:
            self.stream = self.batches(step)
        docs = next(self.stream)
        fix_random_seed((self.options.seed * 1_000_003 + step) % 2**31)  # dropout, when resumed too
        losses: dict[str, float] = {}
        # with sgd, nlp.update would step the encoder a batch late
        batch = [example(doc) for doc in docs]
        self.nlp.update(batch, drop=self.dropout, sgd=False, losses=losses)  # type: ignore[arg-type]
        for _, pipe in self.nlp.pipeline:
            if isinstance(pipe, TrainablePipe):
                pipe.finish_update(self.optimizer)
        self.optimizer.step_schedules()
        return losses["ner"] / max(sum(map(len, docs)), 1)

    def scores(self, most: int | None = None) -> list[DonorScore]:
        """F1 on each donor's sentences that are not trained on. most (Optional[int]): Of each donor."""
        with self.nlp.use_params(self.optimizer.averages or {}):
            return score_donors(self.nlp, [d._replace(dev=d.dev[:most]) for d in self.donors])

    def save(self, folder: Path, progress: Progress) -> None:
        """Write the state."""
        save_state(folder, self.nlp, self.optimizer, progress)

    def load(self, folder: Path) -> Progress | None:
        """Take up a state; null if there is none. RAISES (ValueError): L496."""
        progress = load_state(folder, self.nlp, self.optimizer)
        for _ in range(progress.step if progress else 0):
            self.optimizer.step_schedules()
        return progress

    def finish(self) -> Language:
        """The pipeline, with the weights to keep."""
        keep(self.nlp, self.optimizer.averages or {})
        return self.nlp


def _initialize(nlp: Language, donors: list[Donor]) -> None:
    docs = [doc for donor in donors for doc in donor.train[:N_SAMPLE]]
    texts = joint_types(donors)
    ner = cast(TokenNER, nlp.get_pipe("ner"))
    settings = {"labels": list(texts), "descriptions": texts}
    nlp.config["initialize"]["components"]["ner"] = settings
    sample = [example(doc) for doc in docs]
    ner.cfg["descriptions"] = texts
    nlp.initialize(lambda: sample)


def example(doc: Doc) -> Example:
    """A sentence without its entities, and with them."""
    return Example(bare(doc), doc)
