"""Checks that run parts of a config: its readers, its scorers, and one update."""

import contextlib
import io
import math
import warnings
from itertools import islice

from spacy.training import Example
from spacy.training.initialize import init_nlp

from ...pipes.numpy_blas import CALLBACK, numpy_speedup, uses_blis
from ...readers.base import check_dev_corpus
from ..train import message_of, uncomputed_scores
from .checks import N_READ, BuiltConfig, Said, check, listed

N_UPDATE = 8  # examples
MUCH_FASTER = 1.5  # times as fast: worth another draw of the training


@check("Readers")
def check_readers(built: BuiltConfig) -> Said:
    for kind in ("train_corpus", "dev_corpus"):
        name = built.training[kind]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with contextlib.redirect_stdout(io.StringIO()):  # a reader may print what it does
                    examples = list(islice(built.reader(kind)(built.nlp), N_READ))
        except Exception as error:  # any reader, any error
            yield "fail", f"{name} cannot be read: {message_of(error)}"
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
def check_dev(built: BuiltConfig) -> Said:
    try:
        check_dev_corpus(built.nlp)
    except ValueError as error:
        yield "fail", str(error)


@check("Speed")
def check_products(built: BuiltConfig) -> Said:
    """Whether spaCy's matrix products are slow on this CPU."""
    if not uses_blis(built.nlp):
        return
    if (ratio := numpy_speedup()) >= MUCH_FASTER:
        text = f"NumPy multiplies matrices {ratio:.1f} times as fast as spaCy's BLIS on this machine"
        block = f'[nlp.after_pipeline_creation] @callbacks = "{CALLBACK}"'
        yield "info", f"{text}: use it with {block}."


@check("Scores")
def check_scores(built: BuiltConfig) -> Said:
    weights = built.training["score_weights"]
    if not any(weights.values()):
        yield "fail", "No score has a weight above 0 in [training.score_weights]: any model is the best."
        return
    try:
        lost, known = uncomputed_scores(built.nlp, built.reader("dev_corpus"), weights)
    except Exception as error:  # any scorer, any error
        yield "fail", f"Scoring fails: {message_of(error)}"
        return
    if lost:
        text = f"[training.score_weights] weighs scores that nothing computes: {listed(lost)}"
        yield "fail", f"{text}. Computed: {listed(known)}."
        return
    total = sum(weight or 0.0 for weight in weights.values())
    shares = (f"{100 * weight / total:.3g} % {name}" for name, weight in weights.items() if weight)
    yield "good", f"Checkpoints are chosen by {', '.join(shares)}."


@check("Update")
def check_update(built: BuiltConfig) -> Said:
    """Initialize as `spacy train` does, and train one batch."""
    training, losses = built.training, dict[str, float]()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            nlp = init_nlp(built.given)
            batch = list(islice(built.reader("train_corpus")(nlp), N_UPDATE))
            frozen, annotating = (training[f"{k}_components"] for k in ("frozen", "annotating"))
            nlp.update(batch, losses=losses, exclude=frozen, annotates=annotating)
    except Exception as error:  # any component, any error
        yield "fail", f"The first update fails: {message_of(error)}"
        return
    shown = ", ".join(f"{name} {loss:.4g}" for name, loss in losses.items())
    if all(math.isfinite(loss) for loss in losses.values()):
        yield "good", f"One update of {len(batch)} examples has finite losses: {shown}."
    else:
        yield "fail", f"The first update has no finite loss: {shown}. Lower weights or learning rate."
