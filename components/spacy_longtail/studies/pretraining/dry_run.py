"""What a pretraining would read and train, and how long it would take."""

import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter

from pydantic import JsonValue

from ...output.estimates import Estimate, Outlook, Stage
from ...training.probe import DOCS, time_steps
from .donors import said
from .learner import Learner, Options
from .records import Progress
from .run import STATE, interval, prepared, settled


def pretraining_outlook(
    folders: list[Path], output: Path, options: Options, exclude: list[Path], say: Callable[[str], None]
) -> Outlook:
    """The donors, and how long their pretraining would take: a few steps are taken. Nothing is written.

    Arguments as `pretrain` has them.
    RETURNS (Outlook): Its data has the donors. RAISES (ValueError): Those of `pretrain`, without L498.
    """
    found = settled(folders, output, options, exclude)
    head = f"{found.steps:,} steps of {options.words:,} subwords"
    if found.is_finished:
        return Outlook([head], [Stage("training", 0, "steps", None)])
    say("Reading the donors")
    own = prepared(folders, found, options, exclude)
    progress = own.load(output / STATE) or Progress()
    facts = [head]
    if progress.step:
        facts.append(f"{progress.step:,} steps are done.")
    every = interval(found.steps, options.evaluations)
    n_left = found.steps - progress.step
    n_scored = found.steps // every - progress.step // every + bool(n_left and found.steps % every)
    say("Measuring a few steps")
    step = _step(own, progress.step) if n_left else None
    scoring = _scoring(own) if n_scored else None
    stages = [
        Stage("training", n_left, "steps", step),
        Stage("scoring the donors", n_scored, "evaluations", scoring),
    ]
    lines = [said(donor, bool(exclude)) for donor in own.donors]
    donors: list[JsonValue] = [
        {
            "name": donor.name,
            "sentences": len(donor.train),
            "types": len(donor.descriptions),
            "left_out": donor.n_excluded,
        }
        for donor in own.donors
    ]
    return Outlook(facts, stages, lines=lines, data={"donors": donors, "steps": found.steps})


def _step(own: Learner, at: int) -> Estimate:
    """One update, of any donor. at (int): The first step's number."""
    begin = perf_counter()
    _, seconds, n = time_steps((float(own.step(step)) for step in count(at)), begin)
    return Estimate(seconds, f"measured on {n} step{'s' * (n > 1)}")


def _scoring(own: Learner) -> Estimate:
    """All donors scored once."""
    n_words, n_read = (
        sum(len(doc) for d in own.donors for doc in d.dev[:most]) for most in (None, DOCS)
    )
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few sentences lack types
        n_sentences = sum(score.sentences for score in own.scores(DOCS))
    seconds = (perf_counter() - begin) * n_words / max(n_read, 1)
    return Estimate(seconds, f"measured on {n_sentences:,} sentences")
