"""The commands: `python -m spacy_longtail ...`. Thin: parse, call the package, print."""

from . import convert, evaluate, report, stats, train  # each registers itself
from .app import app

__all__ = ["app", "convert", "evaluate", "main", "report", "stats", "train"]


def main() -> None:
    """Entry point of `python -m spacy_longtail`."""
    app(prog_name="python -m spacy_longtail")
