"""Checks that run parts of a config: its readers, its scorers, and one update."""

import contextlib
import io
import math
import warnings
from collections.abc import Iterator
from itertools import islice

from spacy.scorer import Scorer
from spacy.training import Example
from spacy.training.initialize import init_nlp

from ...readers.base import check_dev_corpus
from .checks import Said, check
from .trial import N_READ, Trial, listed, words_of

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


@check("Scores", "The score that chooses the best model is there.")
def check_scores(trial: Trial) -> Said:
    weights = {key: w for key, w in trial.training["score_weights"].items() if w}
    if not weights:
        yield "fail", "No score has a weight above 0 in [training.score_weights]: any model is the best."
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on so few examples
            scores = Scorer(trial.nlp).score(list(islice(_perfect(trial), N_READ)))
    except Exception as error:  # any scorer, any error
        yield "fail", f"Scoring fails: {words_of(error)}"
        return
    lost = [key for key in weights if scores.get(key) is None]
    if lost:
        known = listed(key for key, value in scores.items() if isinstance(value, (int, float)))
        text = f"[training.score_weights] weighs scores that nothing computes: {listed(lost)}"
        yield "fail", f"{text}. Computed: {known}."


def _perfect(trial: Trial) -> Iterator[Example]:
    """Examples of dev with the right answers as predictions: a scorer needs no trained model."""
    for eg in trial.reader("dev_corpus")(trial.nlp):
        yield Example(eg.reference.copy(), eg.reference)


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
