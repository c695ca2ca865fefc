"""Transformers with an encoder and a decoder, used through the encoder."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..settings import extra
from ..types import Block

if TYPE_CHECKING:  # an extra
    from spacy_transformers.data_classes import FullTransformerBatch
    from spacy_transformers.layers.hf_shim import HFShim
    from spacy_transformers.layers.transformer_model import TransformerModel
    from transformers import PretrainedConfig, PreTrainedModel


class Encoder:
    """What spacy-transformers takes for a model class; it gives the encoder of what is loaded."""

    @staticmethod
    def from_pretrained(name: str, config: "PretrainedConfig") -> "PreTrainedModel":
        if not config.is_encoder_decoder:
            raise ValueError(Errors.L242.format(name=name, found=config.model_type))
        from transformers import AutoModel

        return AutoModel.from_pretrained(name, config=config).get_encoder()

    @staticmethod
    def from_config(config: "PretrainedConfig") -> "PreTrainedModel":
        from transformers import AutoModel

        return AutoModel.from_config(config).get_encoder()


def EncoderStates(
    name: str,
    get_spans: Callable,
    tokenizer_config: Block = {},  # noqa: B006 - as TransformerModel.v3 has them
    transformer_config: Block = {},  # noqa: B006
    mixed_precision: bool = False,
    grad_scaler_config: Block = {},  # noqa: B006
) -> Model[list[Doc], "FullTransformerBatch"]:
    """The encoder of an encoder-decoder transformer, such as BART or T5, for a `transformer` component.

    spacy-transformers alone takes the decoder's states, which see no word that follows. The decoder is
    neither kept nor saved.

    name (str): Name of the pretrained model, or its folder.
    get_spans, tokenizer_config, transformer_config, mixed_precision, grad_scaler_config: As for
        spacy-transformers.TransformerModel.v3.
    RETURNS (Model[List[Doc], FullTransformerBatch]): As spacy-transformers.TransformerModel.v3.
    """
    with extra("spacy-transformers", "transformers"):
        from spacy_transformers.layers import TransformerModel
    model = TransformerModel(
        name,
        get_spans,
        dict(tokenizer_config),  # spacy-transformers writes into them, and defaults serve every call
        dict(transformer_config),
        mixed_precision,
        dict(grad_scaler_config),
    )
    cast("HFShim", model.layers[0].shims[0]).model_cls = Encoder
    model.init = init
    return model


def init(model: "TransformerModel", X: object = None, Y: object = None) -> None:
    if model.attrs["has_transformer"]:
        return
    from spacy_transformers.layers.transformer_model import huggingface_from_pretrained

    loaded = huggingface_from_pretrained(
        model.attrs["name"],
        model._init_tokenizer_config,
        model._init_transformer_config,
        model_cls=Encoder,
    )
    model.attrs["set_transformer"](model, loaded)
