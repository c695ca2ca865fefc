"""Models of the Hugging Face hub: whether one can be had, asked before the work that needs it."""

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from thinc.api import Config

from .encoders import META, located
from .errors import Errors

CONFIG = "config.json"
SECONDS = 5.0  # that the hub may take to answer; the libraries ask it for a minute
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
NAMED = {  # arguments that name a transformer, by function
    "spacy-transformers.TransformerModel.v1": "name",
    "spacy-transformers.TransformerModel.v2": "name",
    "spacy-transformers.TransformerModel.v3": "name",
    "longtail.TransformerDescriptions.v1": "name",
}
SUBWORDS = {"longtail.RichEmbed.v1": "subwords"}  # arguments that name vectors of subwords


def check_model(name: str) -> None:
    """Refuse a model that is in no folder, not in the cache, and cannot be fetched.

    name (str): On the hub, or a folder. RAISES (ValueError): L265.
    """
    if problem := problem_of(name):
        raise ValueError(Errors.L265.format(name=name, problem=f"{problem}."))


def check_subwords(name: str) -> None:
    """Refuse a Model2Vec model, as `check_model` does. An encoder has vectors of its own.

    RAISES (ValueError): L264.
    """
    if not (located(name) / META).is_file() and (problem := problem_of(name)):
        raise ValueError(Errors.L265.format(name=name, problem=f"{problem}."))


def problem_of(name: str) -> str:
    """Why a model cannot be had; "" if it can. name (str): On the hub, or a folder."""
    if Path(name).is_file():
        return "It is a file"
    if Path(name).is_dir() or _is_cached(name):
        return ""
    problem = _unreachable()
    return f"{problem}, and it is neither a folder nor in the cache" if problem else ""


def check_models(config: Config) -> None:
    """Refuse a config that names such a model. config (Config): Interpolated.

    RAISES (ValueError): L265; L264 for vectors of subwords.
    """
    for name in sorted(set(named_transformers(config))):
        check_model(name)
    for name in sorted(set(_names(config, SUBWORDS))):
        check_subwords(name)


def named_transformers(config: Mapping[str, object]) -> Iterator[str]:
    """Transformers that a config names, on the hub or in a folder. config (Mapping): Interpolated."""
    return _names(config, NAMED)


def _names(block: Mapping[str, object], arguments: Mapping[str, str]) -> Iterator[str]:
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from _names(value, arguments)
        elif key.startswith("@") and value in arguments:
            named = block.get(arguments[str(value)])
            if isinstance(named, str):
                yield named


def _is_cached(name: str) -> bool:
    """Whether the model has been fetched, or nobody can say: the library is an extra."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return True
    try:
        return isinstance(try_to_load_from_cache(name, CONFIG), str)
    except ValueError:  # no name of the hub
        return False


def _unreachable() -> str:
    """Why the hub is out of reach; "" if it answers, or a proxy stands before it."""
    if set_ := [
        name for name in OFFLINE if os.environ.get(name, "0").upper() in ("1", "ON", "YES", "TRUE")
    ]:
        return f"{set_[0]} is set"
    if any(os.environ.get(name) for name in PROXIES):
        return ""
    place = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    port = place.port or (80 if place.scheme == "http" else 443)
    try:
        socket.create_connection((place.hostname or "", port), SECONDS).close()
    except OSError:
        return f"{place.hostname} cannot be reached"
    return ""
