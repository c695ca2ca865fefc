"""Descriptions as a transformer reads them."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thinc.types import Floats2d

from ..errors import Errors
from ..hub import check_model
from ..settings import extra
from .base import LoadedLater, mean_states

if TYPE_CHECKING:  # an extra
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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


@dataclass(frozen=True)
class TransformerDescriptions(LoadedLater):
    """The mean of a transformer's last hidden states over a description.

    The transformer is loaded as it was published, without what a pipeline has learnt in training; of an
    encoder-decoder such as T5 the encoder.

    name (str): Of a model on the Hugging Face hub, or its folder (extra `transformers`).
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    name: str

    @cached_property
    def _loaded(self) -> tuple["PreTrainedTokenizerBase", "PreTrainedModel"]:
        tokenizer, model = load_transformer(self.name)
        encoder: Any = model
        return tokenizer, encoder.get_encoder() if model.config.is_encoder_decoder else model

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the transformer)."""
        tokenizer, model = self._loaded
        means: Floats2d = mean_states(model, tokenizer(texts, truncation=True)["input_ids"]).numpy()
        return means
