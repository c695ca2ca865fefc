"""Descriptions as a transformer reads them."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from thinc.types import Floats2d

from ..errors import Errors
from ..hub import check_model
from ..settings import extra
from .base import unit_rows

if TYPE_CHECKING:  # an extra
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class TransformerDescriptions:
    """The mean of a transformer's last hidden states over a description.

    The transformer is loaded as it was published, without what a pipeline has learnt in training; of an
    encoder-decoder such as T5 the encoder.

    name (str): Of a model on the Hugging Face hub, or its folder (extra `transformers`).
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    name: str

    @cached_property
    def _loaded(self) -> tuple["PreTrainedTokenizerBase", "PreTrainedModel"]:
        with extra("transformers", "transformers"):
            from transformers import AutoModel, AutoTokenizer
        check_model(self.name)
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.name)
            if tokenizer.pad_token is None:  # of a decoder, such as GPT-2
                tokenizer.pad_token = tokenizer.eos_token
            model = AutoModel.from_pretrained(self.name).eval()
            return tokenizer, model.get_encoder() if model.config.is_encoder_decoder else model
        except Exception as error:  # of the hub, of torch, of safetensors: each its own kind
            problem = " ".join(str(error).split())
            raise ValueError(Errors.L265.format(name=self.name, problem=problem)) from error

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the transformer)."""
        tokenizer, model = self._loaded
        import torch

        batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        means = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
        return unit_rows(means.numpy())

    def release(self) -> None:
        """Let go of the transformer, which is loaded again where it is needed."""
        self.__dict__.pop("_loaded", None)

    def __getstate__(self) -> dict[str, object]:
        """Without the transformer, as after `release`."""
        return {"name": self.name}
