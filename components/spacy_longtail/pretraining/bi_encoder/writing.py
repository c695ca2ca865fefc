"""What a pretrained bi-encoder leaves: a spaCy pipeline whose weights take few bits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.language import Language
from spacy.training import Example
from tokenizers import Tokenizer
from torch import Tensor, nn

from ...corpus.tokenizers import blank
from ...describers.label_encoder import label_weights
from ...layers.torch_layer import shim_of
from ...layers.torch_transformer import PieceEncoder, from_bytes, short_form
from .model import BiEncoder
from .start import Start

CPU = torch.device("cpu")
LABEL_POSITIONS, POSITIONS = 64, 256
GENERAL = {  # what a pipeline looks for before it is told: the wording of each type
    "person": "person",
    "organization": "organization",
    "location": "location",
    "event": "event",
    "creative work": "creative work",
    "product": "product",
    "date": "date",
    "time": "time",
    "quantity": "quantity",
    "money": "amount of money",
    "disease": "disease",
    "chemical": "chemical substance",
    "species": "species",
    "law": "law",
    "award": "award",
    "language": "language",
    "nationality": "nationality",
    "occupation": "occupation",
}


class Bits(NamedTuple):
    """Of weights on disk."""

    layers: float = 7
    embeddings: float = 6
    labels: float = 4


def short_labels(start: Start, bits: Bits) -> tuple[bytes, nn.Module]:
    """What reads label descriptions, in few bits: its file, and the transformer that is read of it.

    Training with the vectors of the short weights makes up for what they lose.
    """
    module = PieceEncoder()
    own = cut_positions(start.labels, LABEL_POSITIONS)
    module.build(config_of(own), start.tokenizer, own)
    data = short_form(module, bits.labels, bits.embeddings)
    short = from_bytes(PieceEncoder(), data, CPU)
    if start.label_file is None:
        return label_weights(module, short, bits.labels), short.encoder
    module.encoder.set_input_embeddings(short.encoder.get_input_embeddings())
    return start.label_file, module.encoder


def build_pipeline(
    model: BiEncoder,
    describe: Callable[[list[str]], np.ndarray],
    name: str,
    tokenizer: Tokenizer,
    lang: str,
    tokens: str,
    bits: Bits,
) -> Language:
    """A pipeline of `tok2vec` and `ner`. Its file of the label encoder is to be written beside.

    model (BiEncoder): What was pretrained.
    describe (Callable): Descriptions to vectors, as the label encoder reads them.
    name (str): That the pipeline will be found by.
    lang (str): Of the donors, whose tokens are tokens.
    bits (Bits): Of weights on disk.
    """
    words = PieceEncoder()
    words.build(config_of(model.encoder), tokenizer, cut_positions(model.encoder, POSITIONS))
    data = short_form(words, bits.layers, bits.embeddings)
    nlp = blank(lang, tokens)
    tok2vec: Any = nlp.add_pipe(
        "tok2vec", config={"model": {"@architectures": "longtail.Transformer.v1"}}
    )
    shim = shim_of(tok2vec.model)
    shim._model = from_bytes(shim._model, data, CPU)
    shim._serialize_model = lambda module: data
    nlp.add_pipe("longtail_token_ner", name="ner", config=_head(model, name))
    ner: Any = nlp.get_pipe("ner")
    ner.describe = describe
    settings = {"labels": list(GENERAL), "descriptions": dict(GENERAL)}
    nlp.config["initialize"]["components"]["ner"] = settings
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])
    _set_weights(ner.model.get_ref("output_layer"), model)
    return nlp


def config_of(encoder: nn.Module) -> Any:
    """The config of a transformer, which torch does not know the type of."""
    return encoder.config


def cut_positions(encoder: nn.Module, most: int) -> nn.Module:
    """Leave out the embeddings of positions that are never read."""
    embeddings: Any = getattr(encoder, "embeddings", None)
    config: Any = encoder.config
    positions = getattr(embeddings, "position_embeddings", None)
    if positions is None or positions.num_embeddings <= most or positions.padding_idx is not None:
        return encoder
    positions.weight = nn.Parameter(positions.weight[:most].detach().clone())
    positions.num_embeddings = most
    config.max_position_embeddings = most
    for name in ("position_ids", "token_type_ids"):
        if hasattr(embeddings, name):
            embeddings.register_buffer(name, getattr(embeddings, name)[:, :most], persistent=False)
    return encoder


def _head(model: BiEncoder, name: str) -> dict[str, object]:
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": model.P.shape[2]}
    return {
        "model": {
            "@architectures": "longtail.DescribedTypes.v1",
            "width": model.width,
            "residual": True,
            "tok2vec": listener,
        },
        "scores_key": "entity_scores",
        "describe": {"@misc": "longtail.LabelEncoder.v1", "name": name},
    }


def _set_weights(layer: Any, model: BiEncoder) -> None:
    """Give the output layer what was pretrained, in the precision of bfloat16, which archives pack."""
    layer.set_param("P", _rounded(model.P.detach()))
    layer.set_param("Q", _rounded(model.Q.detach()))
    for name, value in (("W", model.o.weight), ("b", model.o.bias)):
        rows = np.zeros_like(layer.get_param(name))
        rows[0] = _rounded(value.detach())[0]
        layer.set_param(name, rows)


def _rounded(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.bfloat16().float().numpy()
    return found
