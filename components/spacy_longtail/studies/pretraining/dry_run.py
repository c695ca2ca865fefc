"""What a pretraining would read and train, and how long it would take."""

import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from pydantic import JsonValue

from ...output.estimates import Estimate, Outlook, Stage
from ...training.probe import DOCS, time_steps
from .records import Progress
from .run import STATE, Options, Prepared, in_words, prepared, settled
from .scoring import score_donors
from .state import load_state


def pretraining_outlook(
    folders: list[Path], output: Path, options: Options, exclude: list[Path], say: Callable[[str], None]
) -> Outlook:
    """The donors, and how long their pretraining would take: a few steps are taken. Nothing is written.

    Arguments as `pretrain` has them.
    RETURNS (Outlook): Its data has the donors. RAISES (ValueError): Those of `pretrain`, without L498.
    """
    found = settled(folders, output, options, exclude)
    head = f"{found.steps:,} steps of {found.words:,} words"
    if found.is_finished:
        return Outlook([head], [Stage("training", 0, "steps", None)])
    say("Reading the donors")
    own = prepared(folders, found, options, exclude)
    progress = load_state(output / STATE, own.nlp, own.optimizer) or Progress()
    facts = [head]
    if progress.step:
        facts.append(f"{progress.step:,} steps are done.")
    every = own.training.every
    n_left = found.steps - progress.step
    n_scored = found.steps // every - progress.step // every + bool(n_left and found.steps % every)
    say("Measuring a few steps")
    step = _step(own, progress.step) if n_left else None
    scoring = _scoring(own) if n_scored else None
    stages = [
        Stage("training", n_left, "steps", step),
        Stage("scoring the donors", n_scored, "evaluations", scoring),
    ]
    lines = [in_words(donor, bool(exclude)) for donor in own.donors]
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


def _step(own: Prepared, at: int) -> Estimate:
    """One update, of any donor. at (int): The first step's number."""
    begin = perf_counter()
    steps = (own.training.step(docs, at) for docs in own.training.batches(at))
    _, seconds, n = time_steps(steps, begin)
    return Estimate(seconds, f"measured on {n} step{'s' * (n > 1)}")


def _scoring(own: Prepared) -> Estimate:
    """All donors scored once."""
    some = [donor._replace(dev=donor.dev[:DOCS]) for donor in own.donors]
    n_words, n_read = (sum(len(doc) for d in of for doc in d.dev) for of in (own.donors, some))
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few sentences lack types
        score_donors(own.nlp, some)
    seconds = (perf_counter() - begin) * n_words / max(n_read, 1)
    return Estimate(seconds, f"measured on {sum(len(d.dev) for d in some):,} sentences")
