"""Checks that run parts of a config: its readers, its scorers, and one update."""

import contextlib
import io
import math
import warnings
from itertools import islice

from spacy.training import Example
from spacy.training.initialize import init_nlp

from ...readers.base import check_dev_corpus
from ..train import uncomputed_scores, words_of
from .checks import Said, check
from .trial import N_READ, Trial, listed

N_UPDATE = 8  # examples


@check("Readers")
def check_readers(trial: Trial) -> Said:
    for kind in ("train_corpus", "dev_corpus"):
        name = trial.training[kind]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with contextlib.redirect_stdout(io.StringIO()):  # a reader may print what it does
                    examples = list(islice(trial.reader(kind)(trial.nlp), N_READ))
        except Exception as error:  # any reader, any error
            yield "fail", f"{name} cannot be read: {words_of(error)}"
            continue
        yield from (("warn", str(warning.message)) for warning in caught)
        if not examples:
            yield "fail", f"{name} yields no example."
        elif any(not isinstance(eg, Example) for eg in examples):
            yield "fail", f"{name} yields {type(examples[0]).__name__}, not Example."
        else:
            more = " or more" if len(examples) == N_READ else ""
            yield "good", f"{name} yields {len(examples)} examples{more}."


@check("Readers", "The dev corpus is read as it is.")
def check_dev(trial: Trial) -> Said:
    try:
        check_dev_corpus(trial.nlp)
    except ValueError as error:
        yield "fail", str(error)


@check("Scores")
def check_scores(trial: Trial) -> Said:
    weights = trial.training["score_weights"]
    if not any(weights.values()):
        yield "fail", "No score has a weight above 0 in [training.score_weights]: any model is the best."
        return
    try:
        lost, known = uncomputed_scores(trial.nlp, trial.reader("dev_corpus"), weights)
    except Exception as error:  # any scorer, any error
        yield "fail", f"Scoring fails: {words_of(error)}"
        return
    if lost:
        text = f"[training.score_weights] weighs scores that nothing computes: {listed(lost)}"
        yield "fail", f"{text}. Computed: {listed(known)}."
        return
    total = sum(weight or 0.0 for weight in weights.values())
    shares = (f"{100 * weight / total:.3g} % {name}" for name, weight in weights.items() if weight)
    yield "good", f"Checkpoints are chosen by {', '.join(shares)}."


@check("Update")
def check_update(trial: Trial) -> Said:
    """Initialize as `spacy train` does, and train one batch."""
    training, losses = trial.training, dict[str, float]()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            nlp = init_nlp(trial.given)
            batch = list(islice(trial.reader("train_corpus")(nlp), N_UPDATE))
            frozen, annotating = (training[f"{k}_components"] for k in ("frozen", "annotating"))
            nlp.update(batch, losses=losses, exclude=frozen, annotates=annotating)
    except Exception as error:  # any component, any error
        yield "fail", f"The first update fails: {words_of(error)}"
        return
    shown = ", ".join(f"{name} {loss:.4g}" for name, loss in losses.items())
    if all(math.isfinite(loss) for loss in losses.values()):
        yield "good", f"One update of {len(batch)} examples has finite losses: {shown}."
    else:
        yield "fail", f"The first update has no finite loss: {shown}. Lower weights or learning rate."
