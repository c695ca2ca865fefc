"""Which library multiplies a training's matrices."""

from enum import Enum

from spacy.language import Language
from thinc.api import Config
from wasabi import msg

from ..pipes.numpy_blas import CALLBACK, numpy_speedup, uses_blis
from ..types import Block

MUCH_FASTER = 1.5  # times as fast: worth another draw of the training
CREATED = "after_pipeline_creation"  # the setting of [nlp] that takes NumPy's products


class Products(str, Enum):
    """spaCy's own matrix products, NumPy's, or NumPy's where a measurement finds them much faster."""

    SPACY = "spacy"
    NUMPY = "numpy"
    FASTEST = "fastest"


def chosen_products(products: Products, nlp: Language, config: Config) -> Products:
    """What a training uses, and say so where it is measured.

    products (Products): What was asked for. nlp (Language): The pipeline, as it will be trained.
    config (Config): Its config.
    RETURNS (Products): SPACY or NUMPY; SPACY, too, where NumPy's would change nothing.
    """
    if products is Products.SPACY or _own(config).get("@callbacks") == CALLBACK:
        return Products.SPACY
    if problem := _hindrance(nlp, config):
        if products is Products.NUMPY:
            raise ValueError(f"{problem}, so that --products numpy would change nothing")
        return Products.SPACY
    if products is Products.NUMPY:
        return products
    if (ratio := numpy_speedup()) < MUCH_FASTER:
        return Products.SPACY
    text = f"Matrix products by NumPy: {ratio:.1f} times as fast as spaCy's on this machine"
    msg.info(f"{text} (--products spacy for those)")
    return Products.NUMPY


def with_products(products: Products) -> Block:
    """The overrides that let a training use them. products (Products): SPACY or NUMPY."""
    return {f"nlp.{CREATED}": {"@callbacks": CALLBACK}} if products is Products.NUMPY else {}


def restore_products(config: Config, trained: Config) -> None:
    """Undo `with_products` in a saved pipeline: other machines multiply better otherwise.

    config (Config): Of the saved pipeline; changed in place. trained (Config): As it was given.
    """
    if not _own(trained):
        config["nlp"][CREATED] = None


def _hindrance(nlp: Language, config: Config) -> str:
    """Why a training cannot take NumPy's products; "" if it can."""
    if _own(config):
        return f"[nlp] {CREATED} has a callback of its own"
    return (
        "" if uses_blis(nlp) else "no component multiplies by spaCy's BLIS on the device that was chosen"
    )


def _own(config: Config) -> Block:
    return config.get("nlp", {}).get(CREATED) or {}
