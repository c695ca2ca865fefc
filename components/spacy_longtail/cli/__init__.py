"""Commands of `python -m spacy_longtail`: each parses options, calls the package and prints."""

from collections.abc import Sequence

from . import (  # importing a module registers its command
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
    """Run a command of `python -m spacy_longtail`, `longtail` or `spacy longtail`.

    args (Optional[Sequence[str]]): Arguments after the program's name. By default, those of the
        process.
    prog_name (str): Name of the program in help texts.
    """
    app(args=args, prog_name=prog_name)


def longtail() -> None:
    """Run a command of the console script `longtail`."""
    main(prog_name="longtail")
