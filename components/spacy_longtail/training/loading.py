"""Trained pipelines on disk: loaded, or why they cannot be; and those that a config begins with."""

from collections.abc import Collection
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import is_package
from thinc.api import Config

from ..errors import Errors

FIX = "Name a trained pipeline: of a pretraining, the folder model/ in its output."


def load_pipeline(model: Path | str, exclude: Collection[str] = ()) -> Language:
    """A trained pipeline, a folder or an installed package, or why it is not one.

    exclude (Collection[str]): Components that are not built.
    RAISES (ValueError): L408, and our pipes' own.
    """
    try:
        return spacy.load(model, exclude=exclude)
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        if str(error).startswith("[L"):
            raise
        problem = f"{type(error).__name__}: {error}".strip().rstrip(".") + "."
        raise ValueError(Errors.L408.format(path=model, problem=problem)) from error


def check_sources(config: Config) -> None:
    """Load the pipelines that components are taken from, to say what is wrong with them.

    config (Config): Not interpolated; one that cannot be is left to whoever builds it.
    RAISES (ValueError): L402 for one that is not there, L408 for one that is damaged, L571 for one
        without the component.
    """
    try:
        components = config.interpolate().get("components", {})
    except ValueError:
        return
    for name, block in components.items():
        if "source" in block:
            _check(block["source"], str(block.get("component", name)), name)


def _check(source: object, wanted: str, name: str) -> None:
    is_there = isinstance(source, str) and source and (Path(source).exists() or is_package(source))
    if not is_there:
        raise ValueError(Errors.L402.format(path=f"{source} ('source' of {name})", fix=FIX))
    path = str(source)
    if Path(path).is_dir() and not Path(path, "config.cfg").is_file():
        raise ValueError(Errors.L571.format(path=path, found="none"))
    names = load_pipeline(path).component_names
    if wanted not in names:
        raise ValueError(Errors.L571.format(path=path, found=", ".join(names) or "none"))
