"""Models of the Hugging Face hub: whether one can be had, asked before the work that needs it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from thinc.api import Config

from .encoders import META, located
from .errors import Errors
from .settings import extra

if TYPE_CHECKING:  # an extra
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SECONDS = 5.0  # that the hub may take to answer
NAMED = {  # arguments that name a transformer, by function
    "spacy-transformers.TransformerModel.v1": "name",
    "spacy-transformers.TransformerModel.v2": "name",
    "spacy-transformers.TransformerModel.v3": "name",
}
SUBWORDS = {"longtail.RichEmbed.v1": "subwords"}  # arguments that name vectors of subwords


def check_model(name: str) -> None:
    """Refuse a model that is in no folder, not in the cache, and cannot be fetched.

    name (str): On the hub, or a folder.
    """
    if problem := reason_lacking(name):
        raise ValueError(Errors.L265.format(name=name, problem=f"{problem}."))


def load_transformer(
    name: str, **settings: object
) -> tuple["PreTrainedTokenizerBase", "PreTrainedModel"]:
    """A transformer and its tokenizer; one that cannot be had is refused.

    name (str): On the hub, or its folder. settings (object): Of the tokenizer.
    """
    with extra("transformers", "transformers"):
        from transformers import AutoModel, AutoTokenizer
    check_model(name)
    try:
        return AutoTokenizer.from_pretrained(name, **settings), AutoModel.from_pretrained(name)
    except Exception as error:  # of the hub, of torch, of safetensors: each its own kind
        problem = " ".join(str(error).split())
        raise ValueError(Errors.L265.format(name=name, problem=problem)) from error


def check_subwords(name: str) -> None:
    """Refuse a Model2Vec model, as `check_model` does. An encoder has vectors of its own."""
    if not (located(name) / META).is_file():
        check_model(name)


def check_models(config: Config) -> None:
    """Refuse a config that names such a model. config (Config): Interpolated."""
    for name in sorted(set(named_transformers(config))):
        check_model(name)
    for name in sorted(set(_names(config, SUBWORDS))):
        check_subwords(name)


def reason_lacking(name: str) -> str:
    """Why a model cannot be had; "" if it can. name (str): On the hub, or a folder."""
    if Path(name).is_file():
        return "It is a file"
    if Path(name).is_dir():
        return ""
    try:
        from huggingface_hub import model_info, try_to_load_from_cache
    except ImportError:  # whoever loads the model names the extra
        return ""
    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            model_info(name, timeout=SECONDS)
    except Exception as error:  # of the name, of the network, of the hub: each its own kind
        reason = " ".join(str(error).split()).rstrip(".")
        return f"It is neither a folder nor in the cache. The hub gives none: {reason}"
    return ""


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
