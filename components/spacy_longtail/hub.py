"""Models of the Hugging Face hub, checked before work starts and loaded without their own code."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import RLock, get_ident
from typing import TYPE_CHECKING

from thinc.api import Config

from .errors import Errors
from .extras import extra
from .faults import message_of
from .types import blocks

if TYPE_CHECKING:  # an extra
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SECONDS = 5.0  # time limit of the hub's answer
# architectures whose setting `name` is a model
NAMES_ONE = tuple(f"spacy-transformers.TransformerModel.v{n}" for n in (1, 2, 3))

# functions of transformers that run code named by a model's files, or ask on stdin whether they may
CODE_LOADERS = (
    ("transformers.dynamic_module_utils", "get_cached_module_file"),
    ("transformers.dynamic_module_utils", "get_class_in_module"),
    ("transformers.dynamic_module_utils", "_raise_timeout_error"),
    ("transformers.modeling_utils", "get_kernel"),  # if the package kernels is installed
)
# seconds that transformers would wait for an answer
NO_QUESTION = ("transformers.dynamic_module_utils", "TIME_OUT_REMOTE_CODE")
_loading = RLock()


@contextmanager
def no_model_code() -> Iterator[None]:
    """Refuse to run code that comes with a model, for any value of trust_remote_code.

    A model's files can name code in an `auto_map`, or a kernel on the hub for their attention.
    Within the block, the calling thread neither runs this code nor asks on stdin whether to run it.
    Other threads load models as usual, but do not ask either.

    RAISES (ValueError): Within the block, where code would be run.
    """
    thread = get_ident()

    def guarded(load: Callable[..., object], *args: object, **settings: object) -> object:
        if get_ident() != thread:
            return load(*args, **settings)
        raise ValueError("its files name code to run, in an auto_map or as an attention kernel")

    with _loading, ExitStack() as stack:

        def replace(module: str, name: str, value: object) -> None:
            stack.callback(setattr, import_module(module), name, getattr(import_module(module), name))
            setattr(import_module(module), name, value)

        for module, function in CODE_LOADERS:
            if load := getattr(import_module(module), function, None):
                replace(module, function, partial(guarded, load))
        replace(*NO_QUESTION, 0)
        yield


def check_model(name: str) -> None:
    """Refuse a model that is neither a folder, nor in the cache, nor on the hub.

    name (str): Name of a model on the hub, or a folder.
    RAISES (ValueError): If there is no such model.
    """
    problem = "It is a file" if Path(name).is_file() else ""
    if not (problem or Path(name).is_dir()):
        with suppress(ImportError):  # the error of a missing extra comes when the model is loaded
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
    """Load a tokenizer and a transformer, without running code that comes with them.

    name (str): Name of a model on the hub, or a folder.
    RETURNS (Tuple[PreTrainedTokenizerBase, PreTrainedModel]): The tokenizer and the transformer.
    RAISES (ValueError): If the extra is missing, or the model cannot be loaded.
    """
    with extra("transformers", "transformers"):
        from transformers import AutoModel, AutoTokenizer
    check_model(name)
    try:
        with no_model_code():
            tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, add_prefix_space=True)
            return tokenizer, AutoModel.from_pretrained(name)
    except Exception as error:  # of the hub, of torch, of safetensors: each its own kind
        raise ValueError(Errors.L265.format(name=name, problem=message_of(error))) from error


def check_models(config: Config) -> None:
    """Refuse a config that names a transformer which cannot be loaded.

    config (Config): The interpolated config.
    RAISES (ValueError): If a name belongs to no model.
    """
    models = [block for block in blocks(config) if block.get("@architectures") in NAMES_ONE]
    for name in sorted({name for model in models if isinstance(name := model.get("name"), str)}):
        check_model(name)
