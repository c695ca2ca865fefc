"""Extras of this package: checks that they are installed, before any work that needs them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain

from .errors import Errors
from .types import blocks


@contextmanager
def extra(package: str, name: str) -> Iterator[None]:
    """Turn a failing import into an error that names the extra to install.

    package (str): Name of the package; "" uses the name in the error.
    name (str): Name of the extra.
    RAISES (ValueError): If an import within the block fails.
    """
    try:
        yield
    except ImportError as error:
        raise missing(package or error.name or name, name) from error


def require(package: str, name: str) -> None:
    """Check that a package of an extra is installed, without importing it.

    package (str): Name by which the package is imported.
    name (str): Name of the extra.
    RAISES (ValueError): If it is not installed.
    """
    if find_spec(package) is None:
        raise missing(package.replace("_", "-"), name)


def missing(package: str, name: str) -> ValueError:
    """Return the error for a package of an extra that is not installed."""
    return ValueError(Errors.L406.format(package=package, extra=name))


def require_of(config: Mapping[str, object]) -> None:
    """Check the packages whose components or functions a config names.

    spaCy would only say that it does not know the name.

    config (Mapping): A config, or a block of one, interpolated or not.
    RAISES (ValueError): If one is not installed.
    """
    for key, value in chain.from_iterable(block.items() for block in blocks(config)):
        name = value if isinstance(value, str) else ""
        if key.startswith("@llm_") or (key == "factory" and name.startswith("llm")):
            require("spacy_llm", "llm")
        if name.startswith("spacy-transformers.") or (key, name) == ("factory", "transformer"):
            require("spacy_transformers", "transformers")
