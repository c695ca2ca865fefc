"""What a pretrained bi-encoder leaves: a spaCy pipeline whose weights take few bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from tokenizers import Tokenizer
from torch import Tensor, nn

from ....describers.label_encoder import FILE, LabelEncoder, label_weights
from ....encoders import META
from ....layers.torch_layer import shim_of
from ....layers.torch_transformer import PieceEncoder, from_bytes, short_form
from .model import BiEncoder

RIDGE = 1.0  # of the map that makes up for what the label encoder loses in few bits
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


def write_encoder(
    model: BiEncoder,
    labels: nn.Module,
    tokenizer: Tokenizer,
    texts: Mapping[str, int],
    vectors: Tensor,
    name: str,
    output: Path,
    bits: Bits,
    types: Mapping[str, str] = GENERAL,
) -> Language:
    """Write a pipeline of `tok2vec` and `ner`, with its label encoder.

    model (BiEncoder): What was pretrained. labels (nn.Module): The transformer that read the labels.
    texts (Mapping[str, int]): All label texts, in the order of `vectors`.
    vectors (Tensor): (n_texts, hidden), as `labels` reads the texts.
    name (str): Of the package, such as "en_longtail_trf": by it the label encoder is found.
    output (Path): A folder that is not there. bits (Bits): Of weights on disk.
    types (Mapping[str, str]): Types with their descriptions that the pipeline looks for at first.
    RETURNS (Language): The pipeline as it was written.
    """
    lang, _, short = name.partition("_")
    words, own = PieceEncoder(), PieceEncoder()
    words.build(config_of(model.encoder), tokenizer, cut_positions(model.encoder.cpu(), POSITIONS))
    own.build(config_of(labels), tokenizer, cut_positions(labels.cpu(), LABEL_POSITIONS))
    data = short_form(words, bits.layers, bits.embeddings)
    nlp = spacy.blank(lang, meta={"name": short})
    tok2vec = nlp.add_pipe("tok2vec", config={"model": {"@architectures": "longtail.Transformer.v1"}})
    shim = shim_of(tok2vec.model)  # type: ignore[attr-defined]
    shim._model = from_bytes(shim._model, data, torch.device("cpu"))
    shim._serialize_model = lambda module: data
    (output / "tok2vec").mkdir(parents=True)
    (output / "tok2vec" / "model").write_bytes(tok2vec.model.to_bytes())  # type: ignore[attr-defined]
    (output / FILE).write_bytes(label_weights(own, shim._model, bits.labels))
    (output / META).write_text("{}", encoding="utf8")
    nlp.add_pipe("longtail_token_ner", name="ner", config=_head(model, name))
    ner: Any = nlp.get_pipe("ner")
    describe = LabelEncoder(str(output))
    found = describe(list(texts))
    ner.describe = describe
    nlp.config["initialize"]["components"]["ner"] = {"labels": list(types), "descriptions": dict(types)}
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])
    _set_weights(ner.model.get_ref("output_layer"), model, fit_map(found, vectors.cpu().numpy()))
    nlp.to_disk(output)
    return nlp


def fit_map(short: np.ndarray, full: np.ndarray) -> np.ndarray:
    """The linear map from label vectors in few bits to those in full precision, (hidden, hidden).

    short, full (np.ndarray): (n_texts, hidden), of the same texts.
    """
    ridge = RIDGE * np.eye(short.shape[1])
    found: np.ndarray = np.linalg.solve(short.T @ short + ridge, short.T @ full + ridge)
    return found


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


def _set_weights(layer: Any, model: BiEncoder, label_map: np.ndarray) -> None:
    """Give the output layer what was pretrained, in the precision of bfloat16, which archives pack."""
    Q = np.einsum("kmh,gh->kmg", model.Q.detach().cpu().numpy(), label_map)
    layer.set_param("P", _rounded(model.P.detach().cpu()))
    layer.set_param("Q", _rounded(torch.from_numpy(Q)))
    for name, value in (("W", model.o.weight), ("b", model.o.bias)):
        rows = np.zeros_like(layer.get_param(name))
        rows[0] = _rounded(value.detach().cpu())[0]
        layer.set_param(name, rows)


def _rounded(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.bfloat16().float().numpy()
    return found
