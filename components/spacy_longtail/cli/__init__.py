"""The commands: `python -m spacy_longtail ...`. Thin: parse, call the package, print."""

from . import (  # noqa: F401  # each adds its command
    audit,
    card,
    convert,
    cost,
    curve,
    debug,
    distil,
    distil_vectors,
    ensemble,
    evaluate,
    extend,
    matrix,
    merge,
    mine,
    pretrain,
    recommend,
    report,
    split,
    stats,
    thresholds,
    train,
    tune,
)
from .app import app as app


def main() -> None:
    """Entry point of `python -m spacy_longtail`."""
    app(prog_name="python -m spacy_longtail")
