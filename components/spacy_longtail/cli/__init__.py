"""The commands: `python -m spacy_longtail ...`. Thin: parse, call the package, print."""

from collections.abc import Sequence

from . import (  # each adds its command
    audit,
    convert,
    distil,
    ensemble,
    evaluate,
    init_config,
    matrix,
    merge,
    mine,
    pretrain,
    recommend,
    split,
    stats,
    thresholds,
    train,
    tune,
)
from .app import app as app


def main(args: Sequence[str] | None = None, prog_name: str = "python -m spacy_longtail") -> None:
    """Entry point of `python -m spacy_longtail`, `longtail` and `spacy longtail`.

    args (Optional[Sequence[str]]): What follows the program's name; else of the process.
    prog_name (str): What help calls the program.
    """
    app(args=args, prog_name=prog_name)


def longtail() -> None:
    """Entry point of the console script."""
    main(prog_name="longtail")
