"""The commands: `python -m spacy_longtail ...`. Thin: parse, call the package, print."""

from . import (  # each registers itself
    audit,
    card,
    convert,
    debug,
    evaluate,
    matrix,
    report,
    split,
    stats,
    thresholds,
    train,
)
from .app import app

__all__ = [
    "app",
    "audit",
    "card",
    "convert",
    "debug",
    "evaluate",
    "main",
    "matrix",
    "report",
    "split",
    "stats",
    "thresholds",
    "train",
]


def main() -> None:
    """Entry point of `python -m spacy_longtail`."""
    app(prog_name="python -m spacy_longtail")
