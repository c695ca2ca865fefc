"""A training probed: a few updates and a few documents scored, to know how long all of it would take."""

import io
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_train_batches, train_while_improving
from spacy.util import registry, resolve_dot_names
from thinc.api import Config

from ..errors import Errors
from .train import message_of

WARM, UPDATES = 2, 10  # updates before those that are measured, and those
LONGEST = 6.0  # seconds of updates, after which no more are measured
DOCS, WORDS = 30, 3000  # of dev that are scored, at most


class Probe(NamedTuple):
    """What a training was measured to take, in seconds, and how much of each there is."""

    start: float  # until the first update
    update: float
    save: float  # writing the pipeline once
    word: float  # predicting and scoring a word
    updates: int | None  # of the training; null if nothing but its patience ends it
    eval_frequency: int  # updates from one evaluation on dev to the next
    dev_words: int
    patience: int  # updates without a better score that end it; 0 for none

    def least(self, scored_words: int = 0) -> float:
        """Seconds of the training if it is never better than at first; 0 if nothing ends it.

        scored_words (int): Of the parts that are scored when it is over.
        """
        ends = [n for n in (self.updates, self.patience + 1 if self.patience else None) if n]
        if not ends:
            return 0.0
        updates = min(ends)
        evaluations = (updates - 1) // self.eval_frequency + 1  # one before the first update is over
        evaluated = evaluations * (self.dev_words * self.word + self.save)
        return self.start + updates * self.update + evaluated + scored_words * self.word


def probe_training(config: Config, gpu_id: int = -1) -> Probe:
    """Initialize a pipeline as a training does, take a few updates, and score a few documents.

    config (Config): As `load_filled` gives it, not interpolated. gpu_id (int): -1 is the CPU.
    RETURNS (Probe): What it took. Nothing is kept, nor written outside a temporary folder.
    """
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # readers print
            warnings.simplefilter("ignore")  # the training gives them
            return _probed(config, gpu_id)
    except Exception as error:  # a config can name any function, and each fails in its own way
        raise ValueError(Errors.L564.format(problem=message_of(error))) from error


def _probed(config: Config, gpu_id: int) -> Probe:
    begin = perf_counter()
    nlp = init_nlp(config, use_gpu=gpu_id)
    filled = nlp.config.interpolate()
    training = registry.resolve(filled["training"], schema=ConfigSchemaTraining)
    train, dev = resolve_dot_names(filled, [training["train_corpus"], training["dev_corpus"]])
    batches = create_train_batches(nlp, train, training["batcher"], training["max_epochs"])
    steps = train_while_improving(
        nlp,
        training["optimizer"],
        batches,
        lambda: (0.0, {}),  # scored below
        dropout=training["dropout"],
        eval_frequency=training["eval_frequency"],
        accumulate_gradient=training["accumulate_gradient"],
        patience=0,
        max_steps=WARM + UPDATES,
        exclude=training["frozen_components"],
        annotating_components=training["annotating_components"],
        before_update=training["before_update"],
    )
    start, update = time_steps(steps, begin)
    examples = list(dev(nlp))
    word = _seconds_per_word(nlp, examples)
    with tempfile.TemporaryDirectory(prefix="longtail-") as folder:
        begin = perf_counter()
        nlp.to_disk(Path(folder) / "model")
        save = perf_counter() - begin
    updates = _updates(training, lambda: sum(1 for _ in training["batcher"](list(train(nlp)))))
    dev_words = sum(len(eg.reference) for eg in examples)
    every, patience = training["eval_frequency"], training["patience"]
    return Probe(start, update, save, word, updates, every, dev_words, patience)


def time_steps(steps: Iterable[object], begin: float) -> tuple[float, float]:
    """Take a few updates.

    steps (Iterable): Takes an update whenever it is asked for the next. begin (float): `perf_counter`
        before they were made ready.
    RETURNS (Tuple[float, float]): Seconds until the first, and of one.
    """
    ends: list[float] = []
    for _ in steps:
        ends.append(perf_counter())
        n = len(ends) - WARM
        if n == UPDATES or (n > 0 and ends[-1] - ends[0] > LONGEST):
            break
    warm = ends[:WARM][-1] if len(ends) > WARM else ends[0]  # an epoch may have fewer batches
    n_measured = len(ends) - ends.index(warm) - 1
    if not n_measured:
        return 0.0, ends[0] - begin
    update = (ends[-1] - warm) / n_measured
    return max(ends[0] - begin - update, 0.0), update


def _seconds_per_word(nlp: Language, examples: Sequence[Example]) -> float:
    """Of predicting and scoring, on examples from all over the part."""
    sample: list[Example] = []
    for eg in examples[:: max(len(examples) // DOCS, 1)]:
        if len(sample) < DOCS and sum(len(own.reference) for own in sample) < WORDS:
            sample.append(eg)
    n_words = sum(len(eg.reference) for eg in sample)
    if not n_words:
        return 0.0
    nlp.evaluate(sample[:1])  # what is made once
    begin = perf_counter()
    nlp.evaluate(sample)
    return (perf_counter() - begin) / n_words


def _updates(training: dict[str, object], per_epoch: Callable[[], int]) -> int | None:
    """Of a training, at most; null if nothing but its patience ends it."""
    steps, epochs = training["max_steps"], training["max_epochs"]
    ends = []
    if isinstance(steps, int) and steps > 0:
        ends.append(steps + 1)  # spaCy counts from 0
    if isinstance(epochs, int) and epochs > 0:
        ends.append(epochs * per_epoch())
    return min(ends) if ends else None
