"""Models of the Hugging Face hub: whether one can be had, asked before the work that needs it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from thinc.api import Config

from .errors import Errors
from .settings import extra

if TYPE_CHECKING:  # an extra
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SECONDS = 5.0  # that the hub may take to answer
NAMES_ONE = tuple(f"spacy-transformers.TransformerModel.v{n}" for n in (1, 2, 3))  # by its `name`


def check_model(name: str) -> None:
    """Refuse a model that is not here and cannot be had. name (str): On the hub, or a folder."""
    problem = "It is a file" if Path(name).is_file() else ""
    if not (problem or Path(name).is_dir()):
        with suppress(ImportError):  # whoever loads the model names the extra
            from huggingface_hub import model_info, try_to_load_from_cache

            try:
                if not isinstance(try_to_load_from_cache(name, "config.json"), str):
                    model_info(name, timeout=SECONDS)
            except Exception as error:  # of the name, of the network, of the hub: each its own kind
                reason = " ".join(str(error).split()).rstrip(".")
                problem = f"It is neither a folder nor in the cache. The hub gives none: {reason}"
    if problem:
        raise ValueError(Errors.L265.format(name=name, problem=f"{problem}."))


def load_transformer(name: str) -> tuple["PreTrainedTokenizerBase", "PreTrainedModel"]:
    """A tokenizer and transformer, if they can be had. name (str): On the hub, or its folder."""
    with extra("transformers", "transformers"):
        from transformers import AutoModel, AutoTokenizer
    check_model(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, add_prefix_space=True)
        return tokenizer, AutoModel.from_pretrained(name)
    except Exception as error:  # of the hub, of torch, of safetensors: each its own kind
        raise ValueError(Errors.L265.format(name=name, problem=" ".join(str(error).split()))) from error


def check_models(config: Config) -> None:
    """Refuse a config that names such a model. config (Config): Interpolated."""
    for name in sorted(set(named_transformers(config))):
        check_model(name)


def named_transformers(block: Mapping[str, object]) -> Iterator[str]:
    """Transformers that a config names, by hub or folder. block (Mapping): Interpolated."""
    name = block.get("name")
    if block.get("@architectures") in NAMES_ONE and isinstance(name, str):
        yield name
    for value in block.values():
        if isinstance(value, Mapping):
            yield from named_transformers(value)
